"""Which containers a selector means: words against what is known of them."""

from __future__ import annotations

from functools import lru_cache

from exporter.model.container_paths import parse
from exporter.model.metadata import ContainerRef, Facts
from exporter.model.patterns import Automaton, build
from exporter.model.target import Pattern, PodWords, Target

_MAX_STATES = 4096


def container_of(path: str) -> ContainerRef | None:
    """The container that a cgroup is, or is in; else the pod; None: neither."""
    pod = None
    while path:
        ref = parse(path)
        if ref and ref.id:
            return ref
        pod = pod or ref
        path = path.rpartition("/")[0]
    return pod


def selects(target: Target, path: str, facts: Facts | None) -> bool | None:
    """Whether the cgroup with this path is a tree of this target; None: not known (yet).

    It is known already that the target's pattern matches the path.
    """
    if target.kind == "kubernetes":
        ref = parse(path)
        if ref is None or not ref.id or not ref.pod_uid:
            return False
        return _is_pod(target.kubernetes or PodWords(), facts)
    if target.kind == "container":
        words = target.container
        if words is None or parse(path) is None:
            return False
        if facts is None or not (facts.container or facts.complete):
            return None
        return _any(words.name, facts.container) and _any(words.image, facts.image)
    return True


def _is_pod(words: PodWords, facts: Facts | None) -> bool | None:
    if words == PodWords():
        return True
    if facts is None:
        return None
    if words.container and not (facts.container or facts.complete):
        return None
    if not facts.complete and any(key not in facts.pod_labels for key, _ in words.labels):
        return None
    return (
        _any(words.namespace, facts.namespace)
        and _any(words.pod, facts.pod)
        and _any(words.container, facts.container)
        and all(
            key in facts.pod_labels and _any(patterns, facts.pod_labels[key])
            for key, patterns in words.labels
        )
    )


@lru_cache(maxsize=1024)
def _automaton(patterns: tuple[Pattern, ...]) -> Automaton:
    return build([(pattern, 0) for pattern in patterns], _MAX_STATES)


def _any(patterns: tuple[Pattern, ...], text: str) -> bool:
    """No patterns ask nothing."""
    return not patterns or bool(_automaton(patterns).run(text.encode(errors="surrogateescape")))

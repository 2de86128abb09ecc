"""Which containers a selector means: words against what is known of them."""

from __future__ import annotations

from functools import lru_cache

from exporter.model.container_paths import parse
from exporter.model.metadata import SANDBOX, ContainerRef, Facts
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


def selects(target: Target, path: str, facts: Facts | None, late: bool) -> bool | None:
    """Whether the cgroup with this path is a tree of this target; None: not known (yet).

    It is known already that the target's pattern matches the path. `late`: it has waited for its
    metadata long enough. Sandboxes are no containers that anybody means.
    """
    if target.kind == "kubernetes":
        ref = parse(path)
        if ref is None or not ref.id or not ref.pod_uid:
            return False
        return _is_pod(target.kubernetes or PodWords(), facts, late)
    if target.kind == "container":
        words = target.container
        if words is None or parse(path) is None:
            return False
        if facts is None or not (facts.container or facts.complete):
            return None
        return _is_container(words.name, facts, late) and _any(words.image, facts.image)
    return True


def _is_pod(words: PodWords, facts: Facts | None, late: bool) -> bool | None:
    if facts is None:
        return True if late and words == PodWords() else None
    if not (_any(words.namespace, facts.namespace) and _any(words.pod, facts.pod)):
        return False
    if words.labels and not (facts.pod_labels or facts.complete):
        return None  # from the engine, which does not know them
    for key, patterns in words.labels:
        if key not in facts.pod_labels or not _any(patterns, facts.pod_labels[key]):
            return False
    if not (facts.container or facts.complete):
        return True if late and not words.container else None
    return _is_container(words.container, facts, late)


def _is_container(names: tuple[Pattern, ...], facts: Facts, late: bool) -> bool | None:
    if facts.container == SANDBOX:
        return False if facts.complete or late else None
    return _any(names, facts.container)


@lru_cache(maxsize=1024)
def _automaton(patterns: tuple[Pattern, ...]) -> Automaton:
    return build([(pattern, 0) for pattern in patterns], _MAX_STATES)


def _any(patterns: tuple[Pattern, ...], text: str) -> bool:
    """No patterns ask nothing."""
    return not patterns or bool(_automaton(patterns).run(text.encode(errors="surrogateescape")))

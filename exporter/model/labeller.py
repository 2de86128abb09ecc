"""How a tree is called: its label set, from its target, its cgroup's path and its metadata."""

from __future__ import annotations

from exporter.model.account import TreeInfo
from exporter.model.labels import DEFAULT_LABEL, LabelSet
from exporter.model.metadata import ContainerRef, Facts, Metadata
from exporter.model.selection import container_of
from exporter.model.target import Target

_ID_DIGITS = 12  # of a container's id: what engines show


class Labeller:
    """`names` are the config's `labels`, None where it has none. Times in ns of one clock.

    `needs_facts`: metadata is waited for, whether or not labels are made of it.
    """

    def __init__(
        self, names: tuple[str, ...] | None, timeout_ns: int, metadata: Metadata, *,
        needs_facts: bool = False,
    ) -> None:  # fmt: skip
        self._names, self._timeout_ns, self._metadata = names, timeout_ns, metadata
        self._needs_facts = needs_facts or bool(names and set(names) != {DEFAULT_LABEL})

    def facts(self, path: str) -> Facts | None:
        ref = container_of(path)
        return self._metadata.facts(ref) if ref else None

    def late(self, since_ns: int, now_ns: int) -> bool:
        """Whether this tree has waited for its metadata long enough."""
        return now_ns - since_ns >= self._timeout_ns

    def waits(self, path: str, since_ns: int, now_ns: int) -> bool:
        """Whether more may become known of this cgroup: then its series are held back."""
        if not self._needs_facts or self.late(since_ns, now_ns):
            return False
        if container_of(path) is None:
            return False
        facts = self.facts(path)
        return facts is None or not facts.complete

    def labels(self, target: Target, path: str) -> LabelSet:
        """What is known now. Empty ones are left out; `group_by` adds its own at the end."""
        pairs = [("target", target.name)]
        if self._names is None:
            if target.many:
                pairs.append((DEFAULT_LABEL, path))
        else:
            known = self._known(path)
            pairs += [(name, known.get(name, "")) for name in self._names]
        return tuple((name, value) for name, value in (*pairs, *target.static_labels) if value)

    def info(self, path: str) -> TreeInfo:
        """For proctree_target_info; may change while the labels stay."""
        facts = self.facts(path)
        return TreeInfo(facts.workload, facts.pod_labels) if facts else TreeInfo()

    def _known(self, path: str) -> dict[str, str]:
        facts, ref = self.facts(path), container_of(path)
        if facts is None:
            return {"cgroup": path} | _told_by(ref)
        return {
            "cgroup": path,
            "namespace": facts.namespace,
            "pod": facts.pod,
            "container": facts.container or _told_by(ref).get("container", ""),
            "workload": facts.workload,
            "workload_kind": facts.workload_kind,
            "image": facts.image,
        }


def _told_by(ref: ContainerRef | None) -> dict[str, str]:
    """What the path alone tells, where nobody knows more."""
    return {"pod": ref.pod_uid, "container": ref.id[:_ID_DIGITS]} if ref else {}

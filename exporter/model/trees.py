"""A tree: a slot of the kernel, whose it is, and how it is called."""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import CgroupKey, ProcessKey
from exporter.model.labels import LabelSet
from exporter.model.target import Target


@dataclass(slots=True, eq=False)
class Tree:
    """What a slot stands for.

    `target` is None while it is open which of several candidates a cgroup belongs to; `labels` are
    None until they are known, and then frozen. `programs` are what the kernel split off by
    `group_by`: slot -> name. A tree without a slot of its own shares its target's.
    """

    target: Target | None
    slot: int
    since_ns: int
    path: str = ""  # of a cgroup that is a tree of its own
    hierarchy: int | None = None  # the only one, where its target is about that alone
    cgroups: set[CgroupKey] = field(default_factory=set)
    hierarchies: set[int] = field(default_factory=set)  # those that it has been in
    root: ProcessKey | None = None  # of a PID
    labels: LabelSet | None = None
    programs: dict[int, str] = field(default_factory=dict)
    looked: bool = False  # for the cgroup that it names, once at least
    was_there: bool = False  # when it was looked for last
    shared: bool = False
    used: bool = False  # a target's shared one: whether any tree has come to it

    @property
    def present(self) -> bool:
        """Whether what was listed is there."""
        kind = self.target.kind if self.target else ""
        return kind in ("all", "match") or self.root is not None or bool(self.cgroups)

    @property
    def place(self) -> Place:
        """By which new cgroups are known to be of this tree."""
        return Place(self.hierarchy, self.path)

    @property
    def slots(self) -> set[int]:
        """All its slots: its own, and those of its programs."""
        return {self.slot, *self.programs}

"""All trees of one label set: what they may expose, and what is kept of those that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple

from exporter.kernel.records import SlotState
from exporter.model.labels import LabelSet
from exporter.model.ledger import Kept
from exporter.model.places import Places
from exporter.model.target import Target

#: Of so many trees that are gone the last calls are still shown as exemplars.
_ENDED = 8


class Life(NamedTuple):
    """How often processes were born, changed their program, and ended."""

    forks: int = 0
    execs: int = 0
    exits_ok: int = 0
    exits_error: int = 0
    exits_signal: int = 0

    @classmethod
    def of(cls, state: SlotState) -> Life:
        return cls(state.forks, state.execs, state.exits_ok, state.exits_error, state.exits_signal)

    def plus(self, other: Life) -> Life:
        return Life(*map(add, self, other))


class TreeInfo(NamedTuple):
    """What a tree is, beside its labels; this may change. `pod_labels` are all of its pod."""

    workload: str = ""
    pod_labels: Mapping[str, str] = {}


@dataclass(slots=True, eq=False)
class Account:
    """A label set that is exposed."""

    target: Target
    labels: LabelSet
    places: Places
    created_ns: int
    trees: dict[int, Tree] = field(default_factory=dict)  # those that are not gone, by slot
    gone_ns: int = 0  # since when there are none
    kept: dict[str, Kept] = field(default_factory=dict)  # of trees gone, by the call exposed
    life: Life = field(default_factory=Life)
    info: Mapping[str, str] = field(default_factory=dict)
    told: bool = False  # whether `info` is what its trees say now
    ended: tuple[int, ...] = ()  # slots of the last trees that are gone

    def end(self, slot: int) -> None:
        """One of its trees is gone."""
        del self.trees[slot]
        self.ended = (*self.ended, slot)[-_ENDED:]

    def tell(self, pod_labels: Mapping[str, str]) -> None:
        """Works out `info`; of trees that are gone, what it was last. `pod_labels`: key to name."""
        if self.told or not self.trees:
            return
        told = _agreed(tree.told(pod_labels) for tree in self.trees.values())
        self.info = {"kind": self.target.kind, "root": self.target.root, **told}
        self.told = True


@dataclass(slots=True, eq=False)
class Tree:
    """A slot of the kernel, and where its numbers go. All that is new was 0 at `since_ns`."""

    account: Account
    labels: LabelSet  # its own; the account's may be those of all that find no room
    info: TreeInfo
    since_ns: int

    def told(self, pod_labels: Mapping[str, str]) -> dict[str, str]:
        shown = {name: self.info.pod_labels.get(key, "") for key, name in pod_labels.items()}
        return {"workload": self.info.workload, **shown}


def _agreed(values: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What all say; where they disagree, and where they say nothing, there is nothing."""
    first, *others = values
    return {
        key: value
        for key, value in first.items()
        if value and all(other.get(key) == value for other in others)
    }

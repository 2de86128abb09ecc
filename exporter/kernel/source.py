"""What the floors above see of the kernel: the protocol, and nothing of maps and descriptors.

`tracing.Tracing` is the real one; tests of the model may replay recorded readings instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import (
    CgroupKey,
    Membership,
    Process,
    ProcessKey,
    SlotState,
    Thread,
)
from exporter.kernel.rules import RuleSet
from exporter.kernel.slots import Slots
from exporter.kernel.span_rules import SpanRules


class Sums(NamedTuple):
    """One aggregate, all shards added up. Times in ns; one number per kernel bucket."""

    untimed: int
    sum_ns: int
    other_errors: int
    buckets: list[int]


class RawCall(NamedTuple):
    """A call as the kernel counts it: by slot, ABI and number."""

    slot: int
    code: int
    sums: Sums
    errors: Mapping[int, int]  # errno -> count; 0: a number above the last known errno


class ProgramReading(NamedTuple):
    name: str
    run_ns: int
    runs: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at one moment. Errors were read before the calls that they are part of."""

    calls: Sequence[RawCall]
    threads: Sequence[Thread]
    slots: Mapping[int, SlotState]
    lost_calls: Mapping[str, int]
    programs: Sequence[ProgramReading]
    map_entries: Mapping[str, tuple[int, int]]  # map -> entries, max entries
    monotonic_ns: int


class Pass(NamedTuple):
    """What one pass over all tasks did."""

    changed: int
    no_room: int  # processes that found traced_tgids full: worth another try later
    no_storage: int  # threads that the kernel refused storage: they ask at each event


class Source(Protocol):
    """Raises KernelError where the kernel refuses."""

    def list_processes(self) -> list[Process]: ...

    def list_threads(self) -> list[Thread]:
        """Those that are followed, and what they do."""

    def members(self) -> dict[ProcessKey, Membership]: ...

    def member(self, key: ProcessKey) -> Membership:
        """What is known of one process; an empty membership if nothing is."""

    def set_member(self, key: ProcessKey, member: Membership) -> bool:
        """False where there is no room: the process waits, and its calls are lost until then."""

    def remove_member(self, key: ProcessKey) -> None: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def span_rules(self) -> SpanRules | None:
        """None where spans were not asked for at start."""

    def set_rules(self, rules: RuleSet) -> None:
        """Who is followed by name, from the next exec and the next new cgroup on."""

    def cgroups(self) -> dict[CgroupKey, int]:
        """The cgroups that are listed, by the kernel or by `list_cgroup`, and their slots."""

    def list_cgroup(self, key: CgroupKey, slot: int) -> bool:
        """False where there is no room: that is counted."""

    def unlist_cgroup(self, key: CgroupKey) -> None: ...

    def name_cgroup(self, place: Place, slot: int | None) -> None:
        """New cgroups in this place, here or in any hierarchy, get this slot; None: any."""

    def watch_hierarchies(self, numbers: Iterable[int]) -> None:
        """There may be listed cgroups in these."""

    def release(self, slots: Collection[int]) -> tuple[set[int], Reading]:
        """Lets go of those of `slots` that nothing refers to any more; with their last numbers."""

    def events_lost(self) -> int:
        """How many, so far, found the doorbell full."""

    def folded_programs(self) -> int:
        """How often, so far, `group_by` found no slot for a program."""

    def keep_edges(self, on: bool) -> None:
        """From now on, remember (or forget) who was whose child."""

    def edges(self) -> dict[ProcessKey, ProcessKey]: ...

    def edges_lost(self) -> int:
        """How many, so far, found no room."""

    def count_incomplete(self, processes: int) -> None:
        """So many processes may belong to a tree, and nobody can tell any more."""

    def changes(self) -> int:
        """How often membership changed; what to tell `settle`."""

    def announce_change(self) -> None:
        """Cached decisions are not to be trusted until `settle`."""

    def settle(self, changes: int) -> None: ...

    def sync_pass(self) -> Pass: ...

    def lost_processes(self) -> int:
        """How many, so far, found no room."""

    def read(self, slots: Sequence[int]) -> Reading: ...

"""What is true at one moment, whole and immutable: everything that is published is read from here.

Publishers consume a `Snapshot` and never touch the kernel. Names are already decided (numbers
became names, what did not fit under the limit became `other`), so that every publisher tells
the same story. Durations are in nanoseconds, times in nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.model.labels import LabelSet
from exporter.model.resource import Resource


class Exemplar(NamedTuple):
    """A call that has a span which was queued. `time_ns` is its end."""

    duration_ns: int
    time_ns: int
    trace_id: bytes
    span_id: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one label set: how often, how it failed, how long it took.

    `buckets` has one number per kernel bucket (`histogram.bucket_count(scale)` of them, dense);
    `untimed` are calls without a duration, less those that go out in the call `other`: it may be
    negative. The count is their sum, by construction. `exemplars` are recent calls, by the kernel
    bucket that they are counted in.
    """

    labels: LabelSet
    syscall: str
    untimed: int
    sum_ns: int
    buckets: Sequence[int]
    errors: tuple[tuple[str, int], ...]  # (errno name, count), sorted by name
    created_ns: int  # when the series was first admitted
    exemplars: Mapping[int, Exemplar] = field(default_factory=dict)

    @property
    def timed(self) -> int:
        return sum(self.buckets)

    @property
    def count(self) -> int:
        return self.untimed + self.timed


@dataclass(frozen=True, slots=True)
class InFlight:
    """Calls of one label set that are in the kernel now."""

    labels: LabelSet
    syscall: str
    count: int
    oldest_ns: int


@dataclass(frozen=True, slots=True)
class TreeState:
    """The trees of one label set, and the life of their processes."""

    labels: LabelSet
    processes: int
    threads: Mapping[str, int]  # running, sleeping, uninterruptible, stopped
    forks: int
    execs: int
    exits: Mapping[str, int]  # ok, error, signal
    created_ns: int
    #: Of proctree_target_info, beside the labels: kind, root, workload, label_*; no empty ones.
    info: Mapping[str, str] = field(default_factory=dict)
    began_ns: int | None = None  # when the oldest process that is alive now was born


@dataclass(frozen=True, slots=True)
class TargetState:
    """What a person listed, and whether it is there."""

    name: str
    static_labels: tuple[tuple[str, str], ...]
    up: bool
    trees: int
    bounds: tuple[int, ...] | None = None  # kernel buckets that end at its classic `le` bounds
    intervals: bool = False  # whether its intervals are spans


@dataclass(frozen=True, slots=True)
class MapFill:
    """How full a BPF map is."""

    name: str
    entries: int
    max_entries: int


@dataclass(frozen=True, slots=True)
class ProgramCost:
    """The kernel's own statistics of one of our programs, where they are enabled."""

    name: str
    run_ns: int
    runs: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent reading of the kernel, named and limited, ready to publish."""

    time_ns: int
    started_ns: int
    scale: int
    calls: Sequence[Call]
    in_flight: Sequence[InFlight]
    trees: Sequence[TreeState]
    targets: Sequence[TargetState]
    lost_calls: Mapping[str, int]  # reason -> calls
    label_names: tuple[str, ...] = ("target",)  # all that label sets have, in the order to show
    lost_events: Mapping[str, int] = field(default_factory=dict)
    dropped_spans: Mapping[str, int] = field(default_factory=dict)
    export_failures: Mapping[str, int] = field(default_factory=dict)
    maps: Sequence[MapFill] = ()
    programs: Sequence[ProgramCost] | None = None  # None: self_cost is off
    series_limit: int = 0
    series_folded: int = 0
    tree_slots: int = 0  # in use
    tree_limit: int = 0
    trees_held_back: int = 0  # until their metadata is there
    trees_folded: Mapping[str, int] = field(default_factory=dict)  # reason -> trees, so far
    metadata_age_ns: int | None = None  # of pods; None: no API is asked
    metadata_failures: Mapping[str, int] = field(default_factory=dict)  # reason -> requests
    metadata_pods: int | None = None
    refused: Mapping[str, int] = field(default_factory=dict)  # reason -> what was not followed
    reload_successful: bool = True
    reload_success_time_ns: int = 0
    build_info: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[LabelSet, Resource] = field(default_factory=dict)  # where OTLP is on
    monotonic_ns: int = 0  # CLOCK_MONOTONIC at `time_ns`

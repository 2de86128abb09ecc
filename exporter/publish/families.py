"""The metrics of the catalog, filled from a digest: one small reader for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from exporter.model.snapshot import TargetState, TreeState
from exporter.publish.buckets import Distribution
from exporter.publish.catalog import CATALOG, Metric
from exporter.publish.digest import Cleaner, Digest, Head, Row, sum_counts

THREAD_STATES = ("running", "sleeping", "stopped", "uninterruptible")
EXIT_OUTCOMES = ("error", "ok", "signal")

#: The label set's values, those of the metric's own labels, the number, and since when it has been
#: counted up from 0.
Point = tuple[Head, tuple[str, ...], int | float | Distribution, int]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric and its series, sorted by their labels. `points` is iterated once.

    Its labels are in two parts: those of label sets, which many series share, and its own.
    """

    metric: Metric
    head: tuple[str, ...]
    own: tuple[str, ...]
    points: Iterable[Point]
    native_only: bool = False  # its classic buckets are shown nowhere

    @property
    def labels(self) -> tuple[str, ...]:
        return self.head + self.own


def families(digest: Digest) -> list[Family]:
    """All there is to expose; a family may turn out to be empty, and is then not shown."""
    return [_family(metric, digest) for metric in CATALOG]


def _family(metric: Metric, digest: Digest) -> Family:
    head: tuple[str, ...] = ()
    own = metric.labels
    if metric.about_targets:
        head = _target_labels(digest) if metric.per_target else digest.snapshot.label_names
        own = metric.labels[1:]
    if metric.name == "proctree_target_info":
        own = _info_labels(digest)
    elif metric.name == "proctree_exporter_build_info":
        own = tuple(sorted(digest.snapshot.build_info))
    by_call = metric.name == "proctree_syscall_duration_seconds"
    native_only = by_call and not digest.shape.calls_in_text
    return Family(metric, head, own, READERS[metric.name](digest), native_only)


def _target_labels(digest: Digest) -> tuple[str, ...]:
    static = (name for target in digest.targets for name, _ in target.static_labels)
    return tuple(dict.fromkeys(("target", *static)))


def _info_labels(digest: Digest) -> tuple[str, ...]:
    """Of proctree_target_info, beside those of the label set."""
    known = {name for _, tree in digest.trees for name in tree.info}
    pods = sorted(name for name in known if name.startswith("label_"))
    workload = ("workload",) if "workload" in known else ()
    names = ("kind", "root", *workload, *pods)
    return tuple(name for name in names if name not in digest.snapshot.label_names)


def _counts(digest: Digest) -> Iterator[Point]:
    for row in digest.calls:
        yield row.head, (row.name,), row.total, row.created_ns


def _errors(digest: Digest) -> Iterator[Point]:
    for row in digest.calls:
        for errno, count in row.errors:
            yield row.head, (row.name, errno), count, row.created_ns


def _durations(rows: Iterable[Row]) -> Iterator[Point]:
    for row in rows:
        yield row.head, (row.name,), row.distribution, row.created_ns


def _per_tree(number: Callable[[TreeState], int]) -> Callable[[Digest], Iterator[Point]]:
    def read(digest: Digest) -> Iterator[Point]:
        for head, tree in digest.trees:
            yield head, (), number(tree), tree.created_ns

    return read


def _each_of(
    keys: tuple[str, ...], numbers: Callable[[TreeState], Mapping[str, int]]
) -> Callable[[Digest], Iterator[Point]]:
    """All of `keys` for every label set, those with nothing to report as 0."""

    def read(digest: Digest) -> Iterator[Point]:
        for head, tree in digest.trees:
            for key in keys:
                yield head, (key,), numbers(tree).get(key, 0), tree.created_ns

    return read


def _per_target(number: Callable[[TargetState], int]) -> Callable[[Digest], Iterator[Point]]:
    def read(digest: Digest) -> Iterator[Point]:
        names = _target_labels(digest)[1:]
        clean = Cleaner()
        for target in digest.targets:
            static = dict(target.static_labels)
            values = (clean[static.get(name, "")] for name in names)
            yield (target.name, *values), (), number(target), 0

    return read


def _started(digest: Digest) -> Iterator[Point]:
    for head, tree in digest.trees:
        if tree.began_ns is not None:
            yield head, (), tree.began_ns / 10**9, 0


def _target_info(digest: Digest) -> Iterator[Point]:
    clean = Cleaner()
    names = _info_labels(digest)
    for head, tree in digest.trees:
        yield head, tuple(clean[tree.info.get(name, "")] for name in names), 1, 0


def _per_name(
    numbers: Callable[[Digest], Iterable[tuple[str, int]]], unit: int = 1
) -> Callable[[Digest], list[Point]]:
    """By one label; divided by `unit` once summed, so that the sum stays exact."""

    def read(digest: Digest) -> list[Point]:
        clean = Cleaner()
        sums = sum_counts((clean[name], number) for name, number in numbers(digest))
        started_ns = digest.snapshot.started_ns
        return [
            ((), (name,), number if unit == 1 else number / unit, started_ns)
            for name, number in sorted(sums.items())
        ]

    return read


def _one(number: Callable[[Digest], int | float]) -> Callable[[Digest], list[Point]]:
    return lambda digest: [((), (), number(digest), 0)]


def _maybe(number: Callable[[Digest], int | float | None]) -> Callable[[Digest], list[Point]]:
    """Nothing where there is nothing to say."""

    def read(digest: Digest) -> list[Point]:
        found = number(digest)
        return [] if found is None else [((), (), found, 0)]

    return read


def _metadata_age(digest: Digest) -> float | None:
    age_ns = digest.snapshot.metadata_age_ns
    return None if age_ns is None else age_ns / 10**9


def _series(digest: Digest) -> int:
    """What the text format shows about targets, counted from what it is made of."""
    about_targets = (_family(metric, digest) for metric in CATALOG if metric.about_targets)
    shown = (family for family in about_targets if not family.native_only)
    return sum(_samples_in(number) for family in shown for _, _, number, _ in family.points)


def _samples_in(number: int | float | Distribution) -> int:
    """A histogram is its buckets, +Inf among them, its sum and its count."""
    return len(number.cumulative) + 2 if isinstance(number, Distribution) else 1


def _build_info(digest: Digest) -> list[Point]:
    clean = Cleaner()
    values = (clean[value] for _, value in sorted(digest.snapshot.build_info.items()))
    return [((), tuple(values), 1, 0)]


READERS: Mapping[str, Callable[[Digest], Iterable[Point]]] = {
    "proctree_syscalls_total": _counts,
    "proctree_syscall_errors_total": _errors,
    "proctree_syscall_duration_seconds": lambda digest: _durations(
        digest.calls if digest.shape.calls_in_protobuf else ()
    ),
    "proctree_syscall_class_duration_seconds": lambda digest: _durations(digest.classes),
    "proctree_syscalls_in_flight": lambda digest: [
        (flight.head, (flight.syscall,), flight.number, 0) for flight in digest.in_flight
    ],
    "proctree_syscall_oldest_in_flight_seconds": lambda digest: [
        (flight.head, (flight.syscall,), flight.oldest_ns / 10**9, 0) for flight in digest.in_flight
    ],
    "proctree_tree_processes": _per_tree(lambda tree: tree.processes),
    "proctree_tree_threads": _each_of(THREAD_STATES, lambda tree: tree.threads),
    "proctree_tree_start_time_seconds": _started,
    "proctree_process_forks_total": _per_tree(lambda tree: tree.forks),
    "proctree_process_execs_total": _per_tree(lambda tree: tree.execs),
    "proctree_process_exits_total": _each_of(EXIT_OUTCOMES, lambda tree: tree.exits),
    "proctree_target_up": _per_target(lambda target: int(target.up)),
    "proctree_target_trees": _per_target(lambda target: target.trees),
    "proctree_target_info": _target_info,
    "proctree_exporter_lost_calls_total": _per_name(
        lambda digest: digest.snapshot.lost_calls.items()
    ),
    "proctree_exporter_lost_events_total": _per_name(
        lambda digest: digest.snapshot.lost_events.items()
    ),
    "proctree_exporter_dropped_spans_total": _per_name(
        lambda digest: digest.snapshot.dropped_spans.items()
    ),
    "proctree_exporter_export_failures_total": _per_name(
        lambda digest: digest.snapshot.export_failures.items()
    ),
    "proctree_exporter_series": _one(_series),
    "proctree_exporter_series_limit": _one(lambda digest: digest.snapshot.series_limit),
    "proctree_exporter_series_folded": _one(lambda digest: digest.snapshot.series_folded),
    "proctree_exporter_trees": _one(lambda digest: digest.snapshot.tree_slots),
    "proctree_exporter_trees_limit": _one(lambda digest: digest.snapshot.tree_limit),
    "proctree_exporter_trees_held_back": _one(lambda digest: digest.snapshot.trees_held_back),
    "proctree_exporter_trees_folded_total": _per_name(
        lambda digest: digest.snapshot.trees_folded.items()
    ),
    "proctree_exporter_refused_total": _per_name(lambda digest: digest.snapshot.refused.items()),
    "proctree_exporter_pod_metadata_age_seconds": _maybe(_metadata_age),
    "proctree_exporter_pod_metadata_failures_total": _per_name(
        lambda digest: digest.snapshot.metadata_failures.items()
    ),
    "proctree_exporter_pod_metadata_pods": _maybe(lambda digest: digest.snapshot.metadata_pods),
    "proctree_exporter_map_entries": _per_name(
        lambda digest: ((fill.name, fill.entries) for fill in digest.snapshot.maps)
    ),
    "proctree_exporter_map_max_entries": _per_name(
        lambda digest: ((fill.name, fill.max_entries) for fill in digest.snapshot.maps)
    ),
    "proctree_exporter_bpf_run_seconds_total": _per_name(
        lambda digest: ((cost.name, cost.run_ns) for cost in digest.snapshot.programs or ()),
        unit=10**9,
    ),
    "proctree_exporter_bpf_runs_total": _per_name(
        lambda digest: ((cost.name, cost.runs) for cost in digest.snapshot.programs or ())
    ),
    "proctree_exporter_config_last_reload_successful": _one(
        lambda digest: int(digest.snapshot.reload_successful)
    ),
    "proctree_exporter_config_last_reload_success_timestamp_seconds": _one(
        lambda digest: digest.snapshot.reload_success_time_ns / 10**9
    ),
    "proctree_exporter_build_info": _build_info,
}

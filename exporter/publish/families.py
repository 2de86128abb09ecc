"""The metrics of the catalog, filled from a digest: one small reader for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from exporter.model.snapshot import TargetState
from exporter.publish.buckets import Distribution
from exporter.publish.catalog import CATALOG, Metric
from exporter.publish.digest import Cleaner, Digest, Row, sum_counts

THREAD_STATES = ("running", "sleeping", "stopped", "uninterruptible")
EXIT_OUTCOMES = ("error", "ok", "signal")

#: The values of the labels, the number, and since when it has been counted up from 0.
Point = tuple[tuple[str, ...], int | float | Distribution, int]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric and its series, sorted by their labels. `points` is iterated once."""

    metric: Metric
    labels: tuple[str, ...]
    points: Iterable[Point]


def families(digest: Digest) -> list[Family]:
    """All there is to expose; a family may turn out to be empty, and is then not shown."""
    return [
        Family(metric, _labels(metric, digest), READERS[metric.name](digest)) for metric in CATALOG
    ]


def _labels(metric: Metric, digest: Digest) -> tuple[str, ...]:
    if metric.name == "proctree_exporter_build_info":
        return tuple(sorted(digest.snapshot.build_info))
    return metric.labels


def _counts(digest: Digest) -> Iterator[Point]:
    for row in digest.calls:
        yield row.labels, row.total, row.created_ns


def _errors(digest: Digest) -> Iterator[Point]:
    for row in digest.calls:
        for errno, count in row.errors:
            yield (*row.labels, errno), count, row.created_ns


def _durations(rows: Iterable[Row]) -> Iterator[Point]:
    for row in rows:
        yield row.labels, row.distribution, row.created_ns


def _per_target(number: Callable[[TargetState], int]) -> Callable[[Digest], Iterator[Point]]:
    def read(digest: Digest) -> Iterator[Point]:
        for target in digest.targets:
            yield (target.name,), number(target), target.created_ns

    return read


def _each_of(
    keys: tuple[str, ...], numbers: Callable[[TargetState], Mapping[str, int]]
) -> Callable[[Digest], Iterator[Point]]:
    """All of `keys` for every target, those with nothing to report as 0."""

    def read(digest: Digest) -> Iterator[Point]:
        for target in digest.targets:
            for key in keys:
                yield (target.name, key), numbers(target).get(key, 0), target.created_ns

    return read


def _target_info(digest: Digest) -> Iterator[Point]:
    clean = Cleaner()
    for target in digest.targets:
        yield (target.name, clean[target.kind], clean[target.root]), 1, target.created_ns


def _per_name(
    numbers: Callable[[Digest], Iterable[tuple[str, int]]], unit: int = 1
) -> Callable[[Digest], list[Point]]:
    """By one label; divided by `unit` once summed, so that the sum stays exact."""

    def read(digest: Digest) -> list[Point]:
        clean = Cleaner()
        sums = sum_counts((clean[name], number) for name, number in numbers(digest))
        started_ns = digest.snapshot.started_ns
        return [
            ((name,), number if unit == 1 else number / unit, started_ns)
            for name, number in sorted(sums.items())
        ]

    return read


def _one(number: Callable[[Digest], int | float]) -> Callable[[Digest], list[Point]]:
    return lambda digest: [((), number(digest), 0)]


def _series(digest: Digest) -> int:
    """What the text format shows about targets, counted from what it is made of."""
    about_targets = (metric for metric in CATALOG if "target" in metric.labels)
    points = (point for metric in about_targets for point in READERS[metric.name](digest))
    return sum(_samples_in(number) for _, number, _ in points)


def _samples_in(number: int | float | Distribution) -> int:
    """A histogram is its buckets, +Inf among them, its sum and its count."""
    return len(number.cumulative) + 2 if isinstance(number, Distribution) else 1


def _build_info(digest: Digest) -> list[Point]:
    clean = Cleaner()
    return [(tuple(clean[value] for _, value in sorted(digest.snapshot.build_info.items())), 1, 0)]


READERS: Mapping[str, Callable[[Digest], Iterable[Point]]] = {
    "proctree_syscalls_total": _counts,
    "proctree_syscall_errors_total": _errors,
    "proctree_syscall_duration_seconds": lambda digest: _durations(
        digest.calls if digest.shape.by_syscall else ()
    ),
    "proctree_syscall_class_duration_seconds": lambda digest: _durations(digest.classes),
    "proctree_syscalls_in_flight": lambda digest: [
        ((flight.target, flight.syscall), flight.count, 0) for flight in digest.in_flight
    ],
    "proctree_syscall_oldest_in_flight_seconds": lambda digest: [
        ((flight.target, flight.syscall), flight.oldest_ns / 10**9, 0)
        for flight in digest.in_flight
    ],
    "proctree_tree_processes": _per_target(lambda target: target.processes),
    "proctree_tree_threads": _each_of(THREAD_STATES, lambda target: target.threads),
    "proctree_process_forks_total": _per_target(lambda target: target.forks),
    "proctree_process_execs_total": _per_target(lambda target: target.execs),
    "proctree_process_exits_total": _each_of(EXIT_OUTCOMES, lambda target: target.exits),
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

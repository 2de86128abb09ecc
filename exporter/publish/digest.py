"""A snapshot made ready for all formats: names clean, label sets unique, each sum computed once.

That no label set is exposed twice is made true here, whatever the snapshot holds: neither promtool
nor the client library would notice. What carries equal labels is summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple

from exporter.model.classes import class_of
from exporter.model.snapshot import Call, InFlight, Snapshot, TargetState
from exporter.publish.buckets import Distribution, bounds_of, distribution
from exporter.publish.shape import Shape


class Row(NamedTuple):
    """One call of one target, or one class of calls, with its sums."""

    labels: tuple[str, str]  # target and syscall, or target and class
    total: int
    distribution: Distribution
    errors: tuple[tuple[str, int], ...]
    created_ns: int


@dataclass(frozen=True, slots=True)
class Digest:
    """What the families are filled from; everything is sorted by its labels."""

    snapshot: Snapshot
    shape: Shape
    calls: list[Row]
    classes: list[Row]
    in_flight: list[InFlight]
    targets: list[TargetState]


class Cleaner(dict[str, str]):
    """Label values as valid UTF-8: what no encoder takes, lone surrogates, becomes U+FFFD."""

    def __missing__(self, value: str) -> str:
        try:
            value.encode()
            clean = value
        except UnicodeEncodeError:
            clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
        self[value] = clean
        return clean


def digest(snapshot: Snapshot, shape: Shape) -> Digest:
    clean = Cleaner()
    targets: dict[str, TargetState] = {}
    for state in snapshot.targets:
        name = clean[state.name]
        targets[name] = _sum_targets(targets[name], state) if name in targets else state
    rows = _rows(snapshot, shape, clean, targets)
    in_flight: dict[tuple[str, str], InFlight] = {}
    for flight in snapshot.in_flight:
        key = (clean[flight.target], clean[flight.syscall])
        count, oldest_ns = flight.count, flight.oldest_ns
        if key in in_flight:
            count += in_flight[key].count
            oldest_ns = max(oldest_ns, in_flight[key].oldest_ns)
        if count:
            in_flight[key] = InFlight(*key, count, oldest_ns)
    return Digest(
        snapshot,
        shape,
        rows,
        _class_rows(rows) if shape.by_class else [],
        [in_flight[key] for key in sorted(in_flight)],
        [replace(targets[name], name=name) for name in sorted(targets)],
    )


def _rows(
    snapshot: Snapshot, shape: Shape, clean: Cleaner, targets: Mapping[str, TargetState]
) -> list[Row]:
    calls: dict[tuple[str, str], Call] = {}
    for call in snapshot.calls:
        key = (clean[call.target], clean[call.syscall])
        calls[key] = _sum_calls(calls[key], call) if key in calls else call
    bounds = {
        name: bounds_of(state.bounds if shape.classic else (), snapshot.scale)
        for name, state in targets.items()
    }
    default = bounds_of(None if shape.classic else (), snapshot.scale)
    rows = []
    for key in sorted(calls):
        call = calls[key]
        timed = distribution(call.buckets, call.sum_ns, bounds.get(key[0], default), snapshot.scale)
        total = call.untimed + timed.cumulative[-1]
        errors = call.errors
        if len(errors) > 1:
            errors = tuple(sorted(sum_counts(errors).items()))
        rows.append(Row(key, total, timed, errors, call.created_ns))
    return rows


def _class_rows(rows: Iterable[Row]) -> list[Row]:
    """The same numbers by class. Buckets are linear: what is summed may be sums already."""
    members: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        target, syscall = row.labels
        members.setdefault((target, class_of(syscall)), []).append(row)
    classes = []
    for key in sorted(members):
        of_class = members[key]
        parts = [row.distribution for row in of_class]
        timed = parts[0]._replace(
            cumulative=_column_sums(part.cumulative for part in parts),
            sum_ns=sum(part.sum_ns for part in parts),
            buckets=_column_sums(part.buckets for part in parts),
        )
        created_ns = min(row.created_ns for row in of_class)
        classes.append(Row(key, sum(row.total for row in of_class), timed, (), created_ns))
    return classes


def _column_sums(lines: Iterable[Iterable[int]]) -> list[int]:
    return list(map(sum, zip(*lines, strict=True)))


def _sum_calls(one: Call, other: Call) -> Call:
    return replace(
        one,
        untimed=one.untimed + other.untimed,
        sum_ns=one.sum_ns + other.sum_ns,
        buckets=list(map(add, one.buckets, other.buckets)),
        errors=(*one.errors, *other.errors),
        created_ns=min(one.created_ns, other.created_ns),
    )


def _sum_targets(one: TargetState, other: TargetState) -> TargetState:
    return replace(
        one,
        up=one.up or other.up,
        trees=one.trees + other.trees,
        processes=one.processes + other.processes,
        threads=sum_counts((*one.threads.items(), *other.threads.items())),
        forks=one.forks + other.forks,
        execs=one.execs + other.execs,
        exits=sum_counts((*one.exits.items(), *other.exits.items())),
        created_ns=min(one.created_ns, other.created_ns),
    )


def sum_counts(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """By name, what carries the same name together."""
    sums: dict[str, int] = {}
    for name, count in pairs:
        sums[name] = sums.get(name, 0) + count
    return sums

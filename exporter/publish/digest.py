"""A snapshot made ready for all formats: names clean, label sets unique, each sum computed once.

That no label set is exposed twice is made true here, whatever the snapshot holds: neither promtool
nor the client library would notice. What carries equal labels is summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple

from exporter.model.classes import class_of
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Exemplar, InFlight, Snapshot, TargetState, TreeState
from exporter.model.spans.exemplars import keep_newest
from exporter.publish.buckets import Bounds, Distribution, bounds_of, distribution
from exporter.publish.shape import Shape

#: The values of a label set, in the order of the snapshot's `label_names`.
Head = tuple[str, ...]


class Row(NamedTuple):
    """One call of one label set, or one class of calls, with its sums."""

    head: Head
    name: str  # of the call, or of the class
    total: int
    distribution: Distribution
    errors: tuple[tuple[str, int], ...]
    created_ns: int


class Flight(NamedTuple):
    """Calls of one label set that are in the kernel now."""

    head: Head
    syscall: str
    number: int
    oldest_ns: int


@dataclass(frozen=True, slots=True)
class Digest:
    """What the families are filled from; everything is sorted by its labels."""

    snapshot: Snapshot
    shape: Shape
    calls: list[Row]
    classes: list[Row]
    in_flight: list[Flight]
    trees: list[tuple[Head, TreeState]]
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


class _Heads:
    """Label sets to heads. One label set is one object all over a snapshot: so by identity."""

    def __init__(self, names: tuple[str, ...], clean: Cleaner) -> None:
        self._names, self._clean = names, clean
        self._known: dict[int, Head] = {}

    def __getitem__(self, labels: LabelSet) -> Head:
        head = self._known.get(id(labels))
        if head is None:
            values = dict(labels)
            head = tuple([self._clean[values.get(name, "")] for name in self._names])
            self._known[id(labels)] = head
        return head


def digest(snapshot: Snapshot, shape: Shape, *, native: bool = True) -> Digest:
    """`native`: whether the kernel's buckets of classes are wanted, which text does not show."""
    clean = Cleaner()
    heads = _Heads(snapshot.label_names, clean)
    targets: dict[str, TargetState] = {}
    for target in snapshot.targets:
        name = clean[target.name]
        targets[name] = _sum_targets(targets[name], target) if name in targets else target
    trees: dict[Head, TreeState] = {}
    for tree in snapshot.trees:
        head = heads[tree.labels]
        trees[head] = _sum_trees(trees[head], tree) if head in trees else tree
    rows = _rows(snapshot, shape, heads, clean, targets)
    return Digest(
        snapshot,
        shape,
        rows,
        _class_rows(rows, native) if shape.by_class else [],
        _in_flight(snapshot.in_flight, heads, clean),
        [(head, trees[head]) for head in sorted(trees)],
        [replace(targets[name], name=name) for name in sorted(targets)],
    )


def _rows(
    snapshot: Snapshot,
    shape: Shape,
    heads: _Heads,
    clean: Cleaner,
    targets: Mapping[str, TargetState],
) -> list[Row]:
    found: dict[Head, dict[str, Call]] = {}
    for call in snapshot.calls:
        calls = found.setdefault(heads[call.labels], {})
        name = clean[call.syscall]
        calls[name] = _sum_calls(calls[name], call) if name in calls else call
    scale = snapshot.scale
    rows = []
    for head in sorted(found):
        bounds = _bounds(targets.get(head[0]), shape, scale)
        calls = found[head]
        for name in sorted(calls):
            call = calls[name]
            timed = distribution(call.buckets, call.sum_ns, bounds, scale)
            timed = timed._replace(exemplars=call.exemplars) if call.exemplars else timed
            errors = call.errors
            if len(errors) > 1:
                errors = tuple(sorted(sum_counts(errors).items()))
            total = call.untimed + timed.cumulative[-1]
            rows.append(Row(head, name, total, timed, errors, call.created_ns))
    return rows


def _bounds(target: TargetState | None, shape: Shape, scale: int) -> Bounds:
    if not shape.classic:
        return bounds_of((), scale)
    return bounds_of(target.bounds if target else None, scale)


def _class_rows(rows: Iterable[Row], native: bool) -> list[Row]:
    """The same numbers by class. Buckets are linear: what is summed may be sums already."""
    members: dict[Head, dict[str, list[Row]]] = {}
    for row in rows:
        members.setdefault(row.head, {}).setdefault(class_of(row.name), []).append(row)
    classes = []
    for head, of_head in members.items():
        for name in sorted(of_head):
            of_class = of_head[name]
            parts = [row.distribution for row in of_class]
            timed = parts[0]._replace(
                cumulative=_column_sums([part.cumulative for part in parts]),
                sum_ns=sum(part.sum_ns for part in parts),
                buckets=_column_sums([part.buckets for part in parts]) if native else (),
                exemplars=_newest([part.exemplars for part in parts]),
            )
            created_ns = min(row.created_ns for row in of_class)
            total = sum(row.total for row in of_class)
            classes.append(Row(head, name, total, timed, (), created_ns))
    return classes


def _newest(parts: Iterable[Mapping[int, Exemplar]]) -> Mapping[int, Exemplar]:
    found: dict[int, Exemplar] = {}
    for part in parts:
        keep_newest(found, part)
    return found


def _column_sums(lines: Sequence[Sequence[int]]) -> Sequence[int]:
    return lines[0] if len(lines) == 1 else list(map(sum, zip(*lines, strict=True)))


def _in_flight(flights: Iterable[InFlight], heads: _Heads, clean: Cleaner) -> list[Flight]:
    found: dict[tuple[Head, str], Flight] = {}
    for flight in flights:
        key = (heads[flight.labels], clean[flight.syscall])
        count, oldest_ns = flight.count, flight.oldest_ns
        if key in found:
            count += found[key].number
            oldest_ns = max(oldest_ns, found[key].oldest_ns)
        if count:
            found[key] = Flight(*key, count, oldest_ns)
    return sorted(found.values())


def _sum_calls(one: Call, other: Call) -> Call:
    return replace(
        one,
        untimed=one.untimed + other.untimed,
        sum_ns=one.sum_ns + other.sum_ns,
        buckets=list(map(add, one.buckets, other.buckets)),
        errors=(*one.errors, *other.errors),
        created_ns=min(one.created_ns, other.created_ns),
        exemplars=_newest((one.exemplars, other.exemplars)),
    )


def _sum_trees(one: TreeState, other: TreeState) -> TreeState:
    return replace(
        one,
        processes=one.processes + other.processes,
        threads=sum_counts((*one.threads.items(), *other.threads.items())),
        forks=one.forks + other.forks,
        execs=one.execs + other.execs,
        exits=sum_counts((*one.exits.items(), *other.exits.items())),
        created_ns=min(one.created_ns, other.created_ns),
        began_ns=min(filter(None, (one.began_ns, other.began_ns)), default=None),
    )


def _sum_targets(one: TargetState, other: TargetState) -> TargetState:
    return replace(one, up=one.up or other.up, trees=one.trees + other.trees)


def sum_counts(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """By name, what carries the same name together."""
    sums: dict[str, int] = {}
    for name, count in pairs:
        sums[name] = sums.get(name, 0) + count
    return sums

"""Snapshots made by hand, and what their spans tell."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.model.histogram import bucket_count, index_of
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Snapshot, TargetState, TreeState
from exporter.model.spans.intervals import Intervals
from exporter.model.spans.span import Span

SCALE = 2
S = 10**9
BEGIN = 1_700_000_000 * S
CI: LabelSet = (("target", "ci"),)
MAKE: LabelSet = (("target", "ci"), ("team", "a"), ("comm", "make"))
DB: LabelSet = (("target", "db"), ("cgroup", "/db"), ("exe", "/usr/bin/db"))


def call(
    labels: LabelSet, syscall: str, *durations: int, untimed: int = 0, failed: int = 0
) -> Call:
    buckets = [0] * bucket_count(SCALE)
    for duration in durations:
        buckets[index_of(duration, SCALE)] += 1
    errors = (("EIO", failed),) if failed else ()
    return Call(labels, syscall, untimed, sum(durations), buckets, errors, 1)


def snapshot(
    seconds: float, *calls: Call, sets: Iterable[LabelSet] = (CI,), processes: int = 1,
    created: int = BEGIN - 5 * S, off: tuple[str, ...] = (), step: int = 0,
) -> Snapshot:  # fmt: skip
    """Taken so many seconds after the beginning; `step`: by so much the time of day was set."""
    moment = int(seconds * S)
    trees = [TreeState(labels, processes, {}, 0, 0, {}, created) for labels in sets]
    targets = [TargetState(name, (), True, 1, intervals=name not in off) for name in ("ci", "db")]
    return Snapshot(
        BEGIN + moment + step, BEGIN, SCALE, calls, [], trees, targets, {},
        monotonic_ns=1000 * S + moment,
    )  # fmt: skip


def intervals() -> Intervals:
    return Intervals(now_ns=995 * S)


def one(spans: list[tuple[LabelSet, Span]]) -> Span:
    ((_, span),) = spans
    return span


def events(span: Span) -> dict[str, dict[str, object]]:
    found = {event.name: dict(event.attributes) for event in span.events}
    assert len(found) == len(span.events)
    return found

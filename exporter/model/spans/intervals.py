"""Spans of the aggregate map: one for each label set and interval, with an event for each call.

They are made of the same snapshots as metrics, with no event of the kernel and no sampling: counts,
errors and times of all spans of a label set sum up to its counters. So what was told is remembered,
as long as the label set is exposed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import add, sub
from typing import NamedTuple

from exporter.kernel.source import Sums
from exporter.kernel.syscalls import OTHER
from exporter.model.histogram import upper_bound
from exporter.model.labels import LabelSet
from exporter.model.ledger import Kept, Total
from exporter.model.snapshot import Call, Snapshot, TreeState
from exporter.model.spans.ids import SPAN_BYTES, TRACE_BYTES
from exporter.model.spans.span import NO_PARENT, Attributes, Event, Span

MAX_EVENTS = 100

#: Of a label set's; what else it says is in the Resource.
_ATTRIBUTES = {
    "target": "proctree.target",
    "comm": "process.executable.name",
    "exe": "process.executable.path",
}


class _Change(NamedTuple):
    """What came of one call in an interval."""

    calls: int
    errors: int
    sum_ns: int
    buckets: list[int]

    def plus(self, other: _Change) -> _Change:
        return _Change(
            self.calls + other.calls,
            self.errors + other.errors,
            self.sum_ns + other.sum_ns,
            list(map(add, self.buckets, other.buckets)),
        )


@dataclass(slots=True)
class _Told:
    """How far a label set's spans have come: until when, by both clocks, and to which numbers."""

    created_ns: int
    time_ns: int = 0
    monotonic_ns: int = 0
    calls: dict[str, Kept] = field(default_factory=dict)


class Intervals:
    """Make it before trees are followed, and give it each snapshot once, in their order."""

    def __init__(
        self, random: Callable[[int], bytes] = os.urandom, now_ns: int | None = None
    ) -> None:
        self._random = random
        self._begun_ns = time.monotonic_ns() if now_ns is None else now_ns
        self._before_ns = self._begun_ns  # when the snapshot before was taken
        self._there: set[LabelSet] = set()  # in it
        self._told: dict[LabelSet, _Told] = {}

    def spans(self, snapshot: Snapshot) -> list[tuple[LabelSet, Span]]:
        """Of label sets whose target asks for them, from the snapshot before to this one.

        The first begins with the series. A label set whose processes live has a span where it made
        no call, too: so one that is idle can be told from an exporter that was away.
        """
        wanted = {target.name for target in snapshot.targets if target.intervals}
        calls: dict[LabelSet, list[Call]] = {}
        for call in snapshot.calls:
            calls.setdefault(call.labels, []).append(call)
        found = []
        for tree in snapshot.trees:
            target = dict(tree.labels)["target"]
            if target in wanted:
                span = self._span(target, tree, calls.get(tree.labels, []), snapshot)
                if span:
                    found.append((tree.labels, span))
        self._there = {tree.labels for tree in snapshot.trees}
        self._told = {labels: told for labels, told in self._told.items() if labels in self._there}
        self._before_ns = _moment(snapshot)
        return found

    def _span(
        self, target: str, tree: TreeState, calls: Iterable[Call], snapshot: Snapshot
    ) -> Span | None:
        told = self._told.get(tree.labels)
        since_ns = self._before_ns
        if told is None or told.created_ns != tree.created_ns:
            if told is None and tree.labels in self._there:  # it was not asked for
                since_ns = self._begun_ns
            told = self._told[tree.labels] = _Told(tree.created_ns)
        start_ns, end_ns = _times(told, since_ns, snapshot)
        changes = {}
        for call in calls:
            change = _change(call, told.calls.get(call.syscall))
            if change.calls or change.errors or change.sum_ns:
                changes[call.syscall] = change
                told.calls[call.syscall] = _kept(call)
        told.time_ns, told.monotonic_ns = snapshot.time_ns, _moment(snapshot)
        if not (changes or tree.processes):
            return None
        events = tuple(
            Event(name, end_ns, _numbers(name, change, snapshot.scale))
            for name, change in _most_first(changes)
        )
        attributes = tuple(
            (_ATTRIBUTES[name], value) for name, value in tree.labels if name in _ATTRIBUTES
        )
        trace_id, span_id = self._random(TRACE_BYTES), self._random(SPAN_BYTES)
        return Span(0, trace_id, span_id, NO_PARENT, target, start_ns, end_ns, attributes, events)


def _times(told: _Told, since_ns: int, snapshot: Snapshot) -> tuple[int, int]:
    """As far apart as on the monotonic clock; the time of day may have been set meanwhile.

    What has not been told of began after `since_ns`, by that clock.
    """
    now_ns, end_ns = _moment(snapshot), snapshot.time_ns
    if told.time_ns:
        return told.time_ns, told.time_ns + max(now_ns - told.monotonic_ns, 0)
    return min(max(told.created_ns, end_ns - (now_ns - since_ns)), end_ns), end_ns


def _moment(snapshot: Snapshot) -> int:
    return snapshot.monotonic_ns or snapshot.time_ns


def _change(call: Call, before: Kept | None) -> _Change:
    """Since what was told; all of it where numbers fell: they began anew."""
    errors = sum(count for _, count in call.errors)
    whole = _Change(call.count, errors, call.sum_ns, list(call.buckets))
    if before is None:
        return whole
    sums = before.as_sums()
    change = _Change(
        whole.calls - before.untimed - sum(sums.buckets),
        errors - sum(count for _, count in before.errors),
        whole.sum_ns - before.sum_ns,
        list(map(sub, whole.buckets, sums.buckets)),
    )
    return whole if min(change[:3]) < 0 or min(change.buckets) < 0 else change


def _kept(call: Call) -> Kept:
    total = Total([Sums(call.untimed, call.sum_ns, 0, list(call.buckets))], dict(call.errors))
    return total.keep()


def _most_first(changes: dict[str, _Change]) -> list[tuple[str, _Change]]:
    """By time spent; what is too much for one span, and what is `other` already, in one, last."""
    named = [(name, change) for name, change in changes.items() if name != OTHER]
    named.sort(key=lambda one: (-one[1].sum_ns, -one[1].calls, one[0]))
    room = MAX_EVENTS if len(changes) <= MAX_EVENTS else MAX_EVENTS - 1
    rest = [change for _, change in named[room:]]
    if OTHER in changes:
        rest.append(changes[OTHER])
    if not rest:
        return named
    other = rest[0]
    for change in rest[1:]:
        other = other.plus(change)
    return [*named[:room], (OTHER, other)]


def _numbers(name: str, change: _Change, scale: int) -> Attributes:
    """Times in seconds; half of the calls took .p50 at most: the bound of their bucket."""
    numbers: Attributes = (
        ("proctree.syscall", name),
        ("proctree.count", change.calls),
        ("proctree.errors", change.errors),
        ("proctree.duration.sum", change.sum_ns / 10**9),
    )
    timed = sum(change.buckets)
    if not timed:
        return numbers
    return (
        *numbers,
        ("proctree.duration.p50", _quantile(change.buckets, -(-timed // 2), scale)),
        ("proctree.duration.p99", _quantile(change.buckets, -(-timed * 99 // 100), scale)),
    )


def _quantile(buckets: list[int], rank: int, scale: int) -> float:
    """The upper bound of the bucket that the call with this rank, from 1 on, fell into."""
    for index, count in enumerate(buckets):
        rank -= count
        if rank <= 0:
            return upper_bound(index, scale)
    raise ValueError(f"expected {rank} calls more")

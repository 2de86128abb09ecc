"""Traces end at a number of spans and at an age; what lives goes on in the next one, linked."""

from __future__ import annotations

import gc
from collections import Counter
from itertools import pairwise

import pytest

from exporter.model.spans.span import Span
from exporter.model.spans.traces import SpanLimits, Trace
from tests.unit.span_records import CALLS_ONLY, OTHER, ROOT, TREE, World, attributes, times

MINUTE = 60 * 10**9


def links(span: Span) -> list[tuple[bytes, bytes]]:
    return [(link.trace_id, link.span_id) for link in span.links]


def goes_on(before: Span, after: Span) -> None:
    assert attributes(before)["proctree.continued"] is True
    assert links(after) == [(before.trace_id, before.span_id)]
    assert before.trace_id != after.trace_id
    assert before.span_id != after.span_id
    assert before.end_ns == after.start_ns
    assert before.error is None


def test_ten_thousand_spans_fill_a_trace() -> None:
    """The root, which made them, goes on with the first that finds no room; none is unlinked."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_001, b"/bin/sh")
    for pid in range(11, 20_050):
        world.fork(pid, 10, pid * 1000)
        world.exit(pid, pid * 1000 + 500, parent=10)
    world.exit(10, 30_000_000, 256)
    first, second, third = world.of(10)
    goes_on(first, second)
    goes_on(second, third)
    sizes = Counter(span.trace_id for span in world.ended)
    assert sizes == {first.trace_id: 10_000, second.trace_id: 10_000, third.trace_id: 42}
    assert [span.name for span in (first, second, third)] == ["sh"] * 3
    assert ([len(span.events) for span in (first, second, third)], third.error) == (
        [1, 0, 0], "exit 1",
    )  # fmt: skip
    parents = {first.trace_id: first, second.trace_id: second, third.trace_id: third}
    for span in world.ended:
        pid = attributes(span)["process.pid"]
        assert span.parent_id == (parents[span.trace_id].span_id if pid > 10 else b"")
    born = [attributes(span).get("process.creation.time") for span in (first, second, third)]
    assert born == [None, "2023-11-14T22:13:20.000010000Z", "2023-11-14T22:13:20.000010000Z"]


def test_fifteen_minutes_end_a_trace() -> None:
    """Of all that live in it, at the next tick; what is still together stays parent and child."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 11_000)
    world.processes.tick(15 * MINUTE + 9_999)
    assert world.ended == []
    world.processes.tick(15 * MINUTE + 10_000)
    assert len(world.ended) == 2
    world.processes.tick(30 * MINUTE + 9_999)
    assert len(world.ended) == 2
    world.exit(11, 30 * MINUTE)
    world.exit(10, 31 * MINUTE)
    for pid in (10, 11):
        goes_on(*world.of(pid))
    assert world.of(11)[1].parent_id == world.of(10)[1].span_id
    assert world.of(11)[1].trace_id == world.of(10)[1].trace_id
    assert times(world.of(10)[1]) == (15 * MINUTE + 10_000, 31 * MINUTE)


def test_without_a_tick_nothing_new_comes_into_an_old_trace() -> None:
    """Neither a process nor a call."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 16 * MINUTE)
    span = world.call(11, 32 * MINUTE)
    world.processes.finish(33 * MINUTE)
    assert len({span.trace_id for span in world.of(10)}) == 3
    first, second = world.of(11)
    goes_on(first, second)
    assert span and (span.trace_id, span.parent_id) == (second.trace_id, second.span_id)


def test_who_sleeps_is_left_alone() -> None:
    """A full trace is no reason to end the span of one that has nothing to do with the next."""
    world = World(SpanLimits(spans=8))
    for pid in (10, 11, 12):
        world.fork(pid, ROOT, pid * 1000)
    for pid in range(20, 40):
        world.fork(pid, 10, pid * 1000)
        world.exit(pid, pid * 1000 + 1, parent=10)
    world.exit(11, 50_000)
    world.exit(12, 50_000)
    assert [len(world.of(pid)) for pid in (11, 12)] == [1, 1]
    assert len(world.of(10)) == 3  # and one that is open


def test_ancestors_come_along() -> None:
    """So that a trace shows what led to what happened in it; who is gone is missed by nobody."""
    world = World(SpanLimits(spans=8))
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 11_000)
    world.fork(12, 11, 12_000)
    world.fork(13, 12, 13_000)
    world.exit(11, 14_000)  # 12 is somebody else's child by now
    for pid in range(20, 30):
        world.fork(pid, 13, pid * 1000)
        world.exit(pid, pid * 1000 + 1, parent=13)
    world.processes.finish(50_000)
    late = world.of(29)[0]
    (above,) = (span for span in world.of(13) if span.span_id == late.parent_id)
    (top,) = (span for span in world.of(12) if span.span_id == above.parent_id)
    assert {span.trace_id for span in (late, above, top)} == {late.trace_id}
    assert top.parent_id == b""
    assert len(world.of(10)) == 1


@pytest.mark.parametrize("limit", [8, 10, 100])
def test_a_trace_is_mostly_of_what_happens(limit: int) -> None:
    """However deep a tree is, its ancestors take half of a trace at most."""
    world = World(SpanLimits(spans=limit))
    for pid in range(10, 310):  # each the child of the one before
        world.fork(pid, pid - 1, pid * 1000)
    for number in range(1000):
        parent, pid = (309, 150, 220)[number % 3], 1000 + number
        world.fork(pid, parent, 400_000 + number)
        world.exit(pid, 400_001 + number, parent=parent)
    world.processes.finish(500_000)
    sizes = Counter(span.trace_id for span in world.ended)
    assert max(sizes.values()) <= limit
    assert len(world.ended) <= 4 * 1300 + limit
    by_id = {span.span_id: span for span in world.ended}
    assert len(by_id) == len(world.ended)
    for span in world.ended:
        if attributes(span)["process.pid"] >= 1000:  # all stand below the one that made them
            above = by_id[span.parent_id]
            assert above.trace_id == span.trace_id
            assert attributes(above)["process.pid"] == attributes(span)["process.parent_pid"]


def test_ancestors_of_many_do_not_push_each_other_out() -> None:
    """Where all do not find room in one trace, those above the parent stay behind."""
    world = World(SpanLimits(spans=100))
    for pid in range(1000):  # 200 lines of 5, each the child of the one before
        world.fork(100 + pid, 99 + pid if pid % 5 else ROOT, 10_000 + pid)
    for number in range(2000):
        pid = 2000 + number
        world.fork(pid, 104 + number % 200 * 5, 20_000 + number)
        world.exit(pid, 20_000 + number)
    assert len(world.ended) <= 4 * 2000
    world.processes.finish(50_000)
    there = {(span.trace_id, span.span_id) for span in world.ended}
    for span in world.ended:
        assert not span.parent_id or (span.trace_id, span.parent_id) in there
        if attributes(span)["process.pid"] >= 2000:
            assert span.parent_id


def test_what_has_ended_takes_no_memory() -> None:
    """However many traces there were."""
    world = World(SpanLimits(spans=8))
    world.fork(10, ROOT, 10_000)
    for number in range(1000):
        world.call(10, 11_000 + number)
    gc.collect()
    assert sum(isinstance(thing, Trace) for thing in gc.get_objects()) <= 2


def test_more_processes_than_a_trace_takes() -> None:
    """They live in several traces, each of which ends at its age; no trace is too large."""
    world = World(SpanLimits(spans=10))
    for pid in range(10, 110):
        world.fork(pid, 10 if pid > 10 else ROOT, pid * 1000)
    for minute in range(1, 61):
        world.processes.tick(minute * MINUTE)
    world.processes.finish(61 * MINUTE)
    assert max(Counter(span.trace_id for span in world.ended).values()) <= 10
    assert max(span.end_ns - span.start_ns for span in world.ended) <= 16 * MINUTE
    for pid in range(11, 110):
        parts = world.of(pid)
        assert len(parts) == 4  # since the minutes 0, 16, 31 and 46
        for before, after in pairwise(parts):
            goes_on(before, after)


def test_calls_fill_a_trace() -> None:
    """They count like processes; their process goes on with the first that finds no room."""
    world = World(SpanLimits(spans=10))
    world.fork(10, ROOT, 10_000)
    for number in range(20):
        world.call(10, 11_000 + number)
    world.exit(10, 12_000)
    parts = world.of(10)
    sizes = Counter(span.trace_id for span in world.called)
    assert [sizes[part.trace_id] for part in parts] == [9, 9, 2]
    above = {part.trace_id: part.span_id for part in parts}
    assert all(call.parent_id == above[call.trace_id] for call in world.called)


def test_calls_alone_fill_traces() -> None:
    """Those of a target without spans of processes have no parent."""
    world = World(SpanLimits(spans=10))
    for number in range(25):
        world.call(10, 11_000 + number, slot=CALLS_ONLY)
    world.call(10, 20 * MINUTE, slot=CALLS_ONLY)
    sizes = Counter(span.trace_id for span in world.called)
    assert list(sizes.values()) == [10, 10, 5, 1]
    assert {span.parent_id for span in world.called} == {b""}
    assert world.ended == []


def test_roots_of_a_later_trace_are_linked_to_the_one_before() -> None:
    """Where nobody goes on, nothing else would tell that one trace follows the other."""
    world = World(SpanLimits(spans=8))
    for pid in range(10, 30):
        world.fork(pid, ROOT, pid * 1000)
        world.exit(pid, pid * 1000 + 1)
    traces = list(dict.fromkeys(span.trace_id for span in world.ended))
    firsts = {
        trace: next(span.span_id for span in world.ended if span.trace_id == trace)
        for trace in traces
    }
    assert len(traces) == 3
    for span in world.ended:
        before = traces.index(span.trace_id) - 1
        expected = [(traces[before], firsts[traces[before]])] if before >= 0 else []
        assert links(span) == expected


def test_trees_do_not_share_traces() -> None:
    """Each has its own, which fill apart."""
    world = World(SpanLimits(spans=8))
    for pid in range(10, 24):
        world.fork(pid, ROOT, pid * 1000, slot=(TREE, OTHER)[pid % 2])
    world.processes.finish(50_000)
    assert len({(span.slot, span.trace_id) for span in world.ended}) == 2
    assert len({span.trace_id for span in world.ended}) == 2

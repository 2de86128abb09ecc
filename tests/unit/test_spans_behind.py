"""Listings are of now, and what the kernel told may still have to be learnt: parents are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.span_events import Exited, Forked, Record
from exporter.model.spans.listing import untold
from exporter.model.spans.processes import Listed
from exporter.model.spans.traces import SpanLimits
from tests.unit.span_records import ROOT, TREE, World, attributes, key, traceparent

PARENT, FIRST = 10, 11
MOST = 8  # spans of a trace


def forked(pid: int) -> Forked:
    return Forked(TREE, key(pid), pid * 1000, key(PARENT))


def exited(pid: int) -> Exited:
    return Exited(TREE, key(pid), pid * 1000 + 2500, key(PARENT), 0, b"comm")


def listed(pid: int, parent: int = PARENT) -> Listed:
    return Listed(TREE, key(pid), key(parent), "listed")


def stands_below(world: World, pid: int) -> None:
    """Its parent's span is there, in the same trace."""
    span = world.only(pid)
    (above,) = (one for one in world.ended if one.span_id == span.parent_id)
    assert (above.trace_id, attributes(above)["process.pid"]) == (span.trace_id, PARENT)


@given(data=st.data(), children=st.integers(1, 40))
def test_parents_that_went_on_before(data: Any, children: int) -> None:
    """Wherever a listing comes in, and however much of what is listed is told of afterwards."""
    world = World(SpanLimits(spans=MOST))
    world.fork(PARENT, ROOT, 10_000)
    pids = range(FIRST, FIRST + children)
    told: list[Record] = [make(pid) for pid in pids for make in (forked, exited)]
    told.sort(key=lambda record: record.time_ns)
    learnt, seen, now = sorted(data.draw(st.integers(0, len(told))) for _ in range(3))
    if data.draw(st.booleans()):
        seen = len(told)
    for record in told[:learnt]:
        world.processes.learn(record)
    gone = {record.key for record in told[:now] if type(record) is Exited}
    alive = {record.key.tgid for record in told[:now] if record.key not in gone}
    found = [listed(PARENT, ROOT), *map(listed, alive)]
    now_ns = told[now - 1].time_ns if now else 10_500
    world.processes.adopt(untold(found, told[learnt:seen]), now_ns)
    for record in told[learnt:]:
        world.processes.learn(record)
    world.processes.finish(10**9)
    for pid in pids:
        stands_below(world, pid)


def behind(world: World, happens: Callable[[], None], *, seen: bool) -> None:
    """A child is listed before what happens to its parent is learnt, and then its own birth."""
    late = [forked(FIRST)] if seen else []
    world.processes.adopt(untold([listed(FIRST)], late), FIRST * 1000 + 500)
    happens()
    world.processes.learn(forked(FIRST))
    world.processes.learn(exited(FIRST))
    world.processes.finish(10**9)


def fill(world: World) -> None:
    for number in range(MOST):
        world.call(PARENT, 10_001 + number)


def test_a_parent_whose_trace_is_full_meanwhile() -> None:
    """The child is where its parent was when it was born."""
    world = World(SpanLimits(spans=MOST))
    world.fork(PARENT, ROOT, 10_000)
    behind(world, lambda: fill(world), seen=True)
    child, (first, second) = world.only(FIRST), world.of(PARENT)
    assert first.trace_id != second.trace_id
    assert (child.trace_id, child.parent_id) == (second.trace_id, second.span_id)
    assert child.start_ns >= second.start_ns
    assert "process.creation.time" not in attributes(child)


def test_a_birth_that_was_being_written() -> None:
    """Told after all that a listing is compared with: the child stays where it was found."""
    world = World(SpanLimits(spans=MOST))
    world.fork(PARENT, ROOT, 10_000)
    behind(world, lambda: fill(world), seen=False)
    child, first = world.only(FIRST), world.of(PARENT)[0]
    assert (child.trace_id, child.parent_id) == (first.trace_id, first.span_id)


def test_a_parent_that_joins_another_trace_meanwhile() -> None:
    """The child is in that trace, too."""
    world = World()
    world.fork(PARENT, ROOT, 10_000)

    def joins() -> None:
        world.exec(PARENT, 10_100)
        world.environ(PARENT, 10_101, traceparent(1, 2))

    behind(world, joins, seen=True)
    child, parent = world.only(FIRST), world.only(PARENT)
    assert child.trace_id == parent.trace_id == (1).to_bytes(16, "big")
    assert child.parent_id == parent.span_id


def test_who_is_made_while_a_listing_goes_on() -> None:
    """A span does not begin before its process, though the listing did, and the fork was lost."""
    world = World()
    world.fork(PARENT, ROOT, 10_000)
    world.processes.adopt([listed(FIRST)], FIRST * 1000 - 500)
    world.processes.learn(exited(FIRST))
    assert world.only(FIRST).start_ns == world.placing.clock.wall_ns(FIRST * 1000)

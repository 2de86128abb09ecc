"""Spans of processes of which not all is told: what listings and what came tell instead."""

from __future__ import annotations

import pytest

from exporter.model.spans.processes import Listed
from exporter.model.spans.span import Span
from exporter.model.spans.traces import SpanLimits
from tests.unit.span_records import (
    OTHER,
    ROOT,
    TREE,
    World,
    attributes,
    events,
    key,
    times,
)


def test_who_is_older_begins_when_following_does() -> None:
    """And says when it was born; parents are found in whatever order they are listed."""
    world = World(since_ns=50_000)
    world.adopt(50_000, (12, 11), (11, 10), (10, ROOT))
    for pid in (10, 11, 12):
        world.exit(pid, 60_000 + pid)
    for span in world.ended:
        pid = attributes(span)["process.pid"]
        assert times(span) == (50_000, 60_000 + pid)
        born = attributes(span)["process.creation.time"]
        assert born == f"2023-11-14T22:13:20.{pid * 1000:09}Z"
    root, child, grandchild = world.ended
    assert (root.parent_id, child.parent_id) == (b"", root.span_id)
    assert grandchild.parent_id == child.span_id
    assert [span.name for span in world.ended] == ["p10", "p11", "p12"]
    assert [attributes(span)["process.parent_pid"] for span in world.ended] == [ROOT, 10, 11]


def test_a_listing_takes_up_nobody_twice() -> None:
    """Who was listed before its fork is told of has one span, from its fork on."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_001, b"/bin/sh")
    world.args(10, 10_002, b"sh")
    listed = [
        Listed(TREE, key(10), key(ROOT), "other", b"/bin/other"),
        Listed(TREE, key(11), key(ROOT), "make", b"/bin/make"),  # its parent, 10, lives
    ]
    world.processes.adopt(listed, 12_000)
    world.processes.adopt(listed, 13_000)
    world.fork(11, 10, 11_000)
    world.exit(11, 14_000)
    world.exit(10, 15_000)
    child, parent = world.ended
    assert (times(child), times(parent)) == ((11_000, 14_000), (10_000, 15_000))
    assert child.parent_id == parent.span_id
    assert attributes(child)["process.parent_pid"] == 10
    assert "process.creation.time" not in attributes(child)
    assert attributes(child)["process.executable.path"] == "/bin/make"
    assert attributes(parent)["process.executable.path"] == "/bin/sh"
    assert attributes(parent)["process.command_args"] == ("sh",)


def test_a_fork_that_is_told_much_later_moves_no_later_part() -> None:
    """The part in which it was listed has been sent."""
    world = World(SpanLimits(age_ns=1000))
    world.adopt(12_000, (10, ROOT))
    world.processes.tick(13_000)
    world.fork(10, ROOT, 10_000)
    world.exit(10, 13_500)
    assert [times(span) for span in world.of(10)] == [(12_000, 13_000), (13_000, 13_500)]


def test_a_lost_fork_loses_no_span() -> None:
    """The exit tells enough: birth, parent, name."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exit(11, 12_000, 7 << 8, parent=10, comm=b"short")
    world.exit(10, 13_000)
    child, parent = world.ended
    assert times(child) == (11_000, 12_000)
    assert (child.name, child.parent_id, child.error) == ("short", parent.span_id, "exit 7")
    assert attributes(child)["process.parent_pid"] == 10
    assert "process.creation.time" not in attributes(child)


def test_a_lost_fork_is_noticed_at_an_exec() -> None:
    """Then it begins; so does who comes into a tree by a new program. The exit names its parent."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(11, 12_000, b"/bin/make")
    world.fork(12, 11, 12_500)
    world.exit(11, 13_000, parent=10)
    world.exit(12, 13_000, parent=10)
    world.exit(10, 13_500)
    child, grandchild, parent = world.ended
    assert times(child) == (12_000, 13_000)
    assert child.parent_id == parent.span_id
    assert grandchild.parent_id == child.span_id
    assert attributes(child)["process.creation.time"].endswith(".000011000Z")


@pytest.mark.parametrize(("born_ns", "since_ns"), [(10_000, 50_000), (10_000, 0)])
def test_the_end_of_who_was_never_heard_of(born_ns: int, since_ns: int) -> None:
    """One from before following began, or older than a trace may be: only its end is there."""
    world = World(SpanLimits(age_ns=100_000), since_ns=since_ns)
    end_ns = 60_000 if since_ns else 200_000
    world.exit(10, end_ns, born_ns=born_ns)
    span = world.only(10)
    assert times(span) == (end_ns, end_ns)
    assert attributes(span)["process.creation.time"].endswith(".000010000Z")


def test_a_lost_exit_leaves_no_span_open() -> None:
    """Two listings without a process end it, as of the first: after that, its exit may be late."""
    world = World()
    for pid in (10, 11, 12):
        world.fork(pid, ROOT, 10_000)
    world.alive(20_000, 10)
    world.fork(13, ROOT, 21_000)  # after the listing had begun
    world.exit(11, 19_999)
    for now_ns in (20_500, 20_600):
        world.alive(now_ns, 10)
    assert world.processes.open == 2
    world.alive(30_000, 10, 13)
    gone = world.only(12)
    assert (times(gone), gone.error) == ((10_000, 20_000), None)
    assert attributes(gone)["proctree.end"] == "unknown"
    assert "process.exit.code" not in attributes(gone)
    assert times(world.only(11)) == (10_000, 19_999)
    assert {attributes(span)["process.pid"] for span in world.ended} == {11, 12}


def test_nothing_is_made_up_of_whom_little_was_heard() -> None:
    """Only of a new program: nobody says who the parent is."""
    world = World()
    world.exec(10, 10_000, b"")
    world.processes.finish(20_000)
    assert world.only(10).name == "unknown"
    assert attributes(world.only(10)).keys() == {
        "process.pid", "process.creation.time", "proctree.target", "proctree.continued",
    }  # fmt: skip


def test_being_missed_once_is_forgotten() -> None:
    """Who is there again begins anew to be missed."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.alive(20_000)
    world.alive(30_000, 10)
    world.alive(40_000)
    assert world.ended == []
    world.alive(50_000)
    assert times(world.only(10)) == (10_000, 40_000)


def moved(first: Span, second: Span) -> None:
    assert attributes(first)["proctree.end"] == "moved"
    (link,) = second.links
    assert (link.trace_id, link.span_id) == (first.trace_id, first.span_id)
    assert first.trace_id != second.trace_id
    assert (first.slot, second.slot) == (TREE, OTHER)
    assert attributes(second)["process.executable.name"] == "sh"
    assert first.end_ns == second.start_ns


def test_a_program_begun_in_another_tree_moves_the_process() -> None:
    """Its span ends here and goes on there, linked."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.exec(10, 20_000, slot=OTHER)
    world.fork(11, 10, 21_000, slot=OTHER)
    world.exit(11, 22_000, parent=10, slot=OTHER)
    world.exit(10, 23_000, slot=OTHER)
    first, second = world.of(10)
    moved(first, second)
    assert (times(first), times(second)) == ((10_000, 20_000), (20_000, 23_000))
    assert [name for name, _, _ in events(second)] == ["exec"]
    assert world.only(11).parent_id == second.span_id


def test_a_listing_in_another_tree_moves_the_process() -> None:
    """As of the first of two; what the kernel told before may still be on its way at the first."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    for now_ns in (20_000, 30_000):
        assert world.ended == []
        world.processes.reconcile({key(10): OTHER}, now_ns)
    world.exit(10, 40_000, slot=OTHER)
    moved(*world.of(10))


def test_a_child_born_into_another_tree_is_a_root_there() -> None:
    """Parents are in the same tree."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 11_000, slot=OTHER)
    world.exit(11, 12_000, parent=10, slot=OTHER)
    world.exit(10, 12_000)
    child, parent = world.ended
    assert (child.parent_id, child.slot) == (b"", OTHER)
    assert child.trace_id != parent.trace_id
    assert attributes(child)["process.parent_pid"] == 10

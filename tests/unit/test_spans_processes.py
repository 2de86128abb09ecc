"""Spans of processes: from fork to exit, each once, whatever is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from exporter.model.spans.processes import PROCESS_LIMIT, Listed
from exporter.model.spans.span import Span
from exporter.model.spans.traces import SpanLimits
from exporter.model.target import SpanWords, Target
from tests.unit.span_records import (
    OTHER,
    ROOT,
    TREE,
    WALL,
    World,
    attributes,
    events,
    key,
    target,
    times,
)


def test_a_span_is_from_fork_to_exit() -> None:
    """With its parent's span above, in one trace; of the root, nothing is above."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 11_000)
    world.exec(11, 11_100, b"/usr/bin/make")
    world.exit(11, 12_000, parent=10)
    world.exit(10, 13_000)
    child, parent = world.ended
    assert times(child) == (11_000, 12_000)
    assert times(parent) == (10_000, 13_000)
    assert (child.parent_id, child.trace_id) == (parent.span_id, parent.trace_id)
    assert (parent.parent_id, parent.links, parent.slot) == (b"", (), TREE)
    assert (len(child.trace_id), len(child.span_id)) == (16, 8)
    assert child.span_id != parent.span_id
    assert (child.name, child.error, child.flags) == ("make", None, 1)
    assert attributes(child) == {
        "process.pid": 11,
        "process.parent_pid": 10,
        "process.executable.name": "make",
        "process.executable.path": "/usr/bin/make",
        "process.exit.code": 0,
        "proctree.target": "ci",
    }
    assert world.processes.open == 0


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (0, None, {"process.exit.code": 0}),
        (3 << 8, "exit 3", {"process.exit.code": 3, "error.type": "3"}),
        (255 << 8, "exit 255", {"process.exit.code": 255, "error.type": "255"}),
        (9, "SIGKILL", {"proctree.exit.signal": "SIGKILL", "error.type": "SIGKILL"}),
        (11 | 0x80, "SIGSEGV", {"proctree.exit.signal": "SIGSEGV", "error.type": "SIGSEGV"}),
        (34, "SIGRTMIN", {"proctree.exit.signal": "SIGRTMIN", "error.type": "SIGRTMIN"}),
        (37, "SIGRTMIN+3", {"proctree.exit.signal": "SIGRTMIN+3", "error.type": "SIGRTMIN+3"}),
        (33, "signal 33", {"proctree.exit.signal": "signal 33", "error.type": "signal 33"}),
    ],
)
def test_how_it_ended(status: int, error: str | None, told: dict[str, object]) -> None:
    """By exit code or by signal, never by both; a dumped core is no other signal."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exit(10, 11_000, status)
    span = world.only(10)
    names = ("process.exit.code", "proctree.exit.signal", "error.type")
    assert span.error == error
    assert {name: v for name, v in span.attributes if name in names} == told


def test_it_is_called_by_its_program() -> None:
    """By the last that it began; before any, by its parent's; else as the kernel calls it."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_001, b"/bin/sh")
    world.exec(10, 10_001, b"x" * 1000)
    assert world.placing.live[key(10)].name == "x" * 255
    world.exec(10, 10_002, b"/opt/a b/\xffmake (deleted)")
    world.fork(11, 10, 11_000)
    world.exit(11, 12_000, comm=b"never")
    world.exit(10, 12_000, comm=b"never")
    world.fork(12, ROOT, 13_000)
    world.exit(12, 14_000, comm=b"com\xff")
    assert [span.name for span in world.ended] == ["\ufffdmake", "\ufffdmake", "com\ufffd"]
    assert [attributes(span).get("process.executable.path") for span in world.ended] == [
        "/opt/a b/\ufffdmake", "/opt/a b/\ufffdmake", None,
    ]  # fmt: skip


def test_what_happened_are_events() -> None:
    """exec, with what it was; setsid; setpgid, as it was asked for."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.setsid(10, 10_100)
    world.setpgid(10, 10_200, 0, 10)
    world.exec(10, 10_300, b"/bin/ls")
    world.args(10, 10_301, b"ls", b"-l")
    world.exec(10, 10_400, b"/bin/cat")
    world.exit(10, 11_000)
    span = world.only(10)
    assert events(span) == [
        ("setsid", 10_100, {}),
        ("setpgid", 10_200, {"proctree.setpgid.pid": 0, "proctree.setpgid.pgid": 10}),
        (
            "exec",
            10_300,
            {"process.executable.path": "/bin/ls", "process.command_args": ("ls", "-l")},
        ),
        ("exec", 10_400, {"process.executable.path": "/bin/cat"}),
    ]
    assert "process.command_args" not in attributes(span)


def test_arguments_are_told_only_where_a_target_asks() -> None:
    """Whatever the kernel tells."""
    world = World()
    for pid, slot in ((10, TREE), (11, OTHER)):
        world.fork(pid, ROOT, 10_000, slot=slot)
        world.exec(pid, 10_001, slot=slot)
        world.args(pid, 10_002, b"sh", b"-c", slot=slot)
        world.exit(pid, 11_000, slot=slot)
    told = [attributes(span).get("process.command_args") for span in world.ended]
    assert told == [("sh", "-c"), None]
    assert [attributes(span)["proctree.target"] for span in world.ended] == ["ci", "db"]
    in_events = ["process.command_args" in dict(span.events[0].attributes) for span in world.ended]
    assert in_events == [True, False]


def test_events_of_one_span_are_limited() -> None:
    """What is too much is counted there, and the last program is known all the same."""
    world = World(SpanLimits(events=3))
    world.fork(10, ROOT, 10_000)
    for number in range(100):
        world.exec(10, 10_001 + number, b"/bin/%d" % number)
        world.args(10, 10_001 + number, b"arg%d" % number)
    world.exit(10, 11_000)
    span = world.only(10)
    assert [attributes["process.command_args"] for _, _, attributes in events(span)] == [
        ("arg0",), ("arg1",), ("arg2",),
    ]  # fmt: skip
    assert (span.dropped_events, span.name) == (97, "99")
    assert attributes(span)["process.command_args"] == ("arg99",)


def test_text_is_limited_and_given_back() -> None:
    """Of one span and of all; what finds no room is left out, the name never."""
    world = World(SpanLimits(text=20_000, span_text=6_000))
    room = world.placing.budget.left
    world.fork(10, ROOT, 10_000)
    for number in range(4):  # in one span
        world.exec(10, 10_001 + number, b"/" + b"x" * 2_000 + b"/%d" % number)
    for pid in range(11, 40):  # in all
        world.fork(pid, 10, 10_500)
        world.exec(pid, 10_501, b"/" + b"y" * 2_000 + b"/sh")
        world.args(pid, 10_502, b"z" * 2_000)
        assert world.placing.budget.left >= 0
    assert world.placing.budget.left < 3_000
    for pid in range(10, 40):
        world.exit(pid, 11_000, parent=10)
    first = world.only(10)
    assert (len(first.events), first.dropped_events, first.name) == (2, 2, "3")
    assert {span.name for span in world.ended[1:]} == {"sh"}
    paths = ["process.executable.path" in attributes(span) for span in world.ended]
    assert 0 < sum(paths) < 10
    assert world.placing.budget.left == room


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


def test_open_spans_are_limited() -> None:
    """Who finds no room is counted, and has its span when it ends."""
    world = World(SpanLimits(processes=2))
    for pid in (10, 11, 12, 13):
        world.fork(pid, ROOT, pid * 1000)
    world.exec(12, 20_000)
    world.setsid(12, 20_000)
    world.adopt(20_000, (13, ROOT))
    assert (world.processes.open, world.counted) == (2, [PROCESS_LIMIT] * 2)
    for pid in (12, 13, 10, 11):
        world.exit(pid, 21_000)
    assert [attributes(span)["process.pid"] for span in world.ended] == [12, 13, 10, 11]
    assert {times(span) for span in world.ended} == {(pid * 1000, 21_000) for pid in range(10, 14)}
    assert world.processes.open == 0


def test_at_the_end_all_is_sent() -> None:
    """So that the last part of what lives arrives; it says that the process goes on."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 11_000)
    world.processes.finish(20_000)
    assert [times(span) for span in world.ended] == [(10_000, 20_000), (11_000, 20_000)]
    assert all(attributes(span)["proctree.continued"] is True for span in world.ended)
    assert world.processes.open == 0


def test_a_tree_that_goes_takes_its_spans_along() -> None:
    """No other tree's; a tree of that number would begin a trace of its own."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, ROOT, 11_000, slot=OTHER)
    world.processes.forget(TREE, 20_000)
    assert world.processes.open == 1
    span = world.only(10)
    assert times(span) == (10_000, 20_000)
    assert attributes(span)["proctree.end"] == "unfollowed"
    world.fork(12, ROOT, 21_000)
    world.exit(12, 22_000)
    assert world.only(12).trace_id != span.trace_id
    assert world.only(12).links == ()


@pytest.mark.parametrize("now", [target("ci", SpanWords(syscalls=("openat",))), None])
def test_a_reload_may_turn_them_off(now: Target | None) -> None:
    """Then open ones end at the next tick, and what the kernel still tells makes none."""
    world = World()
    world.fork(10, ROOT, 10_000)
    del world.targets[TREE]
    if now:
        world.targets[TREE] = now
    world.processes.tick(20_000)
    assert attributes(world.only(10))["proctree.end"] == "unfollowed"
    world.fork(11, ROOT, 21_000)
    world.exec(12, 21_000)
    for pid in (10, 11, 12):
        world.exit(pid, 22_000)
    assert (len(world.ended), world.processes.open) == (1, 0)


def test_a_clock_that_is_set_moves_no_end_before_its_begin() -> None:
    """A span lasts as long as by CLOCK_MONOTONIC, from when it began by the time of day then."""
    offset = WALL
    world = World(wall_ns=lambda ns: ns + offset)
    world.fork(10, ROOT, 10_000)
    offset -= 3600 * 10**9
    world.setsid(10, 11_000)
    world.fork(11, 10, 12_000)
    offset += 7200 * 10**9
    world.exit(11, 13_000)
    world.exit(10, 14_000)
    child, parent = world.ended
    assert (times(parent), parent.events[0].time_ns - WALL) == ((10_000, 14_000), 11_000)
    assert (child.end_ns - child.start_ns, child.start_ns) == (1000, 12_000 + WALL - 3600 * 10**9)


def test_parts_do_not_overlap_where_records_are_out_of_order() -> None:
    """What goes on does so where the part before ends."""
    world = World(SpanLimits(spans=8))
    world.fork(10, ROOT, 10_000)
    for number in range(30):
        world.call(10, 10_100 - number)
        world.setsid(10, 10_050 - number)
    world.exit(10, 10_070)
    parts = world.of(10)
    assert len(parts) == 5
    for before, after in pairwise(parts):
        assert before.end_ns == after.start_ns


def test_records_out_of_order_make_no_negative_times() -> None:
    """Two CPUs may differ a little: an exit before the fork is at the fork, or the last event."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.setsid(10, 9_000)
    world.exit(10, 9_500)
    assert (times(world.only(10)), events(world.only(10))) == (
        (10_000, 10_000), [("setsid", 10_000, {})],
    )  # fmt: skip
    world.fork(11, ROOT, 10_000)
    world.setsid(11, 12_000)
    world.exit(11, 11_000)
    assert times(world.only(11)) == (10_000, 12_000)

"""Spans of processes: from fork to exit, each once; what they tell, and how much of it is kept."""

from __future__ import annotations

from itertools import pairwise

import pytest

from exporter.model.spans.processes import PROCESS_LIMIT
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
    traceparent,
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


def test_at_the_end_parents_come_first() -> None:
    """There may be no time for all; spans below them are sent already. The others are counted."""
    world = World()
    for pid in (10, 11, 12):
        world.fork(pid, ROOT, 10_000)
    world.fork(13, 12, 11_000)
    world.exec(11, 11_500)
    world.environ(11, 11_501, traceparent(1, 2, flags=0))  # whose caller wants no spans
    time = iter((True, True, False))
    assert world.processes.finish(20_000, lambda: next(time)) == 1
    assert [attributes(span)["process.pid"] for span in world.ended] == [12, 10]
    assert world.ended[0].end_ns == world.ended[1].end_ns == WALL + 20_000


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

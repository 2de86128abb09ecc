"""Spans of calls: below their process, with what they were and how they ended."""

from __future__ import annotations

import pytest

from exporter.model.spans.ids import Ids
from exporter.model.spans.span import CallSpan
from exporter.model.target import SpanWords
from tests.unit.span_records import (
    CALLS_ONLY,
    GETPID,
    OPENAT,
    ROOT,
    TREE,
    WALL,
    World,
    target,
)

I386 = 1 << 28
UNKNOWN = (1 << 28) - 1
OTHER_CALLS = UNKNOWN - 1


def one(world: World, **how: int | bytes) -> CallSpan:
    span = world.call(10, 20_000, **how)  # type: ignore[arg-type]
    assert span
    return span


def test_a_call_is_below_its_process() -> None:
    """Whichever of its threads made it."""
    world = World()
    world.fork(10, ROOT, 10_000)
    call = one(world, took_ns=5_000, tid=12, path=b"/etc/passwd")
    world.exit(10, 30_000)
    above = world.only(10)
    assert call == CallSpan(
        TREE, above.trace_id, call.span_id, above.span_id, 10, 12, "openat", "",
        WALL + 15_000, WALL + 20_000, "/etc/passwd", "ci", TREE,
    )  # fmt: skip
    assert len(call.span_id) == 8


def test_a_call_without_a_process_is_in_its_trees_trace() -> None:
    """Where there are no spans of processes, or its process had no room."""
    world = World()
    calls = [one(world, slot=slot) for slot in (CALLS_ONLY, CALLS_ONLY, TREE)]
    assert [call.parent_id for call in calls] == [b""] * 3
    assert [call.target for call in calls] == ["calls", "calls", "ci"]
    assert [call.slot for call in calls] == [CALLS_ONLY, CALLS_ONLY, TREE]
    assert calls[0].trace_id == calls[1].trace_id != calls[2].trace_id
    assert len({call.span_id for call in calls}) == 3


def test_calls_of_no_target_are_nobodys() -> None:
    """It was taken off the list while they were told."""
    world = World()
    assert world.call(10, 20_000, slot=99) is None
    world.fork(10, ROOT, 10_000)
    del world.targets[TREE]
    assert world.call(10, 20_000) is None


def test_a_call_that_was_told_before_a_reload_has_its_span() -> None:
    """The kernel tells of what was asked for then; the reader may be behind."""
    world = World()
    world.targets[CALLS_ONLY] = target("calls", SpanWords())
    assert one(world, slot=CALLS_ONLY).target == "calls"


def test_a_call_goes_with_its_process_whatever_slot_it_counts_in() -> None:
    """Calls count for the program where a tree is split by it (group_by): spans are the tree's."""
    world = World()
    world.fork(10, ROOT, 10_000)
    call = one(world, slot=77)
    assert (call.slot, call.target, call.counted) == (TREE, "ci", 77)


@pytest.mark.parametrize(
    ("ret", "code", "error"),
    [
        (0, OPENAT, ""),
        (-2, OPENAT, "ENOENT"),
        (-133, OPENAT, "EHWPOISON"),
        (-4095, OPENAT, "unknown"),
        (-4096, OPENAT, ""),  # an address
        (-(1 << 62), OPENAT, ""),
        *((-restart, OPENAT, "") for restart in (512, 513, 514, 516)),
        (-515, OPENAT, "ENOIOCTLCMD"),
        (-2, 15, ""),  # rt_sigreturn: whatever it restored
        (-2, I386 | 119, ""),  # sigreturn
        (-2, I386 | 15, "ENOENT"),  # there it is chmod
    ],
)
def test_what_is_an_error(ret: int, code: int, error: str) -> None:
    """As errors are counted."""
    assert one(World(), ret=ret, code=code).error == error


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (OPENAT, "openat"),
        (GETPID, "getpid"),
        (I386 | 20, "getpid"),
        (UNKNOWN, "unknown"),
        (OTHER_CALLS, "other"),
    ],
)
def test_its_name_is_of_its_abi(code: int, name: str) -> None:
    """A number means nothing without it."""
    assert one(World(), code=code).syscall == name


def test_hostile_paths() -> None:
    """Any bytes."""
    assert one(World(), path=b"/\xff\x00\xed\xa0\x80").path == "/\ufffd\x00\ufffd\ufffd\ufffd"


def test_a_clock_that_is_set_does_not_lengthen_a_call() -> None:
    """It begins by the offset that held then, and lasts as long as it did."""
    world = World(wall_ns=lambda ns: ns + (WALL if ns < 16_000 else 0))
    call = one(world, took_ns=5_000)
    assert (call.start_ns, call.end_ns) == (WALL + 15_000, WALL + 20_000)


def test_a_call_does_not_end_before_it_begins() -> None:
    """Whatever the clocks of two CPUs say."""
    call = one(World(), took_ns=-5)
    assert call.start_ns == call.end_ns


def test_ids_are_read_in_bulk_and_used_once() -> None:
    """4,096 of them for one system call; none twice."""
    asked: list[int] = []

    def random(size: int) -> bytes:
        asked.append(size)
        first = len(asked) << 32
        return b"".join((first + at).to_bytes(8, "big") for at in range(size // 8))

    ids = Ids(random)
    made = [ids.span() for _ in range(10_000)]
    assert asked == [8 * 4096] * 3
    assert len(set(made)) == 10_000
    assert {len(made_id) for made_id in made} == {8}

"""A process whose environment says so has its spans in the trace of whoever began it."""

from __future__ import annotations

from exporter.model.spans.processes import TRACEPARENT_INVALID
from exporter.model.spans.span import Span
from exporter.model.spans.traces import SpanLimits
from exporter.model.target import SpanWords
from tests.unit.span_records import (
    OTHER,
    ROOT,
    TREE,
    World,
    attributes,
    events,
    target,
    times,
    traceparent,
)

MINUTE = 60 * 10**9
THEIRS = (7).to_bytes(16, "big")  # a trace
CALLER, INNER = (8).to_bytes(8, "big"), (9).to_bytes(8, "big")  # spans in it
JOIN = traceparent(7, 8)
REMOTE = 0x300


def place(span: Span) -> tuple[bytes, bytes]:
    return span.trace_id, span.parent_id


def link(span: Span) -> tuple[bytes, bytes]:
    (only,) = span.links
    return only.trace_id, only.span_id


def test_a_process_joins_with_all_that_it_did() -> None:
    """From its fork on, below the span that is named; its events come along."""
    world = World()
    world.fork(9, ROOT, 9_000)
    world.fork(10, 9, 10_000)
    world.exec(10, 10_100, b"/bin/make")
    world.args(10, 10_100, b"make")
    world.environ(10, 10_100, JOIN)
    world.exit(10, 11_000, parent=9)
    world.exit(9, 12_000)
    span, outside = world.ended
    assert place(span) == (THEIRS, CALLER)
    assert (times(span), span.links, span.flags) == ((10_000, 11_000), (), 1 | REMOTE)
    assert [(name, time_ns) for name, time_ns, _ in events(span)] == [("exec", 10_100)]
    assert attributes(span)["process.command_args"] == ("make",)
    assert attributes(span)["process.parent_pid"] == 9
    assert place(outside) != (THEIRS, CALLER)
    assert outside.flags == 1


def test_who_is_born_later_is_in_it_too() -> None:
    """Below its own parent, though its environment names the caller again; calls as well."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    world.fork(11, 10, 11_000)
    world.exec(11, 11_100)
    world.environ(11, 11_100, JOIN)
    call = world.call(11, 11_200)
    world.fork(12, 11, 12_000)
    world.processes.finish(13_000)
    top, child, grandchild = world.ended
    assert [place(span) for span in world.ended] == [
        (THEIRS, CALLER), (THEIRS, top.span_id), (THEIRS, child.span_id),
    ]  # fmt: skip
    assert [span.flags for span in world.ended] == [1 | REMOTE, 1, 1]
    assert grandchild.links == ()
    assert call and (call.trace_id, call.parent_id) == (THEIRS, child.span_id)


def test_a_program_may_name_another_parent() -> None:
    """Below that, then: whoever began it has made a span of its own for it."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    world.fork(11, 10, 11_000)
    world.exec(11, 11_100)
    world.environ(11, 11_100, traceparent(7, 9))
    world.processes.finish(12_000)
    assert [place(span) for span in world.ended] == [(THEIRS, CALLER), (THEIRS, INNER)]


def test_what_stands_below_a_span_is_not_left_alone() -> None:
    """A process that had children or calls goes on in the other trace, linked."""
    for below in ("fork", "call"):
        world = World()
        world.fork(10, ROOT, 10_000)
        if below == "fork":
            world.fork(11, 10, 10_500)
        else:
            world.call(10, 10_500)
        world.exec(10, 11_000, b"/bin/make")
        world.environ(10, 11_000, JOIN)
        world.processes.finish(13_000)
        first, second = world.of(10)
        assert (times(first), times(second)) == ((10_000, 11_000), (11_000, 13_000))
        assert attributes(first)["proctree.continued"] is True
        assert link(second) == (first.trace_id, first.span_id)
        assert place(second) == (THEIRS, CALLER)
        assert first.trace_id != THEIRS
        below_id = world.only(11).parent_id if below == "fork" else world.called[0].parent_id
        assert below_id == first.span_id


def test_the_first_span_of_a_trace_stays_where_a_later_one_is_linked_to_it() -> None:
    """It is split then, like one with children."""
    world = World(SpanLimits(spans=8))
    for pid in range(10, 20):
        world.fork(pid, ROOT, pid * 1000)
    world.exec(10, 30_000)
    world.environ(10, 30_000, JOIN)
    world.processes.finish(31_000)
    first, second = world.of(10)
    assert place(second) == (THEIRS, CALLER)
    assert link(world.only(19)) == (first.trace_id, first.span_id)


def test_an_older_process_joins_with_its_next_program() -> None:
    """What it did before stays where it was."""
    world = World()
    world.adopt(10_000, (10, ROOT))
    world.exec(10, 11_000)
    world.environ(10, 11_000, JOIN)
    world.processes.finish(12_000)
    first, second = world.of(10)
    assert place(second) == (THEIRS, CALLER)
    assert link(second) == (first.trace_id, first.span_id)


def test_who_is_not_sampled_has_no_spans() -> None:
    """Nor has what it makes: that was the caller's wish, so nothing counts it."""
    world = World()
    world.fork(9, ROOT, 9_000)
    world.fork(10, 9, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, traceparent(7, 8, flags=0))
    world.fork(11, 10, 11_000)
    assert world.call(11, 11_500) is None
    world.processes.tick(20 * MINUTE)
    world.exit(11, 20 * MINUTE, parent=10)
    world.exit(10, 20 * MINUTE, parent=9)
    world.exit(9, 20 * MINUTE)
    assert {attributes(span)["process.pid"] for span in world.ended} == {9}
    assert (world.counted, world.processes.open) == ([], 0)


def test_a_part_that_was_sent_stays_without_its_next() -> None:
    """Of a process that joins what is not sampled; once it is sampled again, nothing is linked."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.fork(11, 10, 10_500)
    for time_ns, flags in ((11_000, 0), (12_000, 1)):
        world.exec(10, time_ns)
        world.environ(10, time_ns, traceparent(7, 8, flags))
    world.processes.finish(13_000)
    first, second = world.of(10)
    assert (times(first), times(second)) == ((10_000, 11_000), (12_000, 13_000))
    assert (place(second), second.links) == ((THEIRS, CALLER), ())


def test_rubbish_is_ignored_and_counted() -> None:
    """Once for each program; and it does not take a process out of the trace that it is in."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    for time_ns, value in ((10_200, b"\xff"), (10_300, b""), (10_400, JOIN[:-1])):
        world.exec(10, time_ns)
        world.environ(10, time_ns, value)
    world.exit(10, 11_000)
    assert world.counted == [TRACEPARENT_INVALID] * 3
    assert place(world.only(10)) == (THEIRS, CALLER)


def test_only_a_target_that_asks_joins() -> None:
    """Whatever the kernel tells."""
    world = World()
    world.fork(10, ROOT, 10_000, slot=OTHER)
    world.exec(10, 10_100, slot=OTHER)
    world.environ(10, 10_100, JOIN, slot=OTHER)
    world.processes.finish(11_000)
    assert world.only(10).trace_id != THEIRS


def test_a_joined_trace_keeps_its_id_when_it_is_old() -> None:
    """It is not ours to end: only the spans begin anew, below the same parents."""
    world = World()
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    world.fork(11, 10, 11_000)
    world.processes.tick(15 * MINUTE + 10_000)
    world.processes.finish(20 * MINUTE)
    (first, second), (child, later) = world.of(10), world.of(11)
    assert place(first) == place(second) == (THEIRS, CALLER)
    assert first.span_id != second.span_id
    assert link(second) == (THEIRS, first.span_id)
    assert place(child) == (THEIRS, first.span_id)
    assert place(later) == (THEIRS, second.span_id)
    assert [span.flags for span in (second, later)] == [1 | REMOTE, 1]


def test_a_joined_trace_goes_on_in_ours_when_it_is_full() -> None:
    """Whoever joins it later counts with it, and the caller's trace is never more than full."""
    world = World(SpanLimits(spans=10))
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    for pid in range(11, 20):
        world.fork(pid, 10, pid * 1000)
        world.exit(pid, pid * 1000 + 1, parent=10)
    world.fork(20, 10, 20_000)
    for pid in range(30, 34):  # not its children
        world.fork(pid, ROOT, pid * 1000)
        world.exec(pid, pid * 1000)
        world.environ(pid, pid * 1000, JOIN)
        world.exit(pid, pid * 1000 + 1)
    world.processes.finish(50_000)
    first, second = world.of(10)
    assert place(first) == (THEIRS, CALLER)
    assert second.parent_id == b""
    assert second.trace_id not in (THEIRS, world.placing.chains.of(TREE).at(50_000).id)
    assert link(second) == (THEIRS, first.span_id)
    assert place(world.only(20)) == (second.trace_id, second.span_id)
    assert sum(span.trace_id == THEIRS for span in world.ended) == 10
    assert {world.only(pid).trace_id for pid in range(30, 34)} == {second.trace_id}


def test_programs_in_a_row_count_together() -> None:
    """Though none of them lives when the next one joins; a thousand other traces later, no more."""
    world = World(SpanLimits(spans=8))

    def run(pid: int, environ: bytes) -> bytes:
        world.fork(pid, ROOT, pid * 1000)
        world.exec(pid, pid * 1000)
        world.environ(pid, pid * 1000, environ)
        world.exit(pid, pid * 1000 + 1)
        return world.ended[-1].trace_id

    traces = [run(pid, JOIN) for pid in range(10, 20)]
    assert traces.count(THEIRS) == 8
    assert traces[8] == traces[9] != THEIRS
    for other in range(1025):
        run(100 + other, traceparent(1000 + other, 8))
    assert run(2000, JOIN) == THEIRS
    assert world.processes.open == 0


def test_a_trace_that_is_in_use_is_not_forgotten() -> None:
    """Though nobody was in it for a while, and a thousand others have come since."""
    world = World(SpanLimits(spans=8))
    for pid in (10, 11):
        world.fork(pid, ROOT, pid * 1000)
        world.exec(pid, pid * 1000)
        world.environ(pid, pid * 1000, JOIN)
        if pid == 10:
            world.exit(10, 10_001)
    for other in range(1025):
        world.fork(100 + other, ROOT, 20_000)
        world.exec(100 + other, 20_000)
        world.environ(100 + other, 20_000, traceparent(1000 + other, 8))
        world.exit(100 + other, 20_000)
    for pid in range(20, 30):
        world.fork(pid, ROOT, 30_000)
        world.exec(pid, 30_000)
        world.environ(pid, 30_000, JOIN)
    world.processes.finish(40_000)
    assert sum(span.trace_id == THEIRS for span in world.ended) == 8


def test_traces_that_were_left_are_forgotten() -> None:
    """A program that names a new one with each exec fills no memory, nor its tree's trace."""
    world = World(SpanLimits(spans=8))
    world.fork(9, ROOT, 9_000)
    world.fork(10, 9, 10_000)
    for number in range(3000):
        world.exec(10, 11_000)
        world.environ(10, 11_000, traceparent(1000 + number, 8))
    assert len(list(world.placing.chains)) <= 1026
    for pid in range(20, 27):
        world.fork(pid, 9, 12_000)
    world.processes.finish(13_000)
    assert {span.trace_id for span in world.of(9)} == {world.only(26).trace_id}


def test_another_tree_does_not_inherit() -> None:
    """A joined process that moves is in that tree's trace, until its environment says it again."""
    world = World()
    world.targets[OTHER] = target("db", SpanWords(processes=True, traceparent=True))
    world.fork(10, ROOT, 10_000)
    world.exec(10, 10_100)
    world.environ(10, 10_100, JOIN)
    world.fork(11, 10, 10_500, slot=OTHER)
    world.exec(10, 11_000, slot=OTHER)
    world.exec(10, 12_000, slot=OTHER)
    world.environ(10, 12_000, JOIN, slot=OTHER)
    world.processes.finish(13_000)
    assert [span.trace_id == THEIRS for span in world.of(10)] == [True, False, True]
    assert world.only(11).trace_id != THEIRS

"""Lives at random, of which the kernel tells a part: each process has its spans, come what may."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from exporter.model.spans.span import Span
from exporter.model.spans.traces import SpanLimits
from tests.unit.span_records import (
    ALL,
    ROOT,
    TREE,
    WALL,
    World,
    attributes,
    key,
    target,
    traceparent,
)

LIMITS = SpanLimits(spans=10, age_ns=1000, processes=12, text=3000, span_text=600, events=4)
STEP = 100  # a tick comes at least so often
CALLERS = {(n).to_bytes(8, "big") for n in range(1, 4)}
THEIRS = {(n).to_bytes(16, "big") for n in range(1, 4)}

mostly = st.integers(0, 5).map(bool)  # that the kernel's word finds room in the ring
a_while = st.integers(0, STEP)


@dataclass
class Life:
    """A process as it really is."""

    pid: int
    parent: int
    slot: int


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(LIMITS)
        self.now = 100_000
        self.other = 100  # the slot of a second tree, which comes and goes
        self.world.targets = {TREE: target("ci", ALL), self.other: target("db", ALL)}
        self.next_pid = 10
        self.lives: dict[int, Life] = {}
        self.heard: set[int] = set()  # PIDs that must have spans
        self.muted: set[int] = set()  # that may have none: they were in a trace nobody wants

    def pass_(self, ns: int) -> None:
        self.now += ns
        self.world.processes.tick(self.now)

    def pick(self, data: st.DataObject) -> Life:
        return self.lives[data.draw(st.sampled_from(sorted(self.lives)))]

    def hear(self, pid: int) -> None:
        """Something was told of it: it has a span now, if there was room."""
        live = self.world.placing.live.get(key(pid))
        if live:
            self.must_have(pid, muted=live.chain.muted)

    def must_have(self, pid: int, *, muted: bool) -> None:
        if muted:
            self.muted.add(pid)
            self.heard.discard(pid)
        else:
            self.heard.add(pid)

    @rule(data=st.data(), ns=a_while, told=mostly, apart=st.integers(0, 9))
    def fork(self, data: st.DataObject, ns: int, told: bool, apart: int) -> None:
        self.pass_(ns)
        above = self.pick(data) if self.lives and data.draw(mostly) else None
        slot = self.other if apart == 0 else above.slot if above else TREE
        life = Life(self.next_pid, above.pid if above else ROOT, slot)
        self.next_pid += 1
        self.lives[life.pid] = life
        if told:
            self.world.fork(life.pid, life.parent, self.now, slot=slot)
            self.hear(life.pid)

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), ns=a_while, told=mostly, joins=st.integers(0, 11), long=st.booleans())
    def exec(self, data: st.DataObject, ns: int, told: bool, joins: int, long: bool) -> None:
        self.pass_(ns)
        life = self.pick(data)
        if not told:
            return
        path = b"/bin/" + (b"x" * 200 if long else b"sh")
        self.world.exec(life.pid, self.now, path, slot=life.slot)
        self.hear(life.pid)
        self.world.args(life.pid, self.now, b"sh", b"-c", slot=life.slot)
        if 1 <= joins <= 3:
            value = traceparent(joins, 4 - joins, flags=data.draw(mostly))
            self.world.environ(life.pid, self.now, value, slot=life.slot)
        elif joins == 4:
            self.world.environ(life.pid, self.now, b"00-\xff", slot=life.slot)
        self.hear(life.pid)

    @precondition(lambda self: self.lives)
    @rule(
        data=st.data(), ns=a_while, told=mostly, status=st.sampled_from([0, 256, 9]),
        early=st.integers(0, 20),
    )  # fmt: skip
    def exit(self, data: st.DataObject, ns: int, told: bool, status: int, early: int) -> None:
        self.pass_(ns)
        life = self.lives.pop(self.pick(data).pid)
        for other in self.lives.values():
            if other.parent == life.pid:
                other.parent = ROOT
        if not told:
            return
        live = self.world.placing.live
        of = live.get(key(life.pid))
        time_ns = self.now - early if of else self.now
        of = of or live.get(key(life.parent))
        # The parent's trace matters where nothing was told before.
        self.must_have(life.pid, muted=of is not None and of.chain.muted)
        self.world.exit(life.pid, time_ns, status, life.parent, slot=life.slot)

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), ns=a_while, number=st.integers(1, 15), took=st.integers(0, 5000))
    def calls(self, data: st.DataObject, ns: int, number: int, took: int) -> None:
        self.pass_(ns)
        life = self.pick(data)
        for _ in range(number):
            self.world.call(life.pid, self.now, took, slot=life.slot)

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), ns=a_while)
    def session(self, data: st.DataObject, ns: int) -> None:
        self.pass_(ns)
        self.world.setsid(self.pick(data).pid, self.now)

    @precondition(lambda self: self.lives)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """Into another cgroup: of which nobody is told."""
        life = self.pick(data)
        life.slot = self.other if life.slot == TREE else TREE

    @rule(ns=a_while)
    def list_all(self, ns: int) -> None:
        """As the service does now and then."""
        self.pass_(ns)
        for slot in (TREE, self.other):
            pairs = [(life.pid, life.parent) for life in self.lives.values() if life.slot == slot]
            self.world.adopt(self.now, *pairs, slot=slot)
        alive = {key(life.pid): life.slot for life in self.lives.values()}
        self.world.processes.reconcile(alive, self.now)
        for pid in self.lives:
            self.hear(pid)

    @rule(steps=st.integers(1, 30))
    def wait(self, steps: int) -> None:
        for _ in range(steps):
            self.pass_(STEP)

    @rule()
    def forget(self) -> None:
        """A target is listed no more, and another one is."""
        self.world.processes.forget(self.other, self.now)
        del self.world.targets[self.other]
        self.lives = {p: life for p, life in self.lives.items() if life.slot != self.other}
        self.other += 1
        self.world.targets[self.other] = target("db", ALL)

    def teardown(self) -> None:
        assert self.world.processes.open <= LIMITS.processes
        self.world.processes.finish(self.now)
        assert self.world.processes.open == 0
        assert self.world.placing.budget.left == LIMITS.text
        assert all(chain.living == 0 for chain in self.world.placing.chains)
        self.no_trace_is_too_large()
        self.what_is_named_is_there()
        parts = defaultdict(list)
        for span in self.world.ended:
            self.times_are_right(span)
            parts[attributes(span)["process.pid"]].append(span)
        assert self.heard <= parts.keys() <= self.heard | self.muted
        for pid, of_one in parts.items():
            self.parts_follow_each_other(of_one, all_sent=pid not in self.muted)

    def no_trace_is_too_large(self) -> None:
        """Those of callers count for each tree, and for each set of flags."""
        every = [*self.world.ended, *self.world.called]
        assert len({span.span_id for span in every}) == len(every)
        sizes = Counter((span.trace_id, span.slot) for span in every)
        assert max(sizes.values(), default=0) <= LIMITS.spans
        traces = Counter(trace for trace, _ in sizes if trace not in THEIRS)
        assert max(traces.values(), default=1) == 1

    def what_is_named_is_there(self) -> None:
        """In the same trace a parent, or a caller; anywhere what a link is to."""
        every = [*self.world.ended, *self.world.called]
        there = {(span.trace_id, span.span_id) for span in every}
        processes = {(span.trace_id, span.span_id) for span in self.world.ended}
        for span in every:
            if span.parent_id in CALLERS:
                assert span.trace_id in THEIRS
            elif span.parent_id:
                assert (span.trace_id, span.parent_id) in processes
        for span in self.world.ended:
            assert {(link.trace_id, link.span_id) for link in span.links} <= there

    def times_are_right(self, span: Span) -> None:
        """It may be as old as its trace twice, where it came late into one."""
        assert WALL <= span.start_ns <= span.end_ns
        assert span.end_ns - span.start_ns <= 2 * LIMITS.age_ns + STEP
        assert all(span.start_ns <= event.time_ns <= span.end_ns for event in span.events)
        assert len(span.events) <= LIMITS.events

    def parts_follow_each_other(self, parts: list[Span], all_sent: bool) -> None:
        """One after the other; and where a process went on, linked."""
        for before, after in pairwise(parts):
            assert before.end_ns <= after.start_ns
            told = dict(before.attributes)
            assert told.keys() & {"proctree.continued", "proctree.end"}
            lives = "proctree.continued" in told or told["proctree.end"] == "moved"
            if all_sent and lives:
                (link,) = after.links
                assert (link.trace_id, link.span_id) == (before.trace_id, before.span_id)


MachineTest = Machine.TestCase
MachineTest.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)

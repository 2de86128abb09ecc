"""Where the spans of processes go: into which trace, and below which span."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from exporter.kernel.records import ProcessKey
from exporter.model.spans.endings import CONTINUED, Ending
from exporter.model.spans.ids import Ids
from exporter.model.spans.parts import LiveProcess, Part
from exporter.model.spans.span import Link, Span
from exporter.model.spans.text import TextBudget
from exporter.model.spans.traces import Chains, Joined, SpanLimits, Trace
from exporter.model.target import Target

#: The target of a slot, as the config has it now, also of one that `group_by` has split off; None
#: where it has none: what is told of it then is nobody's.
TargetOf = Callable[[int], Target | None]


class SpanClock(NamedTuple):
    """From CLOCK_MONOTONIC to the time of day, and from the time since boot to CLOCK_MONOTONIC."""

    wall_ns: Callable[[int], int]
    boot_to_monotonic: Callable[[int], int]


class Placing:
    """The processes that are alive, each with its open span; `done` gets those that have ended."""

    def __init__(
        self, done: Callable[[Span], None], target_of: TargetOf, clock: SpanClock, ids: Ids,
        limits: SpanLimits,
    ) -> None:  # fmt: skip
        self.live: dict[ProcessKey, LiveProcess] = {}
        self.target_of, self.limits = target_of, limits
        self.chains = Chains(ids, limits)
        self.budget = TextBudget(limits.text)
        self._done, self.clock, self._ids = done, clock, ids

    def born_ns(self, key: ProcessKey) -> int:
        """When a process was made, by CLOCK_MONOTONIC."""
        return self.clock.boot_to_monotonic(key.start_ns)

    def begin(
        self, slot: int, target: str, key: ProcessKey, time_ns: int, parent: ProcessKey, *,
        whole: bool, links: tuple[Link, ...] = (),
    ) -> LiveProcess:  # fmt: skip
        """A process has a span from now on; `whole`: since its birth. `links`: to earlier ones."""
        above = self.live.get(parent)
        if above and above.slot == slot:
            chain, joined, trace = above.chain, above.joined, self.place(above, time_ns)
        else:
            chain, joined = self.chains.of(slot), None
            trace = chain.at(time_ns)
        process = LiveProcess(key, slot, parent, target, chain, time_ns, joined=joined)
        self.live[key] = process
        self._open(process, trace, time_ns, whole, links)
        return process

    def place(self, process: LiveProcess, now_ns: int) -> Trace:
        """The trace of a process, where one more span below it has room: else it goes on in another
        one."""
        trace = process.part.trace
        if not process.chain.takes(trace, now_ns):
            trace = self.go_on(process, now_ns, more=1)
        return trace

    def go_on(self, process: LiveProcess, now_ns: int, more: int = 0) -> Trace:
        """The span of a process ends, and another begins in the trace of now, which has room for so
        many more; its ancestors come along."""
        trace = process.chain.at(now_ns)
        line = self._line(process, trace)
        while len(line) + more > trace.room:
            trace = process.chain.next(now_ns)
            line = self._line(process, trace)
        trace.spare -= max(len(line) - 1, 0)
        for one in reversed(line):
            earlier = self.close(one, now_ns, CONTINUED)
            self._open(one, trace, one.moment(now_ns), False, earlier)
        return trace

    def _line(self, process: LiveProcess, trace: Trace) -> list[LiveProcess]:
        """It and those above it that are not in a trace yet: as many as the trace has to spare."""
        found: list[LiveProcess] = []
        one: LiveProcess | None = process
        while one and one.part.trace is not trace and len(found) <= trace.spare:
            found.append(one)
            one = self._above(one, trace)
        return found

    def _above(self, process: LiveProcess, trace: Trace) -> LiveProcess | None:
        """Whose span is above its own in a trace."""
        found = self.live.get(process.parent)
        below = found and found.chain is process.chain and not process.entry_of(trace)
        return found if below else None

    def _open(
        self, process: LiveProcess, trace: Trace, time_ns: int, whole: bool, links: tuple[Link, ...]
    ) -> None:
        span_id = self._ids.span()
        wall_ns = self.clock.wall_ns(time_ns)
        entry = process.entry_of(trace)
        process.part = Part(trace, span_id, entry, time_ns, wall_ns, links, whole, first=not links)
        self.hang(process)
        if not (process.part.parent_id or links) and trace.earlier:
            process.part.links = (trace.earlier,)
        trace.began_ns = min(trace.began_ns, time_ns)
        trace.take(span_id)
        process.chain.enter(trace, process.key)

    def hang(self, process: LiveProcess) -> None:
        """Puts the open span of a process below its parent's, if that is in the same trace; else it
        stays where it is, maybe below an earlier part of that."""
        part = process.part
        above = self._above(process, part.trace)
        if above and above.part.trace is part.trace:
            part.parent_id = above.part.span_id
            above.part.referenced = True

    def starts_at(self, process: LiveProcess, time_ns: int) -> None:
        """Its span begins earlier than was known."""
        part = process.part
        part.began_ns, part.start_ns = time_ns, self.clock.wall_ns(time_ns)

    def close(self, process: LiveProcess, time_ns: int, ending: Ending) -> tuple[Link, ...]:
        """Ends the open span of a process, and gives the link to it, if it was sent."""
        part, chain = process.part, process.chain
        chain.leave(part.trace, process.key)
        self.budget.give_back(part.kept)
        if chain.muted:
            return ()
        created = 0 if part.whole else self.clock.wall_ns(self.born_ns(process.key))
        self._done(process.span(created, time_ns, ending))
        return (Link(part.trace.id, part.span_id),)

    def end(self, process: LiveProcess, time_ns: int, ending: Ending) -> tuple[Link, ...]:
        """The same; it is followed no more."""
        link = self.close(process, time_ns, ending)
        self.budget.give_back(process.kept)
        del self.live[process.key]
        self.chains.left(process.chain)
        return link

    def join(self, process: LiveProcess, joined: Joined, now_ns: int) -> None:
        """From now on a process and those that it makes have their spans in a trace of others.

        So has all that it did since its birth, unless there are spans below it in the old trace.
        """
        part, before = process.part, process.chain
        after = self.chains.join(process.slot, joined)
        links: tuple[Link, ...] = ()
        whole = part.whole and not part.referenced and not part.trace.links_to(part.span_id)
        if whole:
            before.leave(part.trace, process.key)
            part.trace.give_back(part.span_id)
        else:
            links = self.close(process, now_ns, CONTINUED)
        process.chain, process.joined, process.entry = after, joined, joined[1]
        trace = after.at(now_ns)
        self._open(process, trace, part.began_ns if whole else process.moment(now_ns), whole, links)
        if whole:
            new = process.part
            new.events, new.dropped_events = part.events, part.dropped_events
            new.last_ns, new.kept = part.last_ns, part.kept
        self.chains.left(before)

"""The thread between the kernel's ring and the queue: from what is told to encoded spans."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice

from exporter.kernel.clock import Clock
from exporter.kernel.records import ProcessKey
from exporter.kernel.span_events import Called, Record, SpanEvents
from exporter.model.names import Names
from exporter.model.resource import Resource
from exporter.model.spans.calls import CallSpans
from exporter.model.spans.ids import Ids
from exporter.model.spans.listing import ListFollowed, untold
from exporter.model.spans.placing import Placing, SpanClock
from exporter.model.spans.processes import PROCESS_LIMIT, TRACEPARENT_INVALID, ProcessSpans
from exporter.model.spans.redact import redact
from exporter.model.spans.span import CallSpan, Span
from exporter.model.spans.traceparent import joined_by
from exporter.model.spans.traces import SpanLimits
from exporter.publish.otlp.queue import SpanQueue
from exporter.publish.otlp.traces import encode, encode_call
from exporter.telemetry.known import Owners
from exporter.telemetry.waiting import Waiting

log = logging.getLogger(__name__)

_WAIT_S = 1.0
_BATCH_S = 0.05  # after the first event of many, so that there are fewer wake-ups
_LIST_EVERY_NS = 15 * 10**9
_SECOND_NS = 10**9
_PIECE = 128  # records, or spans, between two looks at the clock
_END_ONE_NS = 50_000  # to end the span of one process, on a busy machine
_LEAST_FOR_ENDS, _MOST_FOR_ENDS = 0.3, 0.6  # of the time to end


class SpanThread:
    """`list_processes` are all that are followed; `note` is told of each call that was queued."""

    def __init__(
        self, events: SpanEvents, queue: SpanQueue, owners: Owners, limits: SpanLimits,
        list_processes: ListFollowed, note: Callable[[CallSpan], None], hold_back_ns: int,
    ) -> None:  # fmt: skip
        self._events, self._queue, self._owners = events, queue, owners
        self._list_processes, self._note = list_processes, note
        self._clock, ids = Clock(), Ids()
        clock = SpanClock(self._clock.wall_ns, self._clock.boot_to_monotonic)
        self._placing = placing = Placing(self._ended, owners.target_of, clock, ids, limits)
        self._refused = {TRACEPARENT_INVALID: 0, PROCESS_LIMIT: 0}
        self._processes = ProcessSpans(
            placing, redact, joined_by, self._refuse, time.monotonic_ns()
        )
        self._calls = CallSpans(placing, ids, Names())
        self._waiting = Waiting(lambda slot: owners.of(slot) is not None, hold_back_ns)
        self._made: list[tuple[Resource, bytes]] = []
        self._ticked_ns = self._listed_ns = 0
        self._stopping = False
        self._end_by_ns = sys.maxsize
        self._for_ends_ns = (0, 0)  # of that, at least and at most
        self._left: Iterator[Record] | None = None  # what there was no time to learn
        self.unsent = 0  # spans, or what would have become one, that found no time at the end
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)

    def start(self) -> None:
        """Who is there now has a span when this returns."""
        self._guarded(self._once)
        self._thread.start()

    def stop(self, deadline_ns: int) -> None:
        """Back by the deadline (monotonic). What was told until now is queued, and what goes on, as
        far as it came; what there is no time for is in `unsent`."""
        limit_ns = deadline_ns - time.monotonic_ns()
        self._for_ends_ns = int(limit_ns * _LEAST_FOR_ENDS), int(limit_ns * _MOST_FOR_ENDS)
        self._end_by_ns = deadline_ns
        self._stopping = True
        self._events.wake()
        self.is_done(max(0.0, limit_ns / 1e9))

    def is_done(self, wait_s: float) -> bool:
        """Whether `unsent` is all, within so long."""
        if self._thread.ident:
            self._thread.join(wait_s)
        return not self._thread.is_alive()

    def refused(self) -> dict[str, int]:
        return {**self._refused, "held_back": self._waiting.lost}

    def _run(self) -> None:
        while not self._stopping:
            self._guarded(self._once)
            if self._events.wait(_WAIT_S) and not self._stopping:
                time.sleep(_BATCH_S)
        self._guarded(self._take_last)
        known = set(self._placing.live)
        self._guarded(self._end_open)
        self._guarded(partial(self._count_left, known))

    def _guarded(self, work: Callable[[], None]) -> None:
        """A record that cannot be understood costs what was taken with it, and not the thread."""
        try:
            work()
        except Exception:
            log.exception("spans: an error of ours")

    def _once(self) -> None:
        now_ns = time.monotonic_ns()
        due = now_ns - self._ticked_ns >= _SECOND_NS
        if due:
            self._clock.tick()
        self._take(now_ns)
        if due and not self._stopping:
            self._ticked_ns = now_ns
            self._waiting.give_up(now_ns)
            self._processes.tick(now_ns)
            for slot in self._owners.refresh():
                self._processes.forget(slot, now_ns)
        self._put([])

    def _take(self, now_ns: int) -> None:
        """What was told is learnt, in its order. Who is new to us and old is looked for before: so
        that there is a parent for what it made since."""
        records = self._told(now_ns)
        while True:
            piece = list(islice(records, _PIECE))
            if self._is_listing_due(now_ns):
                self._listed_ns = now_ns
                told = [*piece, *records]
                self._guarded(partial(self._look_around, told))
                records = iter(told)
                continue
            if piece and self._is_late():
                self._left = chain(piece, records)
                return
            self._learn(piece)
            if len(piece) < _PIECE:
                return

    def _is_late(self) -> bool:
        """What is open needs the rest of the time."""
        least_ns, most_ns = self._for_ends_ns
        ends_ns = min(max(self._processes.open * _END_ONE_NS, least_ns), most_ns)
        return time.monotonic_ns() + ends_ns >= self._end_by_ns

    def _told(self, now_ns: int) -> Iterator[Record]:
        """Since the last time, of trees that have a name."""
        return self._waiting.sift(self._events.take(), now_ns)

    def _is_listing_due(self, now_ns: int) -> bool:
        since_ns = now_ns - self._listed_ns
        return since_ns >= _LIST_EVERY_NS or (since_ns >= _SECOND_NS and self._owners.take_news())

    def _look_around(self, told: list[Record]) -> None:
        """Who was there before, and who is gone though nobody said so; but for those who are told
        of, here or until all are listed: what comes until then is added."""
        now_ns = time.monotonic_ns()
        found = self._list_processes(self._placing.live.__contains__)
        told += self._told(now_ns)
        self._processes.reconcile({listed.key: listed.slot for listed in found}, now_ns)
        wanted = [listed for listed in untold(found, told) if self._has_spans(listed.slot)]
        self._processes.adopt(wanted, now_ns)

    def _has_spans(self, slot: int) -> bool:
        target = self._owners.target_of(slot)
        return target is not None and target.spans.processes

    def _learn(self, records: list[Record]) -> None:
        calls: list[CallSpan] = []
        for record in records:
            if type(record) is Called:
                span = self._calls.span(record)
                if span:
                    calls.append(span)
            else:
                self._processes.learn(record)
        self._put(calls)

    def _take_last(self) -> None:
        self._clock.tick()
        now_ns = time.monotonic_ns()
        if self._left is None:
            self._take(now_ns)
        else:
            self._left = chain(self._left, self._told(now_ns))

    def _end_open(self) -> None:
        """Before anything else that is late: there are spans below them that are sent already."""
        self.unsent += self._processes.finish(time.monotonic_ns(), self._has_time)
        self._put([])

    def _has_time(self) -> bool:
        if len(self._made) >= _PIECE:
            self._put([])
        return time.monotonic_ns() < self._end_by_ns

    def _count_left(self, known: set[ProcessKey]) -> None:
        """A call is a span, and so is a process of which nothing was known."""
        for record in self._left or ():
            if type(record) is Called:
                self.unsent += 1
            elif record.key not in known:
                known.add(record.key)
                self.unsent += 1
        self._waiting.give_up(sys.maxsize)

    def _ended(self, span: Span) -> None:
        owner = self._owners.of(span.slot)
        if owner:
            self._made.append((owner.resource, encode(span)))

    def _put(self, calls: list[CallSpan]) -> None:
        """Spans of processes first: they are few, and those of calls are below them."""
        made, self._made = self._made, []
        owners = self._owners
        items = [
            (owner.resource, encode_call(span))
            for span in calls
            if (owner := owners.of(span.slot))
        ]  # fmt: skip
        if made:
            self._queue.put_many(made)
        for span in calls[: self._queue.put_many(items)] if items else ():
            self._note(span)

    def _refuse(self, reason: str) -> None:
        self._refused[reason] += 1

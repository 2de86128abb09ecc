"""The thread between the kernel's ring and the queue: from what is told to encoded spans."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable

from exporter.kernel.clock import Clock
from exporter.kernel.span_events import Called, SpanEvents
from exporter.model.names import Names
from exporter.model.resource import Resource
from exporter.model.spans.calls import CallSpans
from exporter.model.spans.ids import Ids
from exporter.model.spans.listing import ListFollowed
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
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)

    def start(self) -> None:
        """Who is there now has a span when this returns."""
        self._guarded(self._once)
        self._thread.start()

    def stop(self, limit_s: float) -> None:
        """What was told until now is queued, and what goes on, as far as it came."""
        self._stopping = True
        self._events.wake()
        self._thread.join(limit_s)
        if self._thread.is_alive():
            log.warning("spans: not all that was told could be made into spans before the end")

    def refused(self) -> dict[str, int]:
        return {**self._refused, "held_back": self._waiting.lost}

    def _run(self) -> None:
        while not self._stopping:
            self._guarded(self._once)
            if self._events.wait(_WAIT_S) and not self._stopping:
                time.sleep(_BATCH_S)
        self._guarded(self._finish)

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
            if now_ns - self._listed_ns >= _LIST_EVERY_NS or self._owners.take_news():
                self._listed_ns = now_ns
                self._look_around()
        self._take(now_ns)
        if due:
            self._ticked_ns = now_ns
            self._waiting.give_up(now_ns)
            self._processes.tick(now_ns)
            for slot in self._owners.refresh():
                self._processes.forget(slot, now_ns)
        self._put([])

    def _take(self, now_ns: int) -> None:
        calls: list[CallSpan] = []
        for record in self._waiting.sift(self._events.take(), now_ns):
            if type(record) is Called:
                span = self._calls.span(record)
                if span:
                    calls.append(span)
            else:
                self._processes.learn(record)
        self._put(calls)

    def _look_around(self) -> None:
        """Who was there before, and who is gone though nobody said so."""
        now_ns = time.monotonic_ns()
        found = self._list_processes(self._placing.live.__contains__)
        self._processes.reconcile({listed.key: listed.slot for listed in found}, now_ns)
        self._processes.adopt([one for one in found if self._has_spans(one.slot)], now_ns)

    def _has_spans(self, slot: int) -> bool:
        target = self._owners.target_of(slot)
        return target is not None and target.spans.processes

    def _finish(self) -> None:
        now_ns = time.monotonic_ns()
        self._clock.tick()
        self._take(now_ns)
        self._waiting.give_up(sys.maxsize)
        self._processes.finish(now_ns)
        self._put([])

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

"""Everything that goes out by OTLP: put together, begun, and ended within its time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from exporter import __version__
from exporter.kernel.span_events import SpanEvents
from exporter.model.losses import SPANS, TOKEN_BUCKET, UNSENT, Losses
from exporter.model.resource import Place, Resource
from exporter.model.snapshot import Snapshot
from exporter.model.spans.listing import ListFollowed
from exporter.model.spans.processes import PROCESS_LIMIT, TRACEPARENT_INVALID
from exporter.model.spans.span import CallSpan
from exporter.model.spans.traces import SpanLimits
from exporter.model.target import Target
from exporter.publish.otlp.delivery import Failures
from exporter.publish.otlp.metrics import MetricsEncoder
from exporter.publish.otlp.queue import SpanQueue
from exporter.publish.otlp.resources import own_resource
from exporter.publish.otlp.settings import Settings
from exporter.publish.otlp.transport import delivery_for
from exporter.publish.otlp.worker import Worker
from exporter.publish.shape import Shape
from exporter.telemetry.intervals import IntervalThread, MetricsExport
from exporter.telemetry.known import Owners
from exporter.telemetry.spans import SpanThread

log = logging.getLogger(__name__)

#: Of the time to end: what is told by then is made into spans, and numbers are sent; the rest is
#: for sending spans.
_SPANS_BY, _NUMBERS_BY = 0.7, 0.8
_COUNTING_S = 0.25  # after that time, for what is left to be counted


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is read of the kernel's part; `events` None: no target has spans from events."""

    events: SpanEvents | None
    refused: Callable[[], int]  # calls that found no token
    lost: Callable[[], int]  # events that found the ring full
    list_processes: ListFollowed


@dataclass(frozen=True, slots=True)
class Model:
    """What is asked of the service, from other threads."""

    snapshot: Callable[[], Snapshot]
    shape: Callable[[], Shape]
    target_of: Callable[[int], Target | None]
    last_target_of: Callable[[int], Target | None]
    resource_of: Callable[[int], Resource | None]
    note: Callable[[CallSpan], None]


class Telemetry:
    """Raises ServiceError where grpcio is missing, or a proxy cannot be used."""

    def __init__(
        self, settings: Settings, place: Place, kernel: Kernel, model: Model, *, processes: int,
        hold_back_ns: int,
    ) -> None:  # fmt: skip
        self._settings, self._kernel = settings, kernel
        self._failures = Failures()
        self._queue: SpanQueue | None = None
        self._worker: Worker | None = None
        self._spans: SpanThread | None = None
        metrics = None
        if settings.metrics:
            own = own_resource(place, dict(settings.resource), settings.service_name, __version__)
            delta = settings.temporality != "cumulative"
            metrics = MetricsExport(
                MetricsEncoder(own, __version__, delta=delta),
                delivery_for("metrics", settings.metrics, self._failures),
                model.shape,
            )
        if settings.traces:
            self._queue = SpanQueue(settings.queue_size, settings.batch_size)
            delivery = delivery_for("traces", settings.traces, self._failures)
            self._worker = Worker(self._queue, delivery, settings.schedule_delay_ns)
            if kernel.events:
                self._spans = SpanThread(
                    kernel.events, self._queue,
                    Owners(model.target_of, model.last_target_of, model.resource_of),
                    SpanLimits(processes=processes), kernel.list_processes, model.note,
                    hold_back_ns,
                )  # fmt: skip
        self._intervals = IntervalThread(model.snapshot, settings.interval_ns, metrics, self._queue)

    def start(self) -> None:
        for part in (self._worker, self._spans, self._intervals):
            if part:
                part.start()

    def stop(self) -> None:
        """What is on its way gets its last chance, within `shutdown_timeout`."""
        limit_ns, now_ns = self._settings.shutdown_timeout_ns, time.monotonic_ns()
        if self._spans:
            self._spans.stop(now_ns + int(limit_ns * _SPANS_BY))
        share = _NUMBERS_BY if self._worker else 1
        self._intervals.stop(now_ns + int(limit_ns * share))
        if self._worker:
            self._worker.close(now_ns + limit_ns)
        self._tell_losses()

    def _tell_losses(self) -> None:
        """Last of all: what comes too late for the queue counts as well."""
        is_all = self._spans is None or self._spans.is_done(_COUNTING_S)
        losses = self.losses()
        lost = {**losses.events, **losses.spans}
        del lost[TOKEN_BUCKET]  # that is what it is for
        told = ", ".join(f"{reason} {number}" for reason, number in lost.items() if number)
        if lost[UNSENT] or not is_all:
            log.warning(
                "OTLP: %s%d spans could not be sent before the end; lost in all: %s",
                "" if is_all else "at least ", lost[UNSENT], told or "unknown",
            )  # fmt: skip
        elif told:
            log.warning("OTLP: lost in all: %s", told)

    def losses(self) -> Losses:
        """So far; from any thread."""
        refused = self._spans.refused() if self._spans else {}
        spans = dict.fromkeys(SPANS, 0)
        if self._queue:
            spans |= self._queue.counts().dropped
        if self._spans:
            spans[UNSENT] += self._spans.unsent
        spans[TOKEN_BUCKET] = self._kernel.refused()
        events = {
            "held_back": refused.get("held_back", 0),
            "process_limit": refused.get(PROCESS_LIMIT, 0),
            "ring_full": self._kernel.lost(),
        }
        return Losses(events, spans, self._failures.numbers(), refused.get(TRACEPARENT_INVALID, 0))

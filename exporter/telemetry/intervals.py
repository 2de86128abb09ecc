"""The thread that takes a snapshot at each interval, for metrics and for spans of intervals."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from exporter.model.snapshot import Snapshot
from exporter.model.spans.intervals import Intervals
from exporter.publish.otlp.delivery import Delivery
from exporter.publish.otlp.metrics import MetricsEncoder
from exporter.publish.otlp.queue import SpanQueue
from exporter.publish.otlp.traces import encode
from exporter.publish.shape import Shape

log = logging.getLogger(__name__)


class MetricsExport:
    """Snapshots to a backend; one that is not taken is not sent again: the next one has it all."""

    def __init__(
        self, encoder: MetricsEncoder, delivery: Delivery, shape: Callable[[], Shape]
    ) -> None:
        self._encoder, self._delivery, self._shape = encoder, delivery, shape

    def send(self, snapshot: Snapshot, limit_ns: int) -> None:
        """Within so long."""
        end_ns = time.monotonic_ns() + limit_ns
        for request in self._encoder.encode(snapshot, self._shape()):
            left_ns = end_ns - time.monotonic_ns()
            if left_ns > 0 and self._delivery.deliver(request.body, left_ns).taken:
                self._encoder.acknowledge(request)

    def end_by(self, deadline_ns: int) -> None:
        self._delivery.end_by(deadline_ns)

    def hang_up(self) -> None:
        self._delivery.hang_up()


class IntervalThread:
    """`metrics` and `queue` are None where they are off."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], interval_ns: int, metrics: MetricsExport | None,
        queue: SpanQueue | None,
    ) -> None:  # fmt: skip
        self._snapshot, self._interval_ns = snapshot, interval_ns
        self._metrics, self._queue = metrics, queue
        self._intervals = Intervals()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp-intervals", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, deadline_ns: int) -> None:
        """The last numbers get one try, until then (monotonic)."""
        if self._metrics:
            self._metrics.end_by(deadline_ns)
        self._stopping.set()
        if self._thread.ident:
            self._thread.join(max(0.0, (deadline_ns - time.monotonic_ns()) / 1e9))
        if self._metrics:
            self._metrics.hang_up()

    def _run(self) -> None:
        due_ns, last = time.monotonic_ns(), False
        while not last:
            due_ns += self._interval_ns
            self._stopping.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
            due_ns = max(due_ns, time.monotonic_ns() - self._interval_ns)  # what was missed is past
            last = self._stopping.is_set()
            try:
                self._once()
            except Exception:
                log.exception("OTLP: the numbers of an interval could not be sent")

    def _once(self) -> None:
        snapshot = self._snapshot()
        if self._queue:
            self._queue.put_many(
                [
                    (snapshot.resources[labels], encode(span))
                    for labels, span in self._intervals.spans(snapshot)
                ]
            )
        if self._metrics:
            self._metrics.send(snapshot, self._interval_ns)

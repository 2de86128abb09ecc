"""The thread that brings spans from the queue to the backend, and how it ends."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from exporter.publish.otlp.batch import Item, encode
from exporter.publish.otlp.delivery import Delivery
from exporter.publish.otlp.outcome import Outcome
from exporter.publish.otlp.queue import SpanQueue

log = logging.getLogger(__name__)


class Worker:
    """Takes a batch when it is full, or after `delay_ns`; one request at a time."""

    def __init__(
        self,
        queue: SpanQueue,
        delivery: Delivery,
        delay_ns: int,
        encode: Callable[[Sequence[Item]], bytes] = encode,
    ) -> None:
        self._queue, self._delivery, self._encode = queue, delivery, encode
        self._delay_s = delay_ns / 1e9
        self._thread = threading.Thread(target=self._run, name="otlp-spans", daemon=True)
        self._closed = False

    def start(self) -> None:
        self._thread.start()

    def close(self, deadline_ns: int) -> None:
        """Back by the deadline (monotonic), whatever the backend does.

        Each batch that is queued gets one try; what is left then is counted as `unsent`.
        To be called from one thread; again without effect.
        """
        if self._closed:
            return
        self._closed = True
        self._queue.close()
        self._delivery.end_by(deadline_ns)
        if self._thread.ident:
            self._thread.join(max(0.0, (deadline_ns - time.monotonic_ns()) / 1e9))
        self._queue.abandon()  # first, so that what the hanging up causes is not counted as well
        self._delivery.hang_up()

    def _run(self) -> None:
        while True:
            items = self._queue.take(self._delay_s)
            if items:
                self._queue.settle(self._deliver(items))
            elif self._queue.closed:
                return

    def _deliver(self, items: Sequence[Item]) -> Outcome:
        try:
            return self._delivery.deliver(self._encode(items))
        except Exception:  # the next batch may be better
            log.exception("OTLP: %d spans could not be sent", len(items))
            self._delivery.count("other")
            return Outcome(False, "other", retryable=True)

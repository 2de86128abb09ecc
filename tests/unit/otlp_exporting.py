"""Spans on their way from a queue to a backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from exporter.publish.otlp.batch import Item, encode
from exporter.publish.otlp.delivery import Delivery, Failures
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.queue import Counts, SpanQueue
from exporter.publish.otlp.retry import Policy
from exporter.publish.otlp.worker import Worker
from tests.unit.otlp_delivery import HASTY, LONG_NS, names, until
from tests.unit.otlp_server import OtlpServer


class Exporting:
    """A queue of 100 with batches of 10, its worker, and what was counted."""

    def __init__(
        self,
        endpoint: Endpoint,
        policy: Policy = HASTY,
        delay_ns: int = 1_000_000,
        encode: Callable[[Sequence[Item]], bytes] = encode,
    ) -> None:
        self.queue, self.failures = SpanQueue(100, 10), Failures()
        transport = HttpTransport(endpoint, {})
        self.delivery = Delivery("spans", transport, self.failures, endpoint.timeout_ns, policy)
        self.worker = Worker(self.queue, self.delivery, delay_ns, encode)

    def close(self, limit_ns: int = LONG_NS) -> None:
        self.worker.close(time.monotonic_ns() + limit_ns)

    def counts(self) -> Counts:
        found = self.queue.counts()
        assert found.put == found.sent + sum(found.dropped.values()) + found.queued
        return found

    def dropped(self) -> dict[str, int]:
        return {reason: number for reason, number in self.counts().dropped.items() if number}

    def failed(self) -> dict[str, int]:
        return {reason: number for reason, number in self.failures.numbers().items() if number}

    def settled(self, spans: int) -> None:
        """Waits until so many spans are sent or dropped."""
        until(lambda: self.counts().put - self.counts().queued >= spans)


@contextmanager
def exporting(endpoint: Endpoint, policy: Policy = HASTY) -> Iterator[Exporting]:
    it = Exporting(endpoint, policy)
    it.worker.start()
    yield it
    it.close(0)


def received(server: OtlpServer) -> list[str]:
    return [name for got in server.got for name in names(got.spans)]


def span_names(count: int) -> list[str]:
    return [f"span-{number}" for number in range(count)]

"""Spans and requests to deliver, and how long a test is ready to wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from exporter.model.resource import Resource
from exporter.publish.otlp.batch import Item, encode
from exporter.publish.otlp.retry import Policy
from tests.harness import PATIENCE_S

WEB: Resource = (("service.name", "web"),)
#: Longer than anything that a test waits for by design.
LONG_NS = int(PATIENCE_S * 1e9)
#: So short that a test which waits for it is not slow.
SHORT_NS = 300_000_000
#: Without jitter these would be the delays.
HASTY = Policy(first_ns=1_000_000, longest_ns=10_000_000)


def span(number: int) -> bytes:
    """Its name tells it from all others."""
    return Span(name=f"span-{number}", span_id=number.to_bytes(8, "big")).SerializeToString()


def items(count: int, first: int = 0, resource: Resource = WEB) -> list[Item]:
    return [(resource, span(number)) for number in range(first, first + count)]


def request(count: int = 1) -> bytes:
    return encode(items(count))


def names(spans: Iterable[Span]) -> list[str]:
    return [it.name for it in spans]


def until(it: Callable[[], object]) -> None:
    """Waits until that is so."""
    end = time.monotonic() + PATIENCE_S
    while not it():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.001)

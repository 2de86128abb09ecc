"""An exporter whose spans go to a backend on loopback, and what came there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span as Encoded

from tests.harness import Exporter, exporter
from tests.unit.otlp_server import OtlpServer, otlp_server

#: Of a status: https://opentelemetry.io/docs/specs/otel/trace/api/#set-status
ERROR = 2


class Event(NamedTuple):
    name: str
    time_ns: int
    attributes: dict[str, Any]


class Span(NamedTuple):
    """As it came; `parent` is b"" where there is none."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[Event]
    links: list[tuple[bytes, bytes]]
    status: tuple[int, str]

    @property
    def pid(self) -> int:
        return int(self.attributes["process.pid"])

    @property
    def is_call(self) -> bool:
        return "proctree.syscall" in self.attributes


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _span(span: Encoded) -> Span:
    return Span(
        span.trace_id, span.span_id, span.parent_span_id, span.name, span.start_time_unix_nano,
        span.end_time_unix_nano, _attributes(span.attributes),
        [Event(e.name, e.time_unix_nano, _attributes(e.attributes)) for e in span.events],
        [(link.trace_id, link.span_id) for link in span.links],
        (span.status.code, span.status.message),
    )  # fmt: skip


class Traced:
    """A running exporter, and its backend."""

    def __init__(self, running: Exporter, server: OtlpServer) -> None:
        self.running, self._server = running, server
        self._counted = self._number = 0  # requests, and the spans in them

    def spans(self) -> list[Span]:
        """All that came until now."""
        traces = [got for got in self._server.got if got.path.endswith("/traces")]
        return [_span(span) for got in traces for span in got.spans]

    def number(self) -> int:
        """How many came until now."""
        for got in self._server.got[self._counted :]:
            self._counted += 1
            self._number += len(got.spans) if got.path.endswith("/traces") else 0
        return self._number

    def end(self) -> list[Span]:
        """Ends the exporter, which sends what it has: all spans of its life."""
        assert self.running.stop() == 0, self.running.log
        return self.spans()


def config(url: str, *targets: Mapping[str, Any], otlp: Mapping[str, Any] | None = None) -> str:
    sent = {"traces": True, "endpoint": url, "interval": "1h", **(otlp or {})}
    return json.dumps({"otlp": sent, "targets": targets})


@contextmanager
def traced(
    *targets: Mapping[str, Any], otlp: Mapping[str, Any] | None = None, **others: Any
) -> Iterator[Traced]:
    """Follows these, with what is asked for under their `spans`."""
    patient = {"shutdown_timeout": "30s", **(otlp or {})}  # where a machine is slow, or busy
    with otlp_server() as server:
        text = config(f"http://127.0.0.1:{server.port}", *targets, otlp=patient)
        with exporter(text, **others) as running:
            yield Traced(running, server)

"""OTLP as JSON, read back as plain Python: what a collector has received.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: names in lowerCamelCase, ids as
hexadecimal, 64-bit integers as text, and what has its default left out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Value = str | bool | int | float | bytes | list[Any] | dict[str, Any] | None
Attributes = dict[str, Value]

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUSES = ("unset", "ok", "error")
METRICS = {"sum", "gauge", "histogram", "exponentialHistogram", "summary"}
TEMPORALITIES = ("unspecified", "delta", "cumulative")


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose it is: the resource and the scope that were around it."""

    resource: Attributes = field(default_factory=dict)
    resource_schema: str = ""
    scope: str = ""
    version: str = ""
    scope_attributes: Attributes = field(default_factory=dict)
    scope_schema: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    time_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Link:
    trace_id: bytes
    span_id: bytes
    attributes: Attributes
    flags: int


@dataclass(frozen=True, slots=True)
class Span:
    """A span as it came; an id that is not there is b""."""

    origin: Origin
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: str  # one of KINDS
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: list[Event]
    links: list[Link]
    status: str  # one of STATUSES
    message: str  # of the status
    flags: int
    trace_state: str
    dropped: int  # attributes, events and links together, as it says itself


@dataclass(frozen=True, slots=True)
class Exemplar:
    trace_id: bytes
    span_id: bytes
    time_ns: int
    value: int | float
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Point:
    """One data point; what its kind of metric does not have is at its default."""

    attributes: Attributes
    start_ns: int
    time_ns: int
    exemplars: list[Exemplar]
    flags: int
    value: int | float | None = None  # of a sum or a gauge
    count: int = 0
    sum: float | None = None
    min: float | None = None
    max: float | None = None
    scale: int = 0
    zero_count: int = 0
    zero_threshold: float = 0.0
    positive: dict[int, int] = field(default_factory=dict)  # counts by index, empty ones left out
    negative: dict[int, int] = field(default_factory=dict)
    bounds: list[float] = field(default_factory=list)  # of a histogram with explicit ones
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Metric:
    origin: Origin
    name: str
    unit: str
    description: str
    kind: str  # one of METRICS
    temporality: str  # one of TEMPORALITIES
    monotonic: bool
    points: list[Point]


def spans(request: Any) -> Iterator[Span]:
    """Of one ExportTraceServiceRequest, as json.loads gives it."""
    for origin, scope in _scopes(request, "resourceSpans", "scopeSpans"):
        for it in scope.get("spans", ()):
            status = it.get("status", {})
            yield Span(
                origin, _id(it, "traceId"), _id(it, "spanId"), _id(it, "parentSpanId"),
                it.get("name", ""), KINDS[it.get("kind", 0)],
                _int(it, "startTimeUnixNano"), _int(it, "endTimeUnixNano"), _attributes(it),
                [
                    Event(event.get("name", ""), _int(event, "timeUnixNano"), _attributes(event))
                    for event in it.get("events", ())
                ],
                [
                    Link(_id(to, "traceId"), _id(to, "spanId"), _attributes(to), to.get("flags", 0))
                    for to in it.get("links", ())
                ],
                STATUSES[status.get("code", 0)], status.get("message", ""),
                it.get("flags", 0), it.get("traceState", ""),
                sum(it.get(f"dropped{what}Count", 0) for what in ("Attributes", "Events", "Links")),
            )  # fmt: skip


def metrics(request: Any) -> Iterator[Metric]:
    """Of one ExportMetricsServiceRequest, as json.loads gives it."""
    for origin, scope in _scopes(request, "resourceMetrics", "scopeMetrics"):
        for it in scope.get("metrics", ()):
            (kind,) = it.keys() & METRICS
            data = it[kind]
            yield Metric(
                origin, it.get("name", ""), it.get("unit", ""), it.get("description", ""), kind,
                TEMPORALITIES[data.get("aggregationTemporality", 0)],
                data.get("isMonotonic", False), [_point(one) for one in data.get("dataPoints", ())],
            )  # fmt: skip


def _scopes(request: Any, outer: str, inner: str) -> Iterator[tuple[Origin, Any]]:
    for resource in request[outer]:
        for scope in resource.get(inner, ()):
            named = scope.get("scope", {})
            yield (
                Origin(
                    _attributes(resource.get("resource", {})), resource.get("schemaUrl", ""),
                    named.get("name", ""), named.get("version", ""), _attributes(named),
                    scope.get("schemaUrl", ""),
                ),
                scope,
            )  # fmt: skip


def _point(it: Any) -> Point:
    return Point(
        _attributes(it), _int(it, "startTimeUnixNano"), _int(it, "timeUnixNano"),
        [
            Exemplar(
                _id(one, "traceId"), _id(one, "spanId"), _int(one, "timeUnixNano"), _number(one),
                _attributes(one, "filteredAttributes"),
            )
            for one in it.get("exemplars", ())
        ],
        it.get("flags", 0),
        value=_number(it) if "asInt" in it or "asDouble" in it else None,
        count=_int(it, "count"), sum=it.get("sum"), min=it.get("min"), max=it.get("max"),
        scale=it.get("scale", 0), zero_count=_int(it, "zeroCount"),
        zero_threshold=it.get("zeroThreshold", 0.0),
        positive=_buckets(it.get("positive", {})), negative=_buckets(it.get("negative", {})),
        bounds=it.get("explicitBounds", []),
        counts=[int(count) for count in it.get("bucketCounts", ())],
    )  # fmt: skip


def _buckets(it: Any) -> dict[int, int]:
    offset = it.get("offset", 0)
    counts = enumerate(map(int, it.get("bucketCounts", ())), offset)
    return {index: count for index, count in counts if count}


def _number(it: Any) -> int | float:
    return int(it["asInt"]) if "asInt" in it else float(it["asDouble"])


def _int(it: Any, key: str) -> int:
    return int(it.get(key, 0))


def _id(it: Any, key: str) -> bytes:
    return bytes.fromhex(it.get(key, ""))


def _attributes(it: Any, key: str = "attributes") -> Attributes:
    """Keys must be unique: https://opentelemetry.io/docs/specs/otel/common/#attribute-collections"""
    pairs = it.get(key, ())
    found = {pair["key"]: _value(pair["value"]) for pair in pairs}
    assert len(found) == len(pairs), f"a key twice: {pairs}"
    return found


def _value(it: Any) -> Value:
    if not it:
        return None
    ((kind, value),) = it.items()
    match kind:
        case "intValue":
            return int(value)
        case "doubleValue":
            return float(value)
        case "bytesValue":
            return base64.b64decode(value)
        case "arrayValue":
            return [_value(one) for one in value.get("values", ())]
        case "kvlistValue":
            return {pair["key"]: _value(pair["value"]) for pair in value.get("values", ())}
    return value  # text or bool

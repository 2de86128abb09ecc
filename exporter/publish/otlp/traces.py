"""Spans as OTLP has them: `opentelemetry.proto.trace.v1.Span`, serialised.

Those of calls are many: what they have in common is serialised once. Messages of one type that are
put one after another are one message, whose fields are those of all
(https://protobuf.dev/programming-guides/encoding/#last-one-wins); so what is left is to pack an id
and two times.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from exporter.model.spans.span import Attributes, CallSpan, Event, Span, Value
from exporter.publish.otlp.attributes import clean, key_value
from exporter.publish.protobuf import varint

#: Of a text, in UTF-8; backends cut it, or refuse the whole batch.
MOST_BYTES = 4096

_INTERNAL = trace_pb2.Span.SPAN_KIND_INTERNAL
_SAMPLED = 1
#: A length follows: Span.attributes = 9, Span.events = 11, Span.Event.attributes = 3.
_ATTRIBUTES, _EVENTS, _OF_EVENT = b"\x4a", b"\x5a", b"\x1a"
#: span_id = 2, eight bytes; start_time_unix_nano = 7 and end_time_unix_nano = 8, fixed64.
_OWN = Struct("<BB8sBQBQ").pack


def encode(span: Span) -> bytes:
    own = trace_pb2.Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id,
        flags=span.flags,
        name=_cut(span.name),
        kind=_INTERNAL,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        dropped_events_count=span.dropped_events,
        links=[
            trace_pb2.Span.Link(
                trace_id=link.trace_id,
                span_id=link.span_id,
                attributes=_key_values(link.attributes),
            )
            for link in span.links
        ],
        status=None if span.error is None else _error(span.error),
    ).SerializeToString()
    return b"".join((own, *_pairs(_ATTRIBUTES, span.attributes), *map(_event, span.events)))


def _event(event: Event) -> bytes:
    """Span.events, one of them."""
    own = trace_pb2.Span.Event(name=_cut(event.name), time_unix_nano=event.time_ns)
    body = b"".join((own.SerializeToString(), *_pairs(_OF_EVENT, event.attributes)))
    return _EVENTS + varint(len(body)) + body


def _pairs(tag: bytes, attributes: Attributes) -> list[bytes]:
    return [tag + _pair(key, value) for key, value in attributes]


@lru_cache(maxsize=512, typed=True)
def _pair(key: str, value: Value) -> bytes:
    """A KeyValue behind its length. Most are the same in many spans, and some twice in one."""
    body = key_value(key, _short(value)).SerializeToString()
    return varint(len(body)) + body


def encode_call(span: CallSpan) -> bytes:
    _, trace_id, span_id, parent_id, pid, tid, syscall, error, start, end, path, target, _ = span
    common = _caller(trace_id, parent_id, pid, tid) + _call(syscall, error, target)
    own = _OWN(0x12, 8, span_id, 0x39, start, 0x41, end)
    return common + own + _path(path) if path else common + own


@lru_cache(maxsize=4096)
def _caller(trace_id: bytes, parent_id: bytes, pid: int, tid: int) -> bytes:
    return trace_pb2.Span(
        trace_id=trace_id,
        parent_span_id=parent_id,
        attributes=_key_values((("process.pid", pid), ("thread.id", tid))),
    ).SerializeToString()


@lru_cache(maxsize=4096)
def _call(syscall: str, error: str, target: str) -> bytes:
    found = [("proctree.syscall", syscall)]
    if target:
        found.append(("proctree.target", target))
    if error:
        found.append(("error.type", error))
    return trace_pb2.Span(
        name=_cut(syscall),
        kind=_INTERNAL,
        flags=_SAMPLED,
        attributes=_key_values(tuple(found)),
        status=_error(error) if error else None,
    ).SerializeToString()


@lru_cache(maxsize=1024)
def _path(path: str) -> bytes:
    return trace_pb2.Span(attributes=_key_values((("file.path", path),))).SerializeToString()


def _error(message: str) -> Status:
    return Status(code=Status.STATUS_CODE_ERROR, message=_cut(message))


def _key_values(attributes: Attributes) -> list[KeyValue]:
    return [key_value(key, _short(value)) for key, value in attributes]


def _short(value: Value) -> Value:
    if isinstance(value, str):
        return _cut(value)
    return tuple(map(_cut, value)) if isinstance(value, tuple) else value


def _cut(text: str) -> str:
    """Valid, and not too long."""
    text = clean(text[:MOST_BYTES])
    data = text.encode()
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode("utf-8", "ignore")

"""Spans as OTLP, read back with opentelemetry-proto: nothing is lost, all of it is valid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1 import trace_pb2 as pb

from exporter.model.spans.span import Attributes, CallSpan, Event, Link, Span
from exporter.publish.otlp import traces
from exporter.publish.otlp.attributes import key_values
from exporter.publish.otlp.traces import MOST_BYTES, encode, encode_call

TIME = 1_700_000_000_123_456_789
LATEST = (1 << 64) - 1

texts = st.text(st.characters(), max_size=20)  # lone surrogates among them
times = st.integers(0, LATEST)
trace_ids = st.binary(min_size=16, max_size=16)
span_ids = st.binary(min_size=8, max_size=8)
parents = st.one_of(st.just(b""), span_ids)
values = st.one_of(
    texts, st.integers(-(1 << 63), (1 << 63) - 1), st.booleans(), st.floats(allow_nan=False),
    st.lists(texts, max_size=3).map(tuple),
)  # fmt: skip
attributes = st.lists(st.tuples(texts, values), max_size=3).map(tuple)

spans = st.builds(
    Span,
    slot=st.integers(0, 9),
    trace_id=trace_ids,
    span_id=span_ids,
    parent_id=parents,
    name=texts,
    start_ns=times,
    end_ns=times,
    attributes=attributes,
    events=st.lists(st.builds(Event, texts, times, attributes), max_size=3).map(tuple),
    links=st.lists(st.builds(Link, trace_ids, span_ids, attributes), max_size=3).map(tuple),
    error=st.one_of(st.none(), texts),
    flags=st.sampled_from([0, 1, 0x301]),
    dropped_events=st.integers(0, 1000),
)
calls = st.builds(
    CallSpan,
    slot=st.integers(0, 9),
    trace_id=st.sampled_from([b"t" * 16, b"T" * 16]),
    span_id=span_ids,
    parent_id=st.sampled_from([b"", b"p" * 8, b"P" * 8]),
    pid=st.integers(1, 1 << 22),
    tid=st.integers(1, 1 << 22),
    syscall=st.sampled_from(["openat", "read", "unknown"]),
    error=st.sampled_from(["", "ENOENT", "unknown"]),
    start_ns=times,
    end_ns=times,
    path=texts,
    target=texts,
)


def valid(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def plain(value: AnyValue) -> Any:
    """A value that was read back; what is not set is an error."""
    kind = value.WhichOneof("value")
    assert kind
    found = getattr(value, kind)
    return tuple(map(plain, found.values)) if kind == "array_value" else found


def told(read: Any) -> list[tuple[str, Any]]:
    return [(pair.key, plain(pair.value)) for pair in read.attributes]


def expected(given: Attributes) -> list[tuple[str, Any]]:
    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return valid(value)
        return tuple(map(valid, value)) if isinstance(value, tuple) else value

    return [(valid(key), clean(value)) for key, value in given]


@given(spans)
def test_a_span_is_read_back_as_it_was(span: Span) -> None:
    """All of it; and of what is not there nothing is said."""
    read = pb.Span.FromString(encode(span))
    assert (read.trace_id, read.span_id, read.parent_span_id) == span[1:4]
    assert (read.name, read.kind) == (valid(span.name), pb.Span.SPAN_KIND_INTERNAL)
    assert (read.start_time_unix_nano, read.end_time_unix_nano) == (span.start_ns, span.end_ns)
    assert (read.flags, read.dropped_events_count) == (span.flags, span.dropped_events)
    assert told(read) == expected(span.attributes)
    assert [(e.name, e.time_unix_nano, told(e)) for e in read.events] == [
        (valid(event.name), event.time_ns, expected(event.attributes)) for event in span.events
    ]
    assert [(link.trace_id, link.span_id, told(link)) for link in read.links] == [
        (link.trace_id, link.span_id, expected(link.attributes)) for link in span.links
    ]
    assert read.HasField("status") == (span.error is not None)
    if span.error is not None:
        assert read.status.code == pb.Status.STATUS_CODE_ERROR
        assert read.status.message == valid(span.error)


def test_kinds_of_values_are_kept_apart() -> None:
    """True is no 1, 1 is no 1.0."""
    span = Span(0, b"t" * 16, b"s" * 8, b"", "x", 1, 2, (("a", True), ("b", 1), ("c", 1.0)))
    read = pb.Span.FromString(encode(span))
    kinds = [pair.value.WhichOneof("value") for pair in read.attributes]
    assert kinds == ["bool_value", "int_value", "double_value"]


def straightforward(call: CallSpan) -> pb.Span:
    found = [("process.pid", call.pid), ("thread.id", call.tid), ("proctree.syscall", call.syscall)]
    if call.target:
        found.append(("proctree.target", call.target))
    if call.error:
        found.append(("error.type", call.error))
    if call.path:
        found.append(("file.path", call.path))
    span = pb.Span(
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_id,
        flags=1,
        name=call.syscall,
        kind=pb.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=call.start_ns,
        end_time_unix_nano=call.end_ns,
        attributes=key_values(found),
    )
    if call.error:
        span.status.code = pb.Status.STATUS_CODE_ERROR
        span.status.message = call.error
    return span


@given(st.lists(calls, max_size=5))
def test_calls_are_as_if_encoded_one_by_one(many: list[CallSpan]) -> None:
    """Templates change nothing: each has its own, whichever came before it."""
    for call in many:
        assert pb.Span.FromString(encode_call(call)) == straightforward(call)


def test_templates_are_limited() -> None:
    """However many threads, targets and paths there are."""
    for number in range(10_000):
        encode_call(
            CallSpan(
                1, b"t" * 16, b"s" * 8, b"", number, number, "openat", "", TIME, TIME,
                f"/{number}", f"target {number}",
            )
        )  # fmt: skip
    for cached in (traces._caller, traces._call, traces._path):
        assert cached.cache_info().currsize <= 4096


@pytest.mark.parametrize("text", ["x" * 9999, "ä" * 9999, "x" + "€" * 9999, "\U0001f600" * 9999])
def test_long_text_is_cut_where_a_character_ends(text: str) -> None:
    """In bytes, everywhere: names, values, each of several, paths, messages."""
    some = (("a", text), ("b", (text, "short")))
    event, link = Event(text, 1, some), Link(b"t" * 16, b"s" * 8, some)
    span = Span(0, b"t" * 16, b"s" * 8, b"", text, 1, 2, some, (event,), (link,), text)
    read = pb.Span.FromString(encode(span))
    call = CallSpan(1, b"t" * 16, b"s" * 8, b"", 1, 1, "openat", "", 1, 2, text, text)
    read_call = pb.Span.FromString(encode_call(call))
    cut = [read.name, read.events[0].name, read.status.message]
    for part in (read, read.events[0], read.links[0]):
        whole, (several, short) = (value for _, value in told(part))
        assert short == "short"
        cut += [whole, several]
    cut += [dict(told(read_call))[name] for name in ("file.path", "proctree.target")]
    assert len(cut) == 11
    for found in cut:
        assert text.startswith(found)
        assert MOST_BYTES - 4 < len(found.encode()) <= MOST_BYTES

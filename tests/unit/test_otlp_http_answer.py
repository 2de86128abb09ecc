"""Answers are read as protobuf's own runtime reads them, whatever bytes they are."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from exporter.publish.otlp.answer import partial_success, retry_delay_ns, status_message
from exporter.publish.otlp.outcome import tidy
from exporter.publish.protobuf import varint

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def status(message: str, *details: bytes) -> bytes:
    """google.rpc.Status: code 1, message 2, details 3."""
    return b"\x08\x0e" + field(2, message.encode()) + b"".join(field(3, it) for it in details)


def retry_info(delay: duration_pb2.Duration) -> bytes:
    """As google.protobuf.Any; the delay is field 1."""
    url = "type.googleapis.com/google.rpc.RetryInfo"
    value = field(1, delay.SerializeToString())
    return any_pb2.Any(type_url=url, value=value).SerializeToString()


@given(rejected=INT64, message=st.text())
def test_partial_success(rejected: int, message: str) -> None:
    """The same for both signals."""
    spans, points = ExportTraceServiceResponse(), ExportMetricsServiceResponse()
    spans.partial_success.rejected_spans = rejected
    points.partial_success.rejected_data_points = rejected
    for response in (spans, points):
        response.partial_success.error_message = message
        assert partial_success(response.SerializeToString()) == (rejected, message)


def test_none() -> None:
    assert partial_success(b"") == (0, "")


# Fields of every kind, by which most are unknown, and bytes that are none.
FIELDS = st.one_of(
    st.tuples(st.integers(1, 3), INT64).map(lambda it: varint(it[0] << 3) + varint(it[1] % 2**64)),
    st.tuples(st.integers(1, 3), st.binary(max_size=8)).map(lambda it: field(*it)),
    st.integers(1, 5).map(lambda it: varint(it << 3 | 1) + struct.pack("<d", it)),
    st.integers(1, 5).map(lambda it: varint(it << 3 | 5) + struct.pack("<f", it)),
    st.binary(max_size=4),
)


@given(st.recursive(FIELDS, lambda it: st.lists(it, max_size=4).map(
    lambda parts: field(1, b"".join(parts))
), max_leaves=12), st.binary(max_size=3))  # fmt: skip
def test_any_bytes(body: bytes, end: bytes) -> None:
    """Nothing but ValueError comes of it; what is a message is read as the runtime reads it."""
    for answer in (body, body + end):
        try:
            found = partial_success(answer)
        except ValueError:
            found = None
        try:
            message = ExportTraceServiceResponse.FromString(answer).partial_success
        except DecodeError:
            continue  # the runtime is stricter: about UTF-8
        if found is not None:
            assert found == (message.rejected_spans, message.error_message)
        else:
            assert has_group(answer)


def has_group(body: bytes) -> bool:
    """Groups, which no answer has, are read by the runtime only: wire types 3 and 4."""
    return any(byte & 7 in (3, 4) for byte in body)


@given(st.binary())
def test_any_status(body: bytes) -> None:
    for read in (status_message, retry_delay_ns):
        with suppress(ValueError):
            assert read(body) is None or isinstance(read(body), str | int)


@given(st.text(), st.integers(-5, 315_576_000_000), st.integers(0, 999_999_999))
def test_status(message: str, seconds: int, nanos: int) -> None:
    delay = duration_pb2.Duration(seconds=seconds, nanos=nanos if seconds >= 0 else -nanos)
    body = status(message, b"\x0a\x01x", retry_info(delay))
    assert status_message(body) == message
    assert retry_delay_ns(body) == max(0, delay.ToNanoseconds())


def test_no_delay() -> None:
    """None is not 0: RetryInfo without a delay means that it may be sent again."""
    assert retry_delay_ns(status("x")) is None
    assert retry_delay_ns(b"") is None
    assert retry_delay_ns(status("x", retry_info(duration_pb2.Duration()))) == 0
    assert retry_delay_ns(status("x", retry_info(duration_pb2.Duration(seconds=-3)))) == 0


@pytest.mark.parametrize(
    "body",
    [b"\x80" * 11, b"\x0a\x05ab", b"\x00", b"\x0f", b"\x0d\x00", b"\x08" + b"\x80" * 10 + b"\x01"],
)
def test_garbage(body: bytes) -> None:
    for read in (partial_success, status_message, retry_delay_ns):
        with pytest.raises(ValueError):
            read(body)


@given(st.one_of(st.text(), st.binary()))
def test_tidy(text: str | bytes) -> None:
    words = tidy(text)
    assert words.isprintable()
    assert len(words) <= 500
    assert words.encode().decode() == words
    assert tidy(words) == words

"""Reads what backends answer: two small protobuf messages, from bytes that nobody vouches for.

By hand, because one of them (google.rpc.Status) would need a package of its own, and because so
the resident size of an exporter that only sends spans has no protobuf runtime in it. Sources:
opentelemetry/proto/collector/{trace,metrics}/v1/*_service.proto, google/rpc/{status,error_details}
.proto, and https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _BYTES = 0, 2  # wire types
_FIXED = {1: 8, 5: 4}  # their sizes: none of the fields here is one
_RETRY_INFO = b"google.rpc.RetryInfo"
_MOST_SECONDS = 315_576_000_000  # of a google.protobuf.Duration


def partial_success(response: bytes) -> tuple[int, str]:
    """(rejected records, message) of an Export…ServiceResponse, the same for spans and metrics.

    Raises ValueError where the bytes are no message.
    """
    rejected, message = 0, b""
    for field, value in _fields(_joined(response, 1)):
        if field == 1 and isinstance(value, int):
            rejected = _signed(value)
        elif field == 2 and isinstance(value, bytes):
            message = value
    return rejected, message.decode("utf-8", "replace")


def status_message(status: bytes) -> str:
    """The message of a google.rpc.Status, with which OTLP backends explain a refusal.

    Raises ValueError where the bytes are no message.
    """
    found = [value for field, value in _fields(status) if field == 2]
    return found[-1].decode("utf-8", "replace") if found and isinstance(found[-1], bytes) else ""


def retry_delay_ns(status: bytes) -> int | None:
    """The delay of a RetryInfo among the details of a google.rpc.Status; None: there is none.

    Raises ValueError where the bytes are no message.
    """
    for field, detail in _fields(status):
        if field != 3 or not isinstance(detail, bytes):
            continue
        if _joined(detail, 1).rpartition(b"/")[2] != _RETRY_INFO:
            continue
        seconds = nanos = 0
        for number, value in _fields(_joined(_joined(detail, 2), 1)):
            if number == 1 and isinstance(value, int):
                seconds = _signed(value)
            elif number == 2 and isinstance(value, int):
                nanos = _signed(value)
        seconds = max(-_MOST_SECONDS, min(seconds, _MOST_SECONDS))
        return max(0, seconds * 10**9 + nanos)
    return None


def _joined(message: bytes, field: int) -> bytes:
    """A field of bytes; parts of an embedded message that comes in several are merged so."""
    return b"".join(v for number, v in _fields(message) if number == field and isinstance(v, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of every field that is a varint or has a length. Groups are not read."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError(f"field number {number}")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"wire type {kind}")
        if len(message) - at < size:
            raise ValueError("it ends too early")
        if kind == _BYTES:
            yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise ValueError("it ends too early")
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & (1 << 64) - 1, at
    raise ValueError("a number of more than ten bytes")


def _signed(number: int) -> int:
    """int64, as which negative numbers are written in two's complement."""
    return number - (1 << 64) if number >= 1 << 63 else number

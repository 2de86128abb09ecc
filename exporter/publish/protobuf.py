"""Prometheus' protobuf format, written by hand: io.prometheus.client.MetricFamily, delimited.

Source of the field numbers: https://github.com/prometheus/client_model, metrics.proto. It is the
only format that carries native histograms and times of creation. Packed fields are read by every
parser whether or not the schema says so (https://protobuf.dev/programming-guides/encoding/#packed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from struct import Struct

from exporter.model.snapshot import Exemplar
from exporter.publish.buckets import ZERO_THRESHOLD, Bounds, Distribution, native
from exporter.publish.digest import Head
from exporter.publish.exemplars import of_classic, of_native, seconds
from exporter.publish.families import Family

CONTENT_TYPE = (
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
)

_KINDS = {"counter": 0, "gauge": 1, "histogram": 4}  # enum MetricType
_VALUES = {"counter": 3, "gauge": 2, "histogram": 7}  # the field of message Metric
_CREATED = {"counter": 3, "histogram": 15}  # the field created_timestamp of either

_double = Struct("<d").pack
_VARINT, _FIXED64, _BYTES = 0, 1, 2  # wire types


def varint(number: int) -> bytes:
    if number < 0x80:
        return _SMALL[number]
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    if number < 0x200000:
        return bytes((number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> bytes:
    """The signed kind, sint32 and sint64, in which small negative numbers are short."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def _message(field: int, body: bytes) -> bytes:
    return _tag(field, _BYTES) + varint(len(body)) + body


_SMALL = [bytes((number,)) for number in range(0x80)]
_COUNT = _tag(1, _VARINT)
_SUM = _tag(2, _FIXED64)
_BUCKET = _tag(3, _BYTES)
_POSITIVE_SPAN = _tag(12, _BYTES)
_POSITIVE_DELTA = _tag(13, _BYTES)
_ZERO = _tag(6, _FIXED64) + _double(ZERO_THRESHOLD)
_INF = b"\x11" + _double(float("inf"))


def protobuf(families: Iterable[Family], native_histograms: bool) -> Iterator[bytes]:
    """One delimited message per family: its length goes before it, so each is built whole."""
    for family in sorted(families, key=lambda family: family.metric.name):
        metric = family.metric
        head = _message(1, metric.name.encode()) + _message(2, metric.help.encode())
        head += _tag(3, _VARINT) + varint(_KINDS[metric.kind])
        unit = _message(5, metric.unit.encode()) if metric.unit else b""
        points = list(_points(family, native_histograms))
        if points:
            body = b"".join((head, *points, unit))
            yield varint(len(body))
            yield body


def _points(family: Family, native_histograms: bool) -> Iterator[bytes]:
    kind = family.metric.kind
    value_tag = _tag(_VALUES[kind], _BYTES)
    metric_tag = _tag(4, _BYTES)
    created = _Created(_CREATED[kind]) if kind in _CREATED else None
    shared = [_Pairs(label) for label in family.head]
    own = [_Pairs(label) for label in family.own]
    heads: dict[Head, bytes] = {}
    for head, values, number, created_ns in family.points:
        if isinstance(number, Distribution):
            value = _histogram(number, native_histograms, not family.native_only)
        else:
            value = b"\x09" + _double(number)
        if created is not None and created_ns:
            value += created[created_ns]
        labels = heads.get(head)
        if labels is None:
            labels = heads[head] = _labels(shared, head)
        body = b"".join((labels, _labels(own, values), value_tag, varint(len(value)), value))
        yield metric_tag + varint(len(body)) + body


def _labels(pairs: list[_Pairs], values: tuple[str, ...]) -> bytes:
    return b"".join([pair[text] for pair, text in zip(pairs, values, strict=True)])


class _Pairs(dict[str, bytes]):
    """Values of one label as LabelPair: {name = 1, value = 2}, field 1 of Metric."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._name = _message(1, label.encode())

    def __missing__(self, value: str) -> bytes:
        self[value] = pair = _message(1, self._name + _message(2, value.encode()))
        return pair


class _Created(dict[int, bytes]):
    """Times as google.protobuf.Timestamp: {seconds = 1, nanos = 2}."""

    def __init__(self, field: int) -> None:
        super().__init__()
        self._field = field

    def __missing__(self, time_ns: int) -> bytes:
        self[time_ns] = created = _message(self._field, _timestamp(time_ns))
        return created


def _timestamp(time_ns: int) -> bytes:
    seconds, nanos = divmod(time_ns, 10**9)
    return b"\x08" + varint(seconds) + b"\x10" + varint(nanos)


def _histogram(value: Distribution, native_histograms: bool, classic: bool) -> bytes:
    """Without +Inf, which is optional here and equals the count, unless it has an exemplar."""
    parts = [_COUNT, varint(value.cumulative[-1]), _SUM, _double(value.sum_ns / 10**9)]
    if classic:
        parts += _buckets_with_exemplars(value) if value.exemplars else _buckets(value)
    if native_histograms:
        spans, deltas = native(value.buckets, value.scale)
        parts += _schema(value.scale), _ZERO
        for offset, length in spans:
            body = b"\x08" + zigzag(offset) + b"\x10" + varint(length)
            parts += _POSITIVE_SPAN, _SMALL[len(body)], body
        packed = b"".join(map(zigzag, deltas))
        if packed:
            parts += _POSITIVE_DELTA, varint(len(packed)), packed
        parts += [_message(16, _exemplar(exemplar)) for exemplar in of_native(value)]
    return b"".join(parts)


def _buckets(value: Distribution) -> list[bytes]:
    parts: list[bytes] = []
    for number, bound in zip(value.cumulative, _bounds(value.bounds), strict=False):
        count = varint(number)
        parts += _BUCKET, _SMALL[len(count) + 10], _COUNT, count, bound
    return parts


def _buckets_with_exemplars(value: Distribution) -> Iterator[bytes]:
    exemplars = of_classic(value)
    bounds = (*_bounds(value.bounds), _INF)
    for place, (number, bound) in enumerate(zip(value.cumulative, bounds, strict=True)):
        body = _COUNT + varint(number) + bound
        if place in exemplars:
            body += _message(3, _exemplar(exemplars[place]))
        if place in exemplars or bound is not _INF:
            yield _message(3, body)


def _exemplar(exemplar: Exemplar) -> bytes:
    """Exemplar: {label = 1, value = 2, timestamp = 3}."""
    ids = (("trace_id", exemplar.trace_id), ("span_id", exemplar.span_id))
    pairs = [_message(1, name.encode()) + _message(2, id_.hex().encode()) for name, id_ in ids]
    labels = b"".join([_message(1, pair) for pair in pairs])
    value = b"\x11" + _double(seconds(exemplar))
    return labels + value + _message(3, _timestamp(exemplar.time_ns))


@lru_cache(maxsize=64)
def _bounds(bounds: Bounds) -> tuple[bytes, ...]:
    """The field upper_bound = 2 of each Bucket."""
    return tuple(b"\x11" + _double(seconds) for seconds in bounds.seconds)


@lru_cache(maxsize=8)
def _schema(scale: int) -> bytes:
    return _tag(5, _VARINT) + zigzag(scale)

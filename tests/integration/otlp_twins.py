"""The numbers of trees as both worlds tell them, in the words of Prometheus: to be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from exporter.model.histogram import index_of_bound, otel_offset
from exporter.publish.otlp.names import ATTRIBUTES, BY_PROMETHEUS, TWINS
from tests.harness import Exporter
from tests.integration.otlp_json import Metric, Point
from tests.unit.metrics_proto import decode
from tests.unit.test_publish_units import spread

PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)
SCALE = 2
#: About trees, and the same as long as nothing moves; ages are not.
NAMES = {
    twin.prometheus
    for twin in TWINS
    if twin.about_trees and twin.prometheus != "proctree_syscall_oldest_in_flight_seconds"
} | {"proctree_target_up", "proctree_target_trees"}

_LABELS = {attribute: label for label, attribute in ATTRIBUTES.items()}
_METRICS = {twin.name: twin.prometheus for twin in TWINS}


class Histogram(NamedTuple):
    """`buckets` by OpenTelemetry's index, empty ones left out."""

    count: int
    sum: float
    buckets: dict[int, int]


class Number(NamedTuple):
    """`since_ns`: when the series was made; 0 for what may fall."""

    value: float | Histogram
    since_ns: int


Series = tuple[str, frozenset[tuple[str, str]]]
Numbers = dict[Series, Number]


def scraped(running: Exporter) -> Numbers:
    """By protobuf, where histograms are native and series say since when they are."""
    found: Numbers = {}
    for family in decode(running.get(Accept=PROTOBUF)):
        if family.name not in NAMES:
            continue
        for metric in family.metric:
            labels = frozenset((pair.name, pair.value) for pair in metric.label if pair.value)
            if metric.HasField("histogram"):
                it = metric.histogram
                assert it.schema == SCALE
                spans = [(span.offset, span.length) for span in it.positive_span]
                native = spread(spans, list(it.positive_delta))
                buckets = {index - 1: count for index, count in native.items() if count}
                value: float | Histogram = Histogram(it.sample_count, it.sample_sum, buckets)
                created = it.created_timestamp
            elif metric.HasField("counter"):
                value, created = metric.counter.value, metric.counter.created_timestamp
            else:
                value, created = metric.gauge.value, None
            since_ns = created.seconds * 10**9 + created.nanos if created else 0
            key = family.name, labels
            assert key not in found, f"exposed twice: {key}"
            found[key] = Number(value, since_ns)
    return found


def received(metrics: Iterable[Metric]) -> Numbers:
    """Of one export that has it all, or of one series of each kind at least."""
    found: Numbers = {}
    for metric in metrics:
        name = _METRICS[metric.name]
        for point in metric.points if name in NAMES else ():
            key = name, labels(point)
            assert key not in found, f"received twice: {key}"
            falls = BY_PROMETHEUS[name].instrument in ("updowncounter", "gauge")
            found[key] = Number(_value(point), 0 if falls else point.start_ns)
    return found


def labels(point: Point) -> frozenset[tuple[str, str]]:
    return frozenset((_LABELS[key], str(value)) for key, value in point.attributes.items())


def last_export(metrics: Iterable[Metric]) -> list[Metric]:
    """All of one reading have one time."""
    by_time: dict[int, list[Metric]] = {}
    for metric in metrics:
        (time_ns,) = {point.time_ns for point in metric.points}
        by_time.setdefault(time_ns, []).append(metric)
    return by_time[max(by_time)] if by_time else []


def time_of(metrics: Iterable[Metric]) -> int:
    """Of the last export, or 0."""
    return max((metric.points[0].time_ns for metric in metrics), default=0)


def added(metrics: Iterable[Metric]) -> dict[Series, Any]:
    """The sums of all differences."""
    found: dict[Series, Any] = {}
    for metric in metrics:
        name = _METRICS[metric.name]
        if name not in NAMES or metric.temporality != "delta":
            continue
        for point in metric.points:
            key, value = (name, labels(point)), _value(point)
            if not isinstance(value, Histogram):
                found[key] = found.get(key, 0) + value
                continue
            count, _, buckets = found.get(key, Histogram(0, 0, {}))
            both = {at: buckets.get(at, 0) + value.buckets.get(at, 0) for at in
                    buckets.keys() | value.buckets.keys()}  # fmt: skip
            found[key] = Histogram(count + value.count, 0, both)
    return found


def below(histogram: Histogram, le: float) -> int:
    """How many are in the classic bucket that ends there."""
    if math.isinf(le):
        return histogram.count
    end = otel_offset(SCALE) + index_of_bound(le, SCALE)
    return sum(count for index, count in histogram.buckets.items() if index <= end)


def _value(point: Point) -> float | Histogram:
    if point.value is not None:
        return point.value
    assert (point.scale, point.zero_count, point.negative) == (SCALE, 0, {})
    assert point.sum is not None
    return Histogram(point.count, point.sum, point.positive)

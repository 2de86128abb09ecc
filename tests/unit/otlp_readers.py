"""Metrics over OTLP read back with opentelemetry-proto, and said in Prometheus' words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as pb

from exporter.model.histogram import index_of_bound, otel_offset
from exporter.model.resource import Resource
from exporter.model.snapshot import Snapshot
from exporter.publish.digest import Cleaner
from exporter.publish.otlp.metrics import MetricsEncoder
from exporter.publish.otlp.names import ATTRIBUTES, TWINS
from exporter.publish.otlp.points import Request
from exporter.publish.shape import Shape
from tests.unit.exposition_readers import Series

OWN: Resource = (("service.instance.id", "0123"), ("service.name", "proctree-exporter"))

_LABELS = {attribute: label for label, attribute in ATTRIBUTES.items()}
_METRICS = {twin.name: twin.prometheus for twin in TWINS}
_CLEAN = Cleaner()


class Point(NamedTuple):
    """A data point, with all that it is in. `number` is None for a histogram."""

    resource: dict[str, Any]
    metric: pb.Metric
    attributes: dict[str, Any]
    data: Any  # NumberDataPoint or ExponentialHistogramDataPoint
    number: int | float | None


def encode(snapshot: Snapshot, shape: Shape | None = None, max_points: int = 5000) -> list[Request]:
    return MetricsEncoder(OWN, "1.2", max_points=max_points).encode(snapshot, shape or Shape())


def messages(requests: Iterable[Request]) -> list[ExportMetricsServiceRequest]:
    return [ExportMetricsServiceRequest.FromString(request.body) for request in requests]


def points(requests: Iterable[Request]) -> Iterator[Point]:
    for message in messages(requests):
        for whole in message.resource_metrics:
            resource = plain(whole.resource.attributes)
            for scope in whole.scope_metrics:
                for metric in scope.metrics:
                    for data in getattr(metric, metric.WhichOneof("data")).data_points:
                        number = None
                        if isinstance(data, pb.NumberDataPoint):
                            number = data.as_int if data.HasField("as_int") else data.as_double
                        yield Point(resource, metric, plain(data.attributes), data, number)


def plain(attributes: Iterable[Any]) -> dict[str, Any]:
    """Of KeyValues; no key may be there twice."""
    pairs = [(pair.key, _value(pair.value)) for pair in attributes]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(_value(one) for one in value.array_value.values)
    return getattr(value, kind or "string_value")


def clean(resource: Resource) -> dict[str, Any]:
    """As it arrives."""
    return {
        _CLEAN[key]: tuple(_CLEAN[one] for one in value)
        if isinstance(value, tuple)
        else _CLEAN[value]
        if isinstance(value, str)
        else value
        for key, value in resource
    }


def labels_of(point: Point, snapshot: Snapshot) -> dict[str, str]:
    """The labels that its series has in Prometheus: of its Resource's label set, and its own."""
    found: dict[str, str] = {}
    for labels, resource in snapshot.resources.items():
        if clean(resource) == point.resource:
            shown = {k: _CLEAN[v] for k, v in labels if k in snapshot.label_names and v}
            same = all(
                point.attributes.get(ATTRIBUTES[k]) == v
                for k, v in shown.items()
                if k in ATTRIBUTES
            )
            found = shown if same else found
    assert found or point.resource == dict(OWN)
    return found | {_LABELS.get(key, key): value for key, value in point.attributes.items()}


def as_prometheus(
    requests: Iterable[Request], snapshot: Snapshot
) -> tuple[dict[Series, int | float], dict[Series, dict[int, int]]]:
    """(counters, gauges, and the sums and counts of histograms; their buckets by OTLP's index)."""
    numbers: dict[Series, int | float] = {}
    buckets: dict[Series, dict[int, int]] = {}

    def put(name: str, number: int | float) -> None:
        assert (name, labels) not in numbers
        numbers[name, labels] = number

    for point in points(requests):
        name = _METRICS[point.metric.name]
        labels = tuple(sorted(labels_of(point, snapshot).items()))
        if point.number is not None:
            put(name, point.number)
            continue
        put(f"{name}_count", point.data.count)
        put(f"{name}_sum", point.data.sum)
        buckets[name, labels] = positive(point.data)
    return numbers, buckets


def positive(data: Any) -> dict[int, int]:
    """Index to count, of all that are not 0; the ends are not 0."""
    counts = list(data.positive.bucket_counts)
    assert not counts or (counts[0] and counts[-1])
    assert sum(counts) == data.count
    assert data.zero_count == 0
    return {data.positive.offset + at: count for at, count in enumerate(counts) if count}


def below(found: dict[int, int], le: str, scale: int) -> int:
    """What Prometheus' classic bucket counts, of OTLP's."""
    if le == "+Inf":
        return sum(found.values())
    end = index_of_bound(float(le), scale) + otel_offset(scale)
    return sum(count for index, count in found.items() if index <= end)

"""The points of metrics, in messages of OTLP: numbers with their attributes, and histograms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as pb

from exporter.model.histogram import otel_offset
from exporter.model.resource import Resource
from exporter.model.snapshot import Exemplar, Snapshot
from exporter.publish.buckets import Distribution
from exporter.publish.digest import Head
from exporter.publish.exemplars import of_native, seconds
from exporter.publish.families import Family
from exporter.publish.otlp.attributes import key_value, resource_message
from exporter.publish.otlp.deltas import Deltas, Sent, Series
from exporter.publish.otlp.histogram import Histogram, histogram
from exporter.publish.otlp.names import ATTRIBUTES, SCHEMA_URL, SCOPE, Twin


class Request(NamedTuple):
    """An encoded ExportMetricsServiceRequest, and what the backend knows once it has taken it."""

    body: bytes
    points: int
    numbers: Mapping[Series, Sent]


def scope_of(version: str) -> InstrumentationScope:
    return InstrumentationScope(name=SCOPE, version=version)


class _Attributes(dict[tuple[str, str], KeyValue]):
    """Each pair is made once: few are different. Not to be changed by who gets it."""

    def __missing__(self, pair: tuple[str, str]) -> KeyValue:
        self[pair] = made = key_value(*pair)
        return made

    def of(self, names: Iterable[str], values: Iterable[str]) -> list[KeyValue]:
        """Of labels without a name here, and without a value, there are none."""
        return [self[pair] for pair in zip(names, values, strict=True) if all(pair)]


class _Batch:
    """A request that is being filled."""

    def __init__(self, scope: InstrumentationScope) -> None:
        self.points = 0
        self.numbers: dict[Series, Sent] = {}
        self._scope = scope
        self._message = ExportMetricsServiceRequest()
        self._of: dict[Resource, pb.ScopeMetrics] = {}

    def metric(self, resource: Resource, twin: Twin) -> pb.Metric:
        """A new one of this Resource."""
        metrics = self._of.get(resource)
        if metrics is None:
            whole = self._message.resource_metrics.add(
                resource=resource_message(resource), schema_url=SCHEMA_URL
            )
            metrics = whole.scope_metrics.add(scope=self._scope, schema_url=SCHEMA_URL)
            self._of[resource] = metrics
        return metrics.metrics.add(name=twin.name, unit=twin.unit, description=twin.metric.help)

    def request(self) -> Request:
        return Request(self._message.SerializeToString(), self.points, self.numbers)


class Filling:
    """The requests for one snapshot."""

    def __init__(
        self, snapshot: Snapshot, scope: InstrumentationScope, deltas: Deltas | None,
        max_points: int,
    ) -> None:  # fmt: skip
        self._snapshot, self._scope, self._deltas = snapshot, scope, deltas
        self._max_points = max_points
        self._attributes = _Attributes()
        self._batch = _Batch(scope)
        self._done: list[Request] = []

    def requests(self) -> list[Request]:
        return [*self._done, self._batch.request()]

    def add(
        self, family: Family, twin: Twin, of_heads: Mapping[Head, Resource] | None, own: Resource
    ) -> None:
        """`of_heads` None: all with the Resource `own`."""
        shared_names = [_attribute(label, twin) for label in family.head]
        own_names = [ATTRIBUTES[label] for label in family.own]
        metrics: dict[Resource, pb.Metric] = {}
        before: Head | None = None
        for head, values, number, created_ns in family.points:
            if self._batch.points == self._max_points:
                self._done.append(self._batch.request())
                self._batch = _Batch(self._scope)
                metrics.clear()
                before = None
            if head != before:
                before = head
                resource = own if of_heads is None else of_heads[head]
                shared = self._attributes.of(shared_names, head)
                if resource not in metrics:
                    metrics[resource] = self._metric(resource, twin)
                metric = metrics[resource]
            attributes = [*shared, *self._attributes.of(own_names, values)]
            series = (twin.name, head, values)
            if isinstance(number, Distribution):
                self._add_histogram(metric, attributes, number, series, created_ns)
            else:
                self._add_number(metric, twin, attributes, number, series, created_ns)
            self._batch.points += 1

    def _metric(self, resource: Resource, twin: Twin) -> pb.Metric:
        metric = self._batch.metric(resource, twin)
        delta = self._deltas and twin.instrument in ("counter", "histogram")
        temporality = (
            pb.AGGREGATION_TEMPORALITY_DELTA if delta else pb.AGGREGATION_TEMPORALITY_CUMULATIVE
        )
        if twin.instrument == "histogram":
            metric.exponential_histogram.aggregation_temporality = temporality
        elif twin.instrument != "gauge":
            metric.sum.aggregation_temporality = temporality
            metric.sum.is_monotonic = twin.instrument == "counter"
        return metric

    def _add_number(
        self, metric: pb.Metric, twin: Twin, attributes: list[KeyValue], number: int | float,
        series: Series, created_ns: int,
    ) -> None:  # fmt: skip
        time_ns = self._snapshot.time_ns
        if twin.instrument == "gauge":
            point = metric.gauge.data_points.add(time_unix_nano=time_ns)
        else:
            start_ns = created_ns or self._snapshot.started_ns
            if self._deltas and twin.instrument == "counter":
                self._batch.numbers[series] = Sent(number, start_ns, time_ns)
                number, start_ns = self._deltas.difference(series, number, start_ns)
            point = metric.sum.data_points.add(
                start_time_unix_nano=min(start_ns, time_ns), time_unix_nano=time_ns
            )
        point.attributes.extend(attributes)
        if isinstance(number, int):
            point.as_int = number
        else:
            point.as_double = number

    def _add_histogram(
        self, metric: pb.Metric, attributes: list[KeyValue], number: Distribution, series: Series,
        created_ns: int,
    ) -> None:  # fmt: skip
        time_ns, found = self._snapshot.time_ns, histogram(number)
        start_ns = created_ns or self._snapshot.started_ns
        if self._deltas:
            self._batch.numbers[series] = Sent(found.packed(), start_ns, time_ns)
            found, start_ns = self._deltas.difference(series, found, start_ns)
        point = metric.exponential_histogram.data_points.add(
            start_time_unix_nano=min(start_ns, time_ns),
            time_unix_nano=time_ns,
            count=found.total,
            sum=found.sum_ns / 10**9,
            scale=number.scale,
        )
        point.attributes.extend(attributes)
        _add_buckets(point, found)
        since_ns = start_ns if self._deltas else 0  # a difference has those of its own time
        recent = [one for one in of_native(number) if one.time_ns >= since_ns]
        point.exemplars.extend(map(_exemplar, recent))


def _add_buckets(point: pb.ExponentialHistogramDataPoint, found: Histogram) -> None:
    """No duration is 0, and none negative: they are in the positive buckets alone."""
    if found.counts:
        point.positive.offset = otel_offset(point.scale) + found.first
        point.positive.bucket_counts.extend(found.counts)


def _exemplar(exemplar: Exemplar) -> pb.Exemplar:
    return pb.Exemplar(
        time_unix_nano=exemplar.time_ns,
        as_double=seconds(exemplar),
        trace_id=exemplar.trace_id,
        span_id=exemplar.span_id,
    )


def _attribute(label: str, twin: Twin) -> str:
    """Of a label that label sets have; the others a tree's Resource tells, but not a target's."""
    return ATTRIBUTES.get(label, "" if twin.about_trees else label)

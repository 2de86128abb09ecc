"""Expositions, and each format read back by somebody else's parser: {(name, labels): number}."""

from __future__ import annotations

from typing import Any

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.utils import floatToGoString

from exporter.model.snapshot import Snapshot
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape
from tests.unit.metrics_proto import decode
from tests.unit.publish_samples import snapshot

Series = tuple[str, tuple[tuple[str, str], ...]]


SHAPES = [
    Shape(by, classic, native)
    for by in ("syscall", "class", "both")
    for classic in (True, False, "class")
    for native in (True, False)
]  # fmt: skip
#: How publish_samples.HOSTILE arrives.
CLEAN = 'cgroup:/a"b\\c\nd\ufffd'


def render(format_: Format, shape: Shape | None = None, subject: Snapshot | None = None) -> bytes:
    exposition = Exposition(shape, process=False)
    return bytes(exposition.render(subject or snapshot(), format_))


def from_text(body: bytes) -> dict[Series, float]:
    families = parser.text_string_to_metric_families(body.decode())
    return _numbers(families)


def from_openmetrics(body: bytes) -> dict[Series, float]:
    families = openmetrics_parser.text_string_to_metric_families(body.decode())  # type: ignore[no-untyped-call]
    return _numbers(families)


def _numbers(families: Any) -> dict[Series, float]:
    samples = [sample for family in families for sample in family.samples]
    found = {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}
    assert len(found) == len(samples)
    return found


def from_protobuf(body: bytes) -> dict[Series, float]:
    """As Prometheus takes a classic histogram apart: +Inf comes from the count."""
    found: dict[Series, float] = {}

    def add(name: str, labels: dict[str, str], value: float) -> None:
        series = (name, tuple(sorted(labels.items())))
        assert series not in found
        found[series] = value

    for family in decode(body):
        for metric in family.metric:
            labels = {pair.name: pair.value for pair in metric.label}
            assert len(labels) == len(metric.label)
            if metric.HasField("histogram"):
                histogram = metric.histogram
                for bucket in histogram.bucket:
                    le = str(floatToGoString(bucket.upper_bound))  # type: ignore[no-untyped-call]
                    add(f"{family.name}_bucket", {**labels, "le": le}, bucket.cumulative_count)
                add(f"{family.name}_bucket", {**labels, "le": "+Inf"}, histogram.sample_count)
                add(f"{family.name}_count", labels, histogram.sample_count)
                add(f"{family.name}_sum", labels, histogram.sample_sum)
            else:
                value = metric.counter if metric.HasField("counter") else metric.gauge
                add(family.name, labels, value.value)
    return found


def native_series(body: bytes) -> set[Series]:
    """As Prometheus takes it in with native histograms on: one series for each of these, without
    the classic buckets beside it; a histogram that has none is taken apart."""
    series = set(from_protobuf(body))
    for family in decode(body):
        for metric in family.metric:
            if metric.HasField("histogram") and metric.histogram.HasField("schema"):
                labels = {pair.name: pair.value for pair in metric.label}
                les = [floatToGoString(b.upper_bound) for b in metric.histogram.bucket]  # type: ignore[no-untyped-call]
                for le in (*les, "+Inf"):
                    found = tuple(sorted({**labels, "le": le}.items()))
                    series.remove((f"{family.name}_bucket", found))
                series.remove((f"{family.name}_sum", tuple(sorted(labels.items()))))
                # What is left, `_count`, stands for the native one.
    return series

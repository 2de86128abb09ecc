"""The backends of the tests tell what they were sent: else they would prove nothing."""

from __future__ import annotations

import time
import urllib.error
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1 import metrics_pb2 as pb
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.caller import until
from tests.integration import collector as otelcol
from tests.integration import prometheus_otlp as prometheus3
from tests.integration.collector import collector
from tests.integration.kube.certificates import authority, signed
from tests.integration.otlp_json import Event, Exemplar, Link, Metric, Origin, Point, Span
from tests.integration.otlp_requests import SENDERS, by_http, pairs, post
from tests.integration.prometheus_otlp import prometheus_otlp

needs_collector = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")
needs_prometheus = pytest.mark.skipif(
    prometheus3.MISSING is not None, reason=prometheus3.MISSING or ""
)

#: Quotes, what JSON escapes, what Python's splitlines ends a line at, and beyond 16 bits.
TEXT = 'a "b" \\ \n \0 \x85 \u2028 é 🐝'
VALUES: dict[str, Any] = {
    "text": TEXT, "empty": "", "yes": True, "no": False, "zero": 0, "half": 0.5,
    "great": 2**63 - 1, "small": -(2**63), "bytes": b"\0\xff",
    "list": ["a", "", 1], "map": {"a": 0.0, "b": []},
}  # fmt: skip
ORIGIN = Origin({"service.name": "x"}, "https://r/1", "proctree", "1.2", {"a": 1}, "https://s/1")
CUMULATIVE, DELTA = pb.AGGREGATION_TEMPORALITY_CUMULATIVE, pb.AGGREGATION_TEMPORALITY_DELTA
CLIENT, ERROR = trace_pb2.Span.SPAN_KIND_CLIENT, trace_pb2.Status.STATUS_CODE_ERROR
TRACE, SPAN = bytes(range(16)), bytes(range(8))


def traces(*spans: trace_pb2.Span) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    around(request.resource_spans.add(), "scope_spans").spans.extend(spans)
    return request


def metrics(*found: pb.Metric) -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    around(request.resource_metrics.add(), "scope_metrics").metrics.extend(found)
    return request


def around(outer: Any, inner: str) -> Any:
    """ORIGIN, as it is sent; returns the scope."""
    outer.resource.CopyFrom(Resource(attributes=pairs(ORIGIN.resource)))
    outer.schema_url = ORIGIN.resource_schema
    scope = getattr(outer, inner).add(schema_url=ORIGIN.scope_schema)
    scope.scope.name, scope.scope.version = ORIGIN.scope, ORIGIN.version
    scope.scope.attributes.extend(pairs(ORIGIN.scope_attributes))
    return scope


def minimal(name: str) -> trace_pb2.Span:
    return trace_pb2.Span(trace_id=TRACE, span_id=SPAN, name=name)


@needs_collector
@pytest.mark.parametrize("protocol", SENDERS)
def test_a_span_comes_back_as_it_was_sent(protocol: str, tmp_path: Path) -> None:
    """All fields, any text, and what is left out; and nothing of metrics."""
    full = trace_pb2.Span(
        trace_id=TRACE, span_id=SPAN, parent_span_id=SPAN[::-1], name=TEXT, kind=CLIENT, flags=257,
        trace_state="a=b", start_time_unix_nano=2**63 + 1, end_time_unix_nano=2**64 - 1,
        attributes=pairs(VALUES), dropped_attributes_count=1, dropped_events_count=2,
        dropped_links_count=4, status=trace_pb2.Status(code=ERROR, message=TEXT),
    )  # fmt: skip
    full.events.add(name="exec", time_unix_nano=2**63 + 3, attributes=pairs({"n": 1}))
    full.links.add(trace_id=TRACE, span_id=SPAN, attributes=pairs({"n": 2}), flags=1)
    with collector(tmp_path) as backend:
        SENDERS[protocol](getattr(backend, protocol), traces(full, minimal("b")))
        backend.until(backend.spans)
        assert backend.spans() == [
            Span(
                ORIGIN, TRACE, SPAN, SPAN[::-1], TEXT, "client", 2**63 + 1, 2**64 - 1, VALUES,
                [Event("exec", 2**63 + 3, {"n": 1})], [Link(TRACE, SPAN, {"n": 2}, 1)],
                "error", TEXT, 257, "a=b", 7,
            ),
            Span(
                ORIGIN, TRACE, SPAN, b"", "b", "unspecified", 0, 0, {}, [], [], "unset", "",
                flags=0, trace_state="", dropped=0,
            ),
        ]  # fmt: skip
        assert backend.metrics() == []


@needs_collector
@pytest.mark.parametrize("protocol", SENDERS)
def test_metrics_come_back_as_they_were_sent(protocol: str, tmp_path: Path) -> None:
    """Sums, gauges and both kinds of histograms, with exemplars."""
    total, gauge = pb.Metric(name="t", unit="{call}", description=TEXT), pb.Metric(name="g")
    total.sum.aggregation_temporality, total.sum.is_monotonic = CUMULATIVE, True
    point = total.sum.data_points.add(as_int=2**63 - 1, start_time_unix_nano=5, time_unix_nano=7)
    point.attributes.extend(pairs({"a": "b"}))
    point.exemplars.add(
        trace_id=TRACE, span_id=SPAN, time_unix_nano=6, as_double=0.5,
        filtered_attributes=pairs({"pid": 1}),
    )  # fmt: skip
    gauge.gauge.data_points.add(as_double=0.0)
    gauge.gauge.data_points.add(flags=1)
    grown, fixed = pb.Metric(name="e", unit="s"), pb.Metric(name="h")
    grown.exponential_histogram.aggregation_temporality = DELTA
    one = grown.exponential_histogram.data_points.add(
        count=2**60 + 3, sum=2.5, min=0.5, max=1.5, scale=-3, zero_count=1, zero_threshold=0.25
    )
    one.positive.offset, one.negative.offset = -2, 0
    one.positive.bucket_counts.extend([0, 2**60, 0, 1])
    one.negative.bucket_counts.extend([1])
    fixed.histogram.aggregation_temporality = CUMULATIVE
    fixed.histogram.data_points.add(count=3, bucket_counts=[1, 2], explicit_bounds=[0.5])
    with collector(tmp_path) as backend:
        SENDERS[protocol](getattr(backend, protocol), metrics(total, gauge, grown, fixed))
        backend.until(backend.metrics)
        exemplar = Exemplar(TRACE, SPAN, 6, 0.5, {"pid": 1})
        assert backend.metrics() == [
            Metric(
                ORIGIN, "t", "{call}", TEXT, "sum", "cumulative", True,
                [Point({"a": "b"}, 5, 7, [exemplar], 0, value=2**63 - 1)],
            ),
            Metric(
                ORIGIN, "g", "", "", "gauge", "unspecified", False,
                [Point({}, 0, 0, [], 0, value=0.0), Point({}, 0, 0, [], 1)],
            ),
            Metric(
                ORIGIN, "e", "s", "", "exponentialHistogram", "delta", False,
                [
                    Point(
                        {}, 0, 0, [], 0, count=2**60 + 3, sum=2.5, min=0.5, max=1.5, scale=-3,
                        zero_count=1, zero_threshold=0.25, positive={-1: 2**60, 1: 1},
                        negative={0: 1},
                    )
                ],
            ),
            Metric(
                ORIGIN, "h", "", "", "histogram", "cumulative", False,
                [Point({}, 0, 0, [], 0, count=3, bounds=[0.5], counts=[1, 2])],
            ),
        ]  # fmt: skip
        assert backend.spans() == []


@needs_collector
@pytest.mark.parametrize("protocol", SENDERS)
def test_with_certificates(protocol: str, tmp_path: Path) -> None:
    """A client that its authority has not signed is refused, by either protocol."""
    ca = authority(tmp_path, "ca")
    server, client, other = (signed(tmp_path, name, by=ca) for name in ("a", "b", "c"))
    send = SENDERS[protocol]
    with collector(tmp_path, tls=server, client_ca=client.certificate) as backend:
        endpoint = getattr(backend, protocol)
        assert endpoint.startswith("https://127.0.0.1:")
        for refused in (None, other):
            with pytest.raises((OSError, grpc.RpcError)):
                send(endpoint, traces(minimal("refused")), ca.certificate, refused)
        send(endpoint, traces(minimal("a")), ca.certificate, client)
        backend.until(backend.spans)
        assert [span.name for span in backend.spans()] == ["a"]


@needs_collector
def test_it_is_away_and_comes_back(tmp_path: Path) -> None:
    """At the same port, with all that it had received; meanwhile nobody listens there."""
    with collector(tmp_path) as backend:
        for name in ("a", "b"):
            by_http(backend.http, traces(minimal(name)))
            backend.stop()
            assert [span.name for span in backend.spans()][-1] == name
            with pytest.raises(urllib.error.URLError):
                by_http(backend.http, traces(minimal("lost")))
            backend.start()
        assert [span.name for span in backend.spans()] == ["a", "b"]


@needs_collector
def test_text_must_be_utf8(tmp_path: Path) -> None:
    """The collector takes any bytes for text; who reads them back gets an error, not a repair."""
    with collector(tmp_path) as backend:
        request = traces(minimal("TEXT")).SerializeToString().replace(b"TEXT", b"a\xff\xc3b")
        post(f"{backend.http}/v1/traces", request)
        with pytest.raises(UnicodeDecodeError):
            backend.until(backend.spans)


@needs_prometheus
def test_two_resources_are_two_series(tmp_path: Path) -> None:
    """Prometheus tells them apart by job and instance; histograms become native ones."""
    request, now = ExportMetricsServiceRequest(), time.time_ns()
    for number, pod in enumerate("ab", 1):
        resource = request.resource_metrics.add()
        names = {"service.namespace": "ns", "service.name": "it", "service.instance.id": pod}
        resource.resource.attributes.extend(pairs(names))
        total, durations = (
            resource.scope_metrics.add().metrics.add(name=name, unit=unit)
            for name, unit in (("calls", "{call}"), ("duration", "s"))
        )
        total.sum.aggregation_temporality, total.sum.is_monotonic = CUMULATIVE, True
        total.sum.data_points.add(as_int=number, time_unix_nano=now)
        durations.exponential_histogram.aggregation_temporality = CUMULATIVE
        point = durations.exponential_histogram.data_points.add(
            count=number, sum=1.5 * number, scale=0, time_unix_nano=now
        )
        point.positive.bucket_counts.append(number)  # above 1, up to 2
    with prometheus_otlp(tmp_path) as backend:
        by_http(backend.otlp, request)
        until(lambda: backend.query("calls_total"), "they are there")
        found = {series.labels["instance"]: series for series in backend.query("calls_total")}
        assert {name: series.value for name, series in found.items()} == {"a": 1, "b": 2}
        assert {series.labels["job"] for series in found.values()} == {"ns/it"}
        for instance, number in {"a": 1, "b": 2}.items():
            histogram = f'duration_seconds{{instance="{instance}"}}'
            assert backend.value(f"histogram_count({histogram})") == number
            assert backend.value(f"histogram_sum({histogram})") == 1.5 * number
            assert backend.value(f"histogram_fraction(1, 2, {histogram})") == 1
        ((_, value, native),) = backend.query('duration_seconds{instance="b"}')
        assert value is None
        assert native is not None
        assert native["buckets"] == [[0, "1", "2", "2"]]
        assert backend.complaints() == []

"""From a bucket of a histogram to the span of a call in it, through real backends."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests import dashboards
from tests.caller import caller
from tests.caller import until as wait_until
from tests.harness import PATIENCE_S, exporter
from tests.integration import collector as otelcol
from tests.integration import prometheus_otlp as prometheus3
from tests.integration.collector import Collector, collector
from tests.integration.otlp_json import Exemplar, Metric, Point, Span
from tests.integration.prometheus_otlp import prometheus_otlp
from tests.kernel.spans import config
from tests.kernel.trees import until

needs_collector = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")
needs_prometheus = pytest.mark.skipif(
    prometheus3.MISSING is not None, reason=prometheus3.MISSING or ""
)

SPANS = {"processes": True, "syscalls": ["getppid"], "max_per_second": 1_000_000}
OTLP = {"metrics": True, "interval": "500ms", "shutdown_timeout": "30s"}
SCRAPED = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
storage: {{exemplars: {{max_exemplars: 20000}}}}
scrape_configs:
  - job_name: classic
    static_configs: [{{targets: ["{address}"]}}]
  - job_name: native
    scrape_native_histograms: true
    static_configs: [{{targets: ["{address}"]}}]
"""


def by_id(spans: list[Span]) -> dict[tuple[bytes, bytes], Span]:
    return {(span.trace_id, span.span_id): span for span in spans}


def of_getppid(metrics: list[Metric]) -> list[Point]:
    """Its histograms, as they came."""
    return [
        point
        for metric in metrics
        if metric.name == "proctree.syscall.duration"
        for point in metric.points
        if point.attributes["proctree.syscall"] == "getppid"
    ]


def exemplars(backend: Collector) -> list[Exemplar]:
    return [one for point in of_getppid(backend.metrics()) for one in point.exemplars]


@needs_collector
@pytest.mark.parametrize("temporality", ["cumulative", "delta"])
def test_points_lead_to_spans(
    temporality: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a point are calls that have a span, as long as that, and are in a bucket that is not
    empty; of a difference they are of its time."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", temporality)
    with collector(tmp_path) as backend, caller() as it:
        target = {"name": "it", "pid": it.pid, "spans": SPANS}
        with exporter(config(backend.http, target, otlp=OTLP)) as running:
            it.call(1009)
            until(running, lambda s: s.calls("it", "getppid") == 1009)
            backend.until(lambda: exemplars(backend), "there are exemplars")
            assert running.stop() == 0
        spans = by_id(backend.spans())
        calls = {key: span for key, span in spans.items() if span.name == "getppid"}
        assert len(calls) == 1009
        points = of_getppid(backend.metrics())
    for point in points:
        values = [one.value for one in point.exemplars]
        assert len(values) <= 10
        for one in point.exemplars:
            span = calls[one.trace_id, one.span_id]
            assert round(one.value * 10**9) == span.end_ns - span.start_ns
            assert one.time_ns == span.end_ns
            # By OpenTelemetry: above 2**(index / 2**scale), up to the next.
            assert any(
                2 ** (index / 2**point.scale) * (1 - 1e-12)
                < one.value
                <= 2 ** ((index + 1) / 2**point.scale) * (1 + 1e-12)
                for index in point.positive
            )
            if temporality == "delta":
                assert point.start_ns <= one.time_ns


@needs_prometheus
@needs_collector
def test_the_heatmaps_show_them(tmp_path: Path) -> None:
    """Asked as Grafana asks for the heatmaps of the dashboard *Tree*, which want exemplars: each is
    a span that the collector has. Classic buckets bring them, and native histograms."""
    kinds = ("classic", "native")
    with collector(tmp_path) as backend, prometheus_otlp(tmp_path) as server, caller() as it:
        target = {"name": "it", "pid": it.pid, "spans": SPANS}
        otlp = {"shutdown_timeout": "30s"}
        with exporter(config(backend.http, target, otlp=otlp)) as running:
            began = time.time()
            scrapes = SCRAPED.format(address=running.address)
            (tmp_path / "prometheus3.yml").write_text(scrapes)
            server.process.send_signal(signal.SIGHUP)

            def shown(kind: str) -> list[dict[str, Any]]:
                found = server.get(
                    "/api/v1/query_exemplars", query=heatmap(kind),
                    start=str(began - 60), end=str(time.time() + 60),
                )  # fmt: skip
                return [one for series in found["data"] for one in series["exemplars"]]

            it.call(1009)
            for kind in kinds:
                wait_until(lambda kind=kind: shown(kind), f"{kind}: exemplars", PATIENCE_S)
            it.call(1009)
            found = [one for kind in kinds for one in shown(kind)]
            assert running.stop() == 0
        spans = by_id(backend.spans())
    assert len(spans) == 2 * 1009 + 1
    for one in found:
        labels = one["labels"]
        span = spans[bytes.fromhex(labels["trace_id"]), bytes.fromhex(labels["span_id"])]
        assert span.name == "getppid"
        assert round(float(one["value"]) * 10**9) == span.end_ns - span.start_ns
        assert round(float(one["timestamp"]), 3) == pytest.approx(span.end_ns / 1e9, abs=0.002)


def heatmap(kind: str) -> str:
    """The query of a panel of getppid, of the job that scrapes this kind of histograms."""
    (panel,) = [
        one for one in dashboards.panels("tree")
        if one["type"] == "heatmap" and kind in one["title"]
    ]  # fmt: skip
    (query,) = panel["targets"]
    assert query["exemplar"] is True
    chosen = {"job": kind, "call": "getppid", "__rate_interval": "2s"}
    return dashboards.asked(query["expr"], dashboards.chosen("tree") | chosen)

"""A backend that is away, for any part of the exporter's life: counts do not care, spans wait."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller, caller
from tests.harness import PATIENCE_S, Exporter, Scrape, exporter, free_port
from tests.integration import collector as otelcol
from tests.integration.collector import Collector, collector
from tests.kernel.spans import config
from tests.kernel.trees import until
from tests.unit.otlp_server import deaf, otlp_server, status

needs_collector = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")
FAILURES = "proctree_exporter_export_failures_total"
DROPPED = "proctree_exporter_dropped_spans_total"
EVERY_CALL = {"syscalls": ["getppid"], "max_per_second": 1_000_000}
UNSENT = re.compile(r"(\d+) spans could not be sent before the end")


def target(it: Caller) -> dict[str, Any]:
    return {"name": "it", "pid": it.pid, "spans": EVERY_CALL}


def call(running: Exporter, it: Caller, times: int, in_all: int) -> Scrape:
    """Each call is counted, whatever becomes of its span."""
    it.call(times)
    scrape = running.scrape()
    assert scrape.calls("it", "getppid") == in_all
    assert scrape.timed("it", "getppid") == in_all
    assert scrape.lost() == 0
    return scrape


def failed(running: Exporter, more_than: float) -> dict[str, float]:
    """Once a try has."""
    scrape = until(running, lambda s: sum(s.all(FAILURES).values()) > more_than)
    return {reason: number for reason, number in scrape.all(FAILURES).items() if number}


def ids(backend: Collector) -> list[bytes]:
    return [span.span_id for span in backend.spans()]


@needs_collector
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_it_comes_and_goes(protocol: str, tmp_path: Path) -> None:
    """Away at the start, and again in the middle: in the end it has all spans, each once."""
    with collector(tmp_path) as backend, caller() as it:
        url = backend.grpc if protocol == "grpc" else backend.http
        backend.stop()
        otlp = {"protocol": protocol, "shutdown_timeout": "30s"}
        with exporter(config(url, target(it), otlp=otlp)) as running:
            call(running, it, 1009, in_all=1009)
            first = failed(running, more_than=0)
            assert set(first) == {"unreachable"}
            backend.start()
            backend.until(lambda: len(ids(backend)) == 1009, "what has waited is received")
            call(running, it, 499, in_all=1508)
            backend.until(lambda: len(ids(backend)) == 1508)
            backend.stop()
            call(running, it, 2003, in_all=3511)
            second = failed(running, more_than=sum(first.values()))
            assert set(second) == {"unreachable"}
            backend.start()
            backend.until(lambda: len(ids(backend)) == 3511, "what has waited is received")
            scrape = call(running, it, 31, in_all=3542)
            assert running.stop() == 0
        assert not any(scrape.all(DROPPED).values())
        assert len(ids(backend)) == len(set(ids(backend))) == 3542


@needs_collector
def test_a_queue_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has no room for is dropped and counted, what it has arrives."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1000")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "100")
    with collector(tmp_path) as backend, caller() as it:
        backend.stop()
        text = config(backend.http, target(it), otlp={"shutdown_timeout": "30s"})
        with exporter(text) as running:
            call(running, it, 5003, in_all=5003)
            # What is not queued or on its way: a batch is taken, so there may be room for that.
            scrape = until(running, lambda s: s.value(DROPPED, reason="queue_full") >= 3903)
            failed(running, more_than=0)
            backend.start()
            dropped = scrape.value(DROPPED, reason="queue_full")
            backend.until(lambda: len(ids(backend)) == 5003 - dropped)
            assert running.scrape().all(DROPPED) == scrape.all(DROPPED)
            assert running.stop() == 0
        assert len(set(ids(backend))) == len(ids(backend)) == 5003 - dropped


@pytest.mark.parametrize("backend", ["away", "deaf", "unavailable", "refusing"])
def test_the_end_without_a_backend(backend: str) -> None:
    """It ends by itself, well, and says how many spans were not sent: each is counted once."""
    with otlp_server() as server, deaf() as (silent, _), caller() as it:
        server.otherwise = status(503 if backend == "unavailable" else 400)
        port = {"away": free_port(), "deaf": silent}.get(backend, server.port)
        text = config(f"http://127.0.0.1:{port}", target(it), otlp={"metrics": True})
        with exporter(text) as running:
            scrape = call(running, it, 1009, in_all=1009)
            scrape = until(running, lambda s: has_tried(s, backend))
            it.call(499)
            running.process.terminate()
            assert running.process.wait(PATIENCE_S) == 0
            told = sum(int(number) for number in UNSENT.findall(running.log))
            assert "Traceback" not in running.log
        rejected = scrape.value(DROPPED, reason="rejected")
        came = sum(len(got.spans) for got in server.got if got.path == "/v1/traces")
    if backend == "refusing":
        assert (rejected, came) == (1009, 1009 + 499)
        assert told == 0
    else:
        assert (rejected, told) == (0, 1009 + 499)


def has_tried(scrape: Scrape, backend: str) -> bool:
    """And has an answer, where there will be one soon."""
    reason = {"away": "unreachable", "unavailable": "unavailable", "refusing": "bad_request"}
    return backend == "deaf" or scrape.value(FAILURES, reason=reason[backend]) > 0

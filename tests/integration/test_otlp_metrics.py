"""One reading, two worlds: what a collector was sent is what a scrape has, to the last call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter import __version__
from exporter.model.host import read_host
from tests.caller import Caller, caller
from tests.harness import Exporter, Scrape, Workload, build, exporter, workload
from tests.integration import collector as otelcol
from tests.integration.collector import Collector, collector
from tests.integration.kube.certificates import authority, signed
from tests.integration.otlp_twins import (
    Histogram,
    added,
    below,
    last_export,
    received,
    scraped,
    time_of,
)
from tests.kernel.spans import config
from tests.kernel.trees import until

pytestmark = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")

METRICS = {"metrics": True, "traces": False, "interval": "500ms", "shutdown_timeout": "30s"}
DURATION = "proctree_syscall_duration_seconds"


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("short_lives", tmp_path_factory.mktemp("programs"))


@contextmanager
def measured(
    lives: Path, endpoint: str, otlp: dict[str, Any]
) -> Iterator[tuple[Exporter, Workload, Caller]]:
    """Follows a tree of short lives by its PID, and a process by its cgroup's or program's name."""
    with workload(lives, "499", "31", "13") as tree, caller() as it:
        tree.expect("ready")
        targets = ({"name": "it", "pid": tree.pid}, {"name": "by é", "pid": it.pid, **GROUPED})
        with exporter(config(endpoint, *targets, otlp=otlp)) as running:
            yield running, tree, it


#: So that a label is an attribute beside the target's.
GROUPED = {"group_by": "comm"}


def work(running: Exporter, tree: Workload, it: Caller) -> None:
    """Returns when nothing moves any more."""
    tree.go()
    tree.expect("done")
    it.call(1009)
    scrape = until(running, lambda s: getppids(s, "by é") == 1009)
    assert getppids(scrape, "it") == 499 * 13
    assert scrape.lost() == 0


def getppids(scrape: Scrape, target: str) -> float:
    """Of all programs."""
    return sum(scrape.all("proctree_syscalls_total", target=target, syscall="getppid").values())


def next_export(backend: Collector) -> None:
    """Of a reading that was taken after this was called."""
    now_ns = time.time_ns()
    backend.until(lambda: time_of(backend.metrics()) > now_ns, "the next export is received")


def ways(folder: Path, way: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the collector and the exporter need for it."""
    protocol = "grpc" if way.startswith("grpc") else "http/protobuf"
    theirs: dict[str, Any] = {}
    ours: dict[str, Any] = {**METRICS, "protocol": protocol, "compression": "gzip"}
    if way.endswith("tls"):
        ca = authority(folder, "ca")
        server, client = signed(folder, "server", by=ca), signed(folder, "client", by=ca)
        theirs = {"tls": server, "client_ca": ca.certificate}
        ours |= {
            "certificate": str(ca.certificate), "client_certificate": str(client.certificate),
            "client_key": str(client.key),
        }  # fmt: skip
    return theirs, ours


@pytest.mark.parametrize("way", ["http", "http+tls", "grpc", "grpc+tls"])
def test_the_last_export_is_the_scrape(way: str, lives: Path, tmp_path: Path) -> None:
    """Counts, errors, every bucket, lives of processes, and since when each series is."""
    theirs, ours = ways(tmp_path, way)
    with collector(tmp_path, **theirs) as backend:
        endpoint = backend.grpc if way.startswith("grpc") else backend.http
        with measured(lives, endpoint, ours) as (running, tree, it):
            work(running, tree, it)
            next_export(backend)
            numbers = scraped(running)
            text = running.scrape()
            next_export(backend)
            export = last_export(backend.metrics())
            assert running.stop() == 0
            assert "level=error" not in running.log
            failures = text.all("proctree_exporter_export_failures_total")
    assert received(export) == numbers
    assert numbers["proctree_process_forks_total", frozenset({("target", "it")})].value == 499
    histograms = {
        dict(labels)["syscall"]: number.value
        for (name, labels), number in numbers.items()
        if name == DURATION and ("target", "it") in labels
    }
    assert histograms
    for syscall, histogram in histograms.items():
        assert isinstance(histogram, Histogram)
        labels = {"target": "it", "comm": "", "syscall": syscall}
        for le, value in text.all(f"{DURATION}_bucket", **labels).items():
            assert below(histogram, float(le)) == value
    assert not any(failures.values()), failures


def test_whose_they_are(lives: Path, tmp_path: Path) -> None:
    """Each target's numbers with a Resource of its own, those of the exporter with another."""
    host = read_host(Path("/"), Path("/proc"))
    shared = {"host.name": host.name, "host.id": host.id}
    with (
        collector(tmp_path) as backend,
        measured(lives, backend.http, METRICS) as (running, tree, it),
    ):
        work(running, tree, it)
        next_export(backend)
        export = last_export(backend.metrics())
    found = {str(metric.origin.resource["service.name"]): metric for metric in export}
    assert {name: metric.origin.resource for name, metric in found.items()} == {
        "it": {
            **shared, "service.name": "it", "service.instance.id": f"{host.id}:it",
            "process.pid": tree.pid,
        },
        "by é": {
            **shared, "service.name": "by é", "service.instance.id": f"{host.id}:by %C3%A9",
            "process.pid": it.pid,
        },
        "proctree-exporter": {
            **shared, "service.name": "proctree-exporter", "service.instance.id": host.id,
            "service.version": __version__,
        },
    }  # fmt: skip
    of = {
        name: {m.name for m in export if m.origin.resource["service.name"] == name}
        for name in found
    }
    assert of["it"] == of["by é"] | {"proctree.syscall.errors"}
    assert {"proctree.syscall.count", "proctree.process.exits"} <= of["it"]
    assert {"proctree.target.up", "proctree.exporter.series"} <= of["proctree-exporter"]
    assert not of["it"] & of["proctree-exporter"]
    assert {(m.origin.scope, m.origin.version) for m in export} == {
        ("proctree-exporter", __version__)
    }


def test_differences_add_up(lives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `delta`, to the counters: also over a time when the collector is away."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
    failures = "proctree_exporter_export_failures_total"
    with collector(tmp_path) as backend:
        # A request that is given up may have been taken: nothing here is to take that long.
        slow = {**METRICS, "interval": "3s"}
        with measured(lives, backend.http, slow) as (running, tree, it):
            it.call(499)
            next_export(backend)
            backend.stop()
            work_after = 1009 - 499
            tree.go()
            tree.expect("done")
            until(running, lambda s: sum(s.all(failures).values()) >= 1)
            backend.start()
            it.call(work_after)
            next_export(backend)
            it.call(2003)
            numbers = scraped(running)
            assert running.stop() == 0
    counters = {key: number.value for key, number in numbers.items() if number.since_ns}
    sums = added(backend.metrics())
    calls = frozenset({("target", "it"), ("syscall", "getppid")})
    assert sums["proctree_syscalls_total", calls] == 499 * 13
    assert {key: without_sum(value) for key, value in counters.items()} == sums


def without_sum(value: float | Histogram) -> float | Histogram:
    """Floats do not add up to the last bit."""
    return value._replace(sum=0) if isinstance(value, Histogram) else value

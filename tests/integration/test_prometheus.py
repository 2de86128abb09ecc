"""A real Prometheus scrapes the real exporter, classic and native, and reads the exact numbers."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.caller import caller, until
from tests.harness import Exporter, exporter, free_port

BINARY = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(BINARY is None, reason="prometheus is not on PATH: use make test")

CALLS = 50_021
HISTOGRAM = 'proctree_syscall_duration_seconds{target="it",syscall="getppid"}'
COUNTER = 'proctree_syscalls_total{target="it",syscall="getppid"}'
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: proctree
    static_configs: [{{targets: ["{address}"]}}]
"""


class Prometheus:
    """One that scrapes one exporter every second."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self._port, self._log = process, port, log
        self.classic: dict[str, float] = {}  # of the histogram, as the exporter's text has them

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str, **parameters: str) -> Any:
        url = f"http://127.0.0.1:{self._port}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.load(response)

    def query(self, expression: str) -> list[float]:
        """The values of an instant query, one per series; empty as long as it does not answer."""
        assert self.process.poll() is None, self.log
        try:
            found = self.get("/api/v1/query", query=expression)
        except (urllib.error.URLError, ConnectionError):
            return []
        return [float(series["value"][1]) for series in found["data"]["result"]]

    def one(self, expression: str) -> float:
        (value,) = self.query(expression)
        return value

    def complaints(self) -> list[str]:
        """What it logged beyond information."""
        return [line for line in self.log.splitlines() if "level=info" not in line]


@contextmanager
def prometheus(running: Exporter, folder: Path, *flags: str) -> Iterator[Prometheus]:
    assert BINARY
    config, log, port = folder / "prometheus.yml", folder / "prometheus.log", free_port()
    config.write_text(CONFIG.format(address=running.address))
    command = [
        BINARY, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", *flags,
    ]  # fmt: skip
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, text=True)
    try:
        yield Prometheus(process, port, log)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def scraped(config: str, folder: Path, *flags: str) -> Iterator[Prometheus]:
    """A Prometheus that has scraped all of the calls of the workload, and once more after them."""
    with caller() as it, exporter(config.format(pid=it.pid)) as running:
        with prometheus(running, folder, *flags) as server:
            until(lambda: server.query("up == 1"), "Prometheus has scraped")
            it.call(CALLS)
            published = running.scrape()
            assert published.calls("it", "getppid") == CALLS
            buckets = "proctree_syscall_duration_seconds_bucket"
            server.classic = published.all(buckets, target="it", syscall="getppid")
            until(lambda: server.query(f"{COUNTER} == {CALLS}"), "it has scraped all calls")
            until(lambda: server.query("count_over_time(up[10m]) > 3"), "it has scraped again")
            yield server
            (target,) = server.get("/api/v1/targets")["data"]["activeTargets"]
            assert (target["health"], target["lastError"]) == ("up", "")
            assert server.query("count_over_time((up == 0)[10m:1s])") == []
            assert server.complaints() == []
        assert "level=error" not in running.log


def test_classic(tmp_path: Path) -> None:
    """Text: the counter, the histogram's count and its +Inf bucket are N, exactly."""
    with scraped("[{{name: it, pid: {pid}}}]", tmp_path) as server:
        name, labels = HISTOGRAM.split("{")
        assert server.one(COUNTER) == CALLS
        assert server.one(f"{name}_count{{{labels}") == CALLS
        assert server.one(f'{name}_bucket{{le="+Inf",{labels}') == CALLS
        assert server.one(f"{name}_sum{{{labels}") > 0
        assert server.one("up") == 1
        # Twelve powers of four more, and none of them above the next.
        buckets = server.query(f"sort({name}_bucket{{{labels})")
        assert len(buckets) == 14
        assert max(buckets) == CALLS
        assert server.query(f"{name}_bucket{{{labels} > ignoring(le) group_left {COUNTER}") == []
        # What Prometheus stored is what was in the text: nothing twice, nothing refused.
        exposed = server.one("scrape_samples_scraped")
        assert server.one("scrape_samples_post_metric_relabeling") == exposed
        assert server.one('count({job="proctree",__name__!~"scrape_.*|up"})') == exposed


@pytest.mark.parametrize("scale", [0, 2, 3])
def test_native(scale: int, tmp_path: Path) -> None:
    """Protobuf: count and buckets are N, exactly, and the schema is the scale of the kernel's."""
    config = (
        f"{{{{targets: [{{{{name: it, pid: {{pid}}}}}}], histograms: {{{{scale: {scale}}}}}}}}}"
    )
    with scraped(config, tmp_path, "--enable-feature=native-histograms") as server:
        assert server.one("up") == 1
        assert server.one(COUNTER) == CALLS
        assert server.one(f"histogram_count({HISTOGRAM})") == CALLS
        assert server.one(f"histogram_fraction(0, +Inf, {HISTOGRAM})") == 1
        total = server.one(f"histogram_sum({HISTOGRAM})")
        median = server.one(f"histogram_quantile(0.5, {HISTOGRAM})")
        assert 0 < median * CALLS / 2 < total * 2 ** (1 / (1 << scale))
        # At the bounds of classic buckets both must tell the same: bounds are the right ones.
        for bound, count in server.classic.items():
            below = server.one(f"histogram_fraction(0, {bound}, {HISTOGRAM})")
            assert below * CALLS == pytest.approx(count, abs=1e-3)
        found = server.get("/api/v1/query", query=HISTOGRAM)["data"]["result"]
        (histogram,) = [series["histogram"][1] for series in found]
        assert float(histogram["count"]) == CALLS
        assert sum(float(bucket[3]) for bucket in histogram["buckets"]) == CALLS
        for _, low, high, _ in histogram["buckets"]:
            assert float(high) / float(low) == pytest.approx(2 ** (1 / (1 << scale)), rel=1e-9)

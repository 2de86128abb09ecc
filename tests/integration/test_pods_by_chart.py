"""The chart's default config and its PodMonitor, by a real exporter and a real Prometheus: whose
series are whose.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.caller import until
from tests.harness import exporter, free_port
from tests.helm.chart import config, needs_helm, one, render
from tests.integration.following import sees
from tests.integration.kube.cluster import MISSING
from tests.integration.kube.node import Node

PROMETHEUS = shutil.which("prometheus3")
pytestmark = [
    needs_helm,
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
    pytest.mark.skipif(not PROMETHEUS, reason="prometheus3 is not on PATH: use make tools"),
]
OURS = {"node": "worker-1", "exporter_pod": "proctree-abcde", "job": "proctree-exporter"}
OF_OTHERS = {"workload": "not-ours"}  # a label that somebody gives to all targets
Series = tuple[dict[str, str], float]


def snake(value: Any) -> Any:
    """Keys as Prometheus writes what its operator writes in camel case."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if isinstance(value, dict):
        return {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", k): v for k, v in value.items()}
    return value


def job(spec: dict[str, Any], address: str) -> dict[str, Any]:
    """What the operator makes of a PodMonitor, for one pod that was found."""
    (endpoint,) = spec["podMetricsEndpoints"]
    labels = {
        "__meta_kubernetes_pod_node_name": OURS["node"],
        "__meta_kubernetes_pod_name": OURS["exporter_pod"],
        # These it gives to all targets, before the relabelings of the PodMonitor.
        "namespace": "monitoring",
        "pod": OURS["exporter_pod"],
        "container": "exporter",
        "endpoint": endpoint["port"],
        "job": "monitoring/proctree",
    }
    return {
        "job_name": "podMonitor/monitoring/proctree/0",
        "honor_labels": endpoint["honorLabels"],
        "scrape_interval": "1s",
        "scrape_timeout": "1s",
        "scrape_protocols": spec["scrapeProtocols"],
        "scrape_native_histograms": spec["scrapeNativeHistograms"],
        "always_scrape_classic_histograms": spec["scrapeClassicHistograms"],
        "static_configs": [{"targets": [address], "labels": labels}],
        "relabel_configs": snake(endpoint["relabelings"]),
    }


@contextmanager
def prometheus(scraping: dict[str, Any], folder: Path) -> Iterator[Callable[[str], list[Series]]]:
    """Gives what answers instant queries, by labels; nothing as long as it does not answer."""
    assert PROMETHEUS
    file, log, port = folder / "prometheus.yml", folder / "prometheus.log", free_port()
    file.write_text(json.dumps({"scrape_configs": [scraping]}))
    address = f"127.0.0.1:{port}"

    def query(expression: str) -> list[Series]:
        url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with suppress(OSError), urllib.request.urlopen(url, timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
            return [(series["metric"], float(series["value"][1])) for series in found]
        return []

    command = [
        PROMETHEUS, f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]  # fmt: skip
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        yield query
    finally:
        process.terminate()
        process.wait()


def test_series_say_whose_they_are(here: Node, tmp_path: Path) -> None:
    """Series of a pod have its names, ours have none of ours; histograms come in both forms."""
    monitor: dict[str, Any] = {"enabled": True, "scrapeNativeHistograms": True}
    monitor["relabelings"] = [{"targetLabel": k, "replacement": v} for k, v in OF_OTHERS.items()]
    manifests = render({"config": yaml.safe_load(here.config()), "podMonitor": monitor})
    with exporter(config(manifests)) as running:
        here.pod("web").run(children=3, calls=7)
        sees(running, {"main,default,web,web": 28.0}, target="pods")
        scraping = job(one(manifests, "PodMonitor")["spec"], running.address)
        with prometheus(scraping, tmp_path) as query:
            until(lambda: query("up == 1"), "it has scraped")
            ours = OURS | OF_OTHERS | {"instance": running.address}
            (up, _), *others = query("up")
            assert (up, others) == ({"__name__": "up", **ours}, [])
            (own, _), *others = query("proctree_exporter_series")
            assert (own, others) == ({"__name__": "proctree_exporter_series", **ours}, [])
            pod = {"target": "pods", "namespace": "default", "pod": "web", "container": "main"}
            labels = ours | pod | {"workload": "web", "syscall": "getpgid"}
            assert query('proctree_syscalls_total{syscall="getpgid"}') == [
                ({"__name__": "proctree_syscalls_total", **labels}, 28.0)
            ]
            native = 'histogram_count(proctree_syscall_duration_seconds{syscall="getpgid"})'
            assert query(native) == [(labels, 28.0)]
            classic = 'proctree_syscall_class_duration_seconds_bucket{le="+Inf",class="process"}'
            (buckets, _), *others = query(classic)
            assert (buckets["pod"], others) == ("web", [])

"""A real Prometheus that scrapes an exporter, and is asked as Grafana asks it."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests import dashboards
from tests.caller import until
from tests.dashboards import Query
from tests.harness import PATIENCE_S, ROOT, free_port

SCRAPE_S = 2
#: Those of the target `it` get a namespace and a pod, those of the others have neither.
_CONFIG = """
global: {{scrape_interval: {interval}s, scrape_timeout: {interval}s, evaluation_interval: 1s}}
{rules}
scrape_configs:
  - job_name: proctree
    {native}
    static_configs: [{{targets: ["{address}"]}}]
    metric_relabel_configs:
      - {{source_labels: [target], regex: it, target_label: namespace, replacement: shop}}
      - {{source_labels: [target], regex: it, target_label: pod, replacement: web-0}}
"""


class Series(NamedTuple):
    """One of a result; its last value, where it is a number."""

    labels: Mapping[str, str]
    value: float
    histogram: Mapping[str, Any] | None = None


class Server:
    """`native`: it takes native histograms only, and has the recording rules; else it takes classic
    ones, and has no rules."""

    def __init__(self, url: str, native: bool) -> None:
        self.url, self.native = url, native
        self.now = 0  # all queries are asked as of then
        self.variables = {
            "__rate_interval": "20s",
            "__interval": "6s",
            "__interval_ms": "6000",
            "unrecorded": "()" if native else "proctree",
        }

    def is_ready(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/-/ready", timeout=PATIENCE_S).close()
        except urllib.error.URLError:
            return False
        return True

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer, which must be without a warning."""
        body = urllib.parse.urlencode(parameters).encode()
        try:
            with urllib.request.urlopen(f"{self.url}{path}", body, timeout=PATIENCE_S) as response:
                found = json.load(response)
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{parameters}: {e.read().decode()}") from None
        assert not found.get("warnings"), found["warnings"]
        return found["data"]

    def instant(self, expr: str) -> list[Series]:
        """As of `now`, or of this moment."""
        at = {"time": str(self.now)} if self.now else {}
        data = self.get("/api/v1/query", query=expr, **at)
        if data["resultType"] == "scalar":
            return [Series({}, float(data["result"][1]))]
        return [
            Series(
                found["metric"],
                float(found.get("value", (0, "nan"))[1]),
                found.get("histogram", (0, None))[1],
            )
            for found in data["result"]
        ]

    def until(self, expr: str) -> None:
        """Waits until an expression has a result."""
        until(lambda: self.instant(expr), f"Prometheus has {expr}", 4 * PATIENCE_S)

    def one(self, expr: str) -> float:
        (found,) = self.instant(expr)
        return found.value

    def range(self, expr: str, seconds: int) -> list[Series]:
        """The last numbers of what a graph shows that ends now; series without any are left out."""
        data = self.get(
            "/api/v1/query_range", query=expr, start=str(self.now - seconds // 2 * 2),
            end=str(self.now), step="2",
        )  # fmt: skip
        found = []
        for series in data["result"]:
            numbers = [float(value) for _, value in series.get("values", ()) if value != "NaN"]
            histograms = [value for _, value in series.get("histograms", ())] or [None]
            if numbers or histograms[-1]:
                last = numbers[-1] if numbers else math.nan
                found.append(Series(series["metric"], last, histograms[-1]))
        return found

    def expr(self, query: Query, **changed: str) -> str:
        """What Grafana would send with these variables; `tree` shows the target `it`."""
        values = dashboards.chosen(query.dashboard) | self.variables
        if query.dashboard == "tree":
            values["target"] = "it"
        return dashboards.asked(query.expr, values | changed)

    def ask(self, query: Query, **changed: str) -> list[Series]:
        """A table is of now, a graph of all of `__range`."""
        expr = self.expr(query, **changed)
        if query.instant:
            return self.instant(expr)
        return self.range(expr, int((self.variables | changed)["__range"].removesuffix("s")))

    def list(self, variable: Mapping[str, Any], dashboard: str) -> list[str]:
        """The values of a variable, as Grafana makes them."""
        function, arguments = dashboards.variable_query(variable)
        values = dashboards.chosen(dashboard) | self.variables
        if function == "query_result":
            found = self.instant(dashboards.asked(arguments, values))
            texts = (",".join(f'{k}="{v}"' for k, v in one.labels.items()) for one in found)
            wanted = re.compile(variable["regex"].strip("/"))
            return sorted(match[1] for text in texts if (match := wanted.search(text)))
        assert function == "label_values"
        selector, _, label = arguments.rpartition(", ")
        match = dashboards.asked(selector, values)
        parameters = urllib.parse.urlencode({"match[]": match})
        url = f"{self.url}/api/v1/label/{label}/values?{parameters}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
            return sorted(json.load(response)["data"])


@contextmanager
def server(
    address: str, folder: Path, *, native: bool, interval: int = SCRAPE_S
) -> Iterator[Server]:
    """Debian's for classic histograms, one of version 3 for native ones: the oldest and the newest
    that we know."""
    folder.mkdir()
    binary = shutil.which("prometheus3" if native else "prometheus")
    assert binary
    port, log = free_port(), folder / "log"
    rules = f"rule_files: [{ROOT / 'dashboards/rules/recording.yaml'}]" if native else ""
    mode = "scrape_native_histograms: true" if native else ""
    (folder / "prometheus.yml").write_text(
        _CONFIG.format(interval=interval, address=address, rules=rules, native=mode)
    )
    command = [
        binary, f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        found = Server(f"http://127.0.0.1:{port}", native)
        until(found.is_ready, "Prometheus is ready", PATIENCE_S)
        yield found
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait()

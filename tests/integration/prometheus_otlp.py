"""A Prometheus that receives OTLP, as a process: Debian's does not, so it is one of version 3."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.caller import until
from tests.harness import PATIENCE_S, free_port

BINARY = shutil.which("prometheus3")
MISSING = None if BINARY else "prometheus3 is not on PATH: use make tools"


class Series(NamedTuple):
    """One of an instant query's result."""

    labels: dict[str, str]
    value: float | None  # None: it is a histogram
    histogram: dict[str, Any] | None  # count, sum and buckets, as the API has them


class PrometheusOtlp:
    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process, self.url, self._log = process, url, log

    @property
    def otlp(self) -> str:
        """The endpoint: to it /v1/metrics is added."""
        return f"{self.url}/api/v1/otlp"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str, **parameters: str) -> Any:
        url = f"{self.url}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
            return json.load(response)

    def query(self, expression: str) -> list[Series]:
        """All series of an instant query, now."""
        found = self.get("/api/v1/query", query=expression)["data"]["result"]
        return [
            Series(
                series["metric"],
                float(series["value"][1]) if "value" in series else None,
                series["histogram"][1] if "histogram" in series else None,
            )
            for series in found
        ]

    def value(self, expression: str) -> float:
        """Of a query that must give one number."""
        ((_, value, _),) = self.query(expression)
        assert value is not None, f"{expression} is a histogram"
        return value

    def complaints(self) -> list[str]:
        """What it logged beyond information."""
        return [line for line in self.log.splitlines() if "level=INFO" not in line]


@contextmanager
def prometheus_otlp(folder: Path, *flags: str) -> Iterator[PrometheusOtlp]:
    """One that is ready, scrapes nobody and keeps exemplars; it is ended at the end."""
    assert BINARY
    config, log = folder / "prometheus3.yml", folder / "prometheus3.log"
    config.write_text("storage: {exemplars: {max_exemplars: 10000}}\n")
    address = f"127.0.0.1:{free_port()}"
    command = [
        BINARY, f"--config.file={config}", f"--storage.tsdb.path={folder / 'prometheus3'}",
        f"--web.listen-address={address}", "--web.enable-otlp-receiver",
        "--enable-feature=exemplar-storage", *flags,
    ]  # fmt: skip
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    it = PrometheusOtlp(process, f"http://{address}", log)

    def ready() -> bool:
        assert process.poll() is None, it.log
        try:
            with urllib.request.urlopen(f"{it.url}/-/ready", timeout=PATIENCE_S):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    try:
        until(ready, "Prometheus is ready", PATIENCE_S)
        yield it
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, it.log
    finally:
        process.kill()
        process.wait()

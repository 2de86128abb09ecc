"""An OpenTelemetry Collector as a process: receives by OTLP, and tells what it has received."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.caller import until
from tests.harness import PATIENCE_S, free_port
from tests.integration import otlp_json
from tests.integration.kube.certificates import Pair
from tests.integration.otlp_json import Metric, Span

T = TypeVar("T")

BINARY = shutil.which("otelcol")
MISSING = None if BINARY else "otelcol is not on PATH: use make tools"


class Collector:
    """May be stopped and started again, at the same ports; nothing received is forgotten."""

    def __init__(self, folder: Path, tls: Pair | None, client_ca: Path | None) -> None:
        self._config, self._log = folder / "otelcol.json", folder / "otelcol.log"
        self._received, self._offset = folder / "received.jsonl", 0
        self._spans: list[Span] = []
        self._metrics: list[Metric] = []
        scheme = "https" if tls else "http"
        grpc, http = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.grpc, self.http = f"{scheme}://{grpc}", f"{scheme}://{http}"
        protocols = {
            name: {"endpoint": address, **({"tls": _tls(tls, client_ca)} if tls else {})}
            for name, address in {"grpc": grpc, "http": http}.items()
        }
        # It writes what it has received when its buffer is full, or when this interval has passed.
        file = {"path": str(self._received), "append": True, "flush_interval": "10ms"}
        pipeline = {"receivers": ["otlp"], "exporters": ["file"]}
        config = {
            "receivers": {"otlp": {"protocols": protocols}},
            "exporters": {"file": file},
            "service": {"pipelines": {"traces": pipeline, "metrics": pipeline}},
        }
        self._config.write_text(json.dumps(config))  # is YAML
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Returns when it listens."""
        assert BINARY
        before = self.log.count("Everything is ready") if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [BINARY, f"--config={self._config}"], stdout=log, stderr=log
            )
        self.until(lambda: self.log.count("Everything is ready") > before, "it is ready")

    def stop(self) -> None:
        """It writes all that it has received, and ends."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            # For a moment after it is ready, a signal still ends it as it does any process.
            assert self._process.wait(PATIENCE_S) in (0, -signal.SIGTERM), self.log

    def kill(self) -> None:
        """Ends it if it still lives."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def spans(self) -> list[Span]:
        """All that were received, in that order."""
        self._read()
        return self._spans.copy()

    def metrics(self) -> list[Metric]:
        """All that were received, in that order: each export anew."""
        self._read()
        return self._metrics.copy()

    def until(self, condition: Callable[[], T], what: str = "it is received") -> T:
        """Waits for something true, as long as the collector lives."""

        def lives_and() -> T:
            assert self._process and self._process.poll() is None, self.log
            return condition()

        return until(lives_and, what, PATIENCE_S)

    def _read(self) -> None:
        """Whole lines only, of which each is a request; not UTF-8 is an error."""
        if not self._received.exists():
            return
        with self._received.open("rb") as file:
            file.seek(self._offset)
            *lines, _ = file.read().split(b"\n")
        for line in lines:
            self._offset += len(line) + 1
            request = json.loads(line.decode())
            if "resourceSpans" in request:
                self._spans += otlp_json.spans(request)
            if "resourceMetrics" in request:
                self._metrics += otlp_json.metrics(request)


def _tls(own: Pair, client_ca: Path | None) -> dict[str, Any]:
    found = {"cert_file": str(own.certificate), "key_file": str(own.key)}
    return found | ({"client_ca_file": str(client_ca)} if client_ca else {})


@contextmanager
def collector(
    folder: Path, *, tls: Pair | None = None, client_ca: Path | None = None
) -> Iterator[Collector]:
    """One that is ready; it is ended at the end.

    With `tls` it shows this certificate, by both protocols; with `client_ca` it also wants one from
    its clients that this authority has signed.
    """
    it = Collector(folder, tls, client_ca)
    try:
        it.start()
        yield it
        it.stop()
    finally:
        it.kill()

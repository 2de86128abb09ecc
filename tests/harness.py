"""Runs the real exporter and known workloads, and reads what was published."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "tests/kernel/workloads"
COMMAND = [sys.executable, "-m", "exporter"]
#: Seconds to wait for what must happen, before a test says that it does not; more in a slow VM.
PATIENCE_S = float(os.environ.get("TEST_PATIENCE_S", "60"))
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scrape:
    """One exposition, looked up by name and labels."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.samples: Samples = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples, f"exposed twice: {key}"
                self.samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        """One sample; 0 where it is not there."""
        return self.samples.get((name, frozenset(labels.items())), 0)

    def all(self, name: str, **labels: str) -> dict[str, float]:
        """Samples of a name that have these labels, by the values of their other labels."""
        wanted = set(labels.items())
        return {
            ",".join(value for _, value in sorted(found - wanted)): number
            for (sample, found), number in self.samples.items()
            if sample == name and wanted <= found
        }

    def calls(self, target: str, syscall: str) -> float:
        return self.value("proctree_syscalls_total", target=target, syscall=syscall)

    def timed(self, target: str, syscall: str) -> float:
        name = "proctree_syscall_duration_seconds_count"
        return self.value(name, target=target, syscall=syscall)

    def errors(self, target: str, syscall: str) -> dict[str, float]:
        return self.all("proctree_syscall_errors_total", target=target, syscall=syscall)

    def lost(self) -> float:
        return sum(self.all("proctree_exporter_lost_calls_total").values())


class Exporter:
    """A running `serve`."""

    def __init__(
        self, process: subprocess.Popen[str], address: str, log: Path, config: Path
    ) -> None:
        self.process, self.address, self._log, self.config = process, address, log, config

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str = "/metrics", **headers: str) -> bytes:
        request = urllib.request.Request(f"http://{self.address}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return bytes(response.read())

    def scrape(self) -> Scrape:
        return Scrape(self.get().decode())

    def reload(self) -> None:
        """Asks for a reload and waits until it is done; needs --web.enable-lifecycle."""
        request = urllib.request.Request(f"http://{self.address}/-/reload", method="POST")
        urllib.request.urlopen(request, timeout=PATIENCE_S).read()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def exporter(
    config: str, *flags: str, command: Sequence[str] = COMMAND, ready: bool = True
) -> Iterator[Exporter]:
    """Starts `serve` with this config on a free port, and waits until it is ready."""
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder, "config.yaml"), Path(folder, "log")
        path.write_text(config)
        port = free_port()
        address = f"127.0.0.1:{port}"
        arguments = [
            *command, "serve", f"--config.file={path}", f"--web.listen-address={address}", *flags,
        ]  # fmt: skip
        with log.open("w") as stream:
            process = subprocess.Popen(arguments, stdout=stream, stderr=stream, text=True, cwd=ROOT)
        running = Exporter(process, address, log, path)
        try:
            if ready:
                wait_ready(running)
            yield running
        except BaseException:
            print(f"exporter {process.pid}, status {process.poll()}, said:\n{running.log}")
            raise
        finally:
            try:
                if process.poll() is None:
                    running.stop()
            finally:
                process.kill()  # where a test failed in the middle, it may not listen to us
                process.wait()


def wait_ready(running: Exporter) -> None:
    while True:
        assert running.process.poll() is None, f"the exporter ended: {running.log}"
        try:
            running.get("/-/ready")
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Workload:
    """A C workload that says `word PID` and waits for a line, as often as it likes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def expect(self, word: str) -> list[str]:
        """Reads a line that must begin with `word`; returns the other words."""
        assert self.process.stdout
        line = self.process.stdout.readline().split()
        assert line and line[0] == word, f"expected {word!r}, found {line}"
        return line[1:]

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait()


@contextmanager
def workload(
    binary: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[Workload]:
    """Starts a workload; it is ended at the end, with its process group."""
    process = subprocess.Popen(
        [str(binary), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True, env=env,
    )  # fmt: skip
    try:
        yield Workload(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def build(name: str, folder: Path, *flags: str) -> Path:
    """Compiles tests/kernel/workloads/NAME.c."""
    binary = folder / (name + "".join(flags).replace("-", "_"))
    if not binary.exists():
        source = WORKLOADS / f"{name}.c"
        subprocess.run(
            ["gcc", "-O1", "-Wall", "-Werror", "-pthread", *flags, str(source), "-o", str(binary)],
            check=True,
        )
    return binary

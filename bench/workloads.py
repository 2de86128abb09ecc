"""The C programs of this folder, built and running."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness import Workload, workload

HERE = Path(__file__).resolve().parent


class Binaries:
    """Compiled into a folder that the caller throws away."""

    def __init__(self, folder: Path) -> None:
        self.loop, self.crowd = folder / "loop", folder / "crowd"
        for binary in (self.loop, self.crowd):
            source = HERE / f"{binary.name}.c"
            subprocess.run(
                ["gcc", "-O1", "-Wall", "-Werror", str(source), "-o", str(binary)], check=True
            )


class Loop:
    """A running loop.c."""

    def __init__(self, running: Workload) -> None:
        self._running = running
        self.pid = int(running.expect("loop")[0])
        self.calls = 0

    def best_ns(self, batches: int, calls: int) -> float:
        """ns per call of the fastest batch."""
        stdin = self._running.process.stdin
        assert stdin
        stdin.write(f"{batches} {calls}\n")
        stdin.flush()
        self.calls += batches * calls
        return float(self._running.expect("best")[0])


class Crowd:
    """A running crowd.c."""

    def __init__(self, running: Workload) -> None:
        self._running = running
        self.pid, *self.children = map(int, running.expect("crowd"))

    def make_calls(self) -> None:
        """Returns when all have made all their calls."""
        self._running.go()
        self._running.expect("done")


@contextmanager
def loop(binaries: Binaries, cpu: int) -> Iterator[Loop]:
    with workload(binaries.loop, str(cpu)) as running:
        yield Loop(running)


@contextmanager
def crowd(binaries: Binaries, processes: int, times: int) -> Iterator[Crowd]:
    with workload(binaries.crowd, str(processes), str(times)) as running:
        yield Crowd(running)

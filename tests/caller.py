"""A process that makes exactly as many calls as it is told to, and ways to wait for events."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# os.getppid is one system call each time: neither Python nor the C library remembers the answer.
_PROGRAM = """
import os, sys
for line in sys.stdin:
    for _ in range(int(line)):
        os.getppid()
    print("done", flush=True)
"""


class Caller:
    """Waits until it is told how many `getppid` calls to make."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def call(self, times: int) -> None:
        """Returns when they are made."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def caller() -> Iterator[Caller]:
    """Starts one, ready to call; it is ended at the end."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        ready = Caller(process)
        ready.call(0)
        try:
            yield ready
        finally:
            process.kill()


def until(condition: Callable[[], T], what: str, seconds: float = 60) -> T:
    """Waits until `condition` gives something true, and returns that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)
    return found


def children(pid: int) -> list[int]:
    """The child processes of a process's main thread, which must be alive."""
    assert alive(pid), f"process {pid} has ended"
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def born(pid: int) -> float:
    """When a process was, in seconds since the epoch, to a hundredth."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + ticks / os.sysconf("SC_CLK_TCK")

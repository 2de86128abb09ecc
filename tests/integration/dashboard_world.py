"""Known workloads for the dashboards: what is usual, then what is new, slow, stuck or killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.harness import Exporter, exporter
from tests.integration.dashboard_server import SCRAPE_S, Server, server

CALLS, MISSES, NEW = 50_021, 220, 7
_CONFIG = """
targets:
  - {{name: it, pid: {it}}}
  - {{name: neighbour, pid: {neighbour}}}
  - {{name: late, pidfile: {late}}}
  - {{name: again, pidfile: {again}}}
  - {{name: gone, cgroup: /proctree-none.slice}}
self_cost: true
"""
_PROGRAM = """
import os, signal, socket, struct, sys
ends = socket.socketpair()
def receive(seconds):
    whole = int(seconds)
    wait = struct.pack("ll", whole, int((seconds - whole) * 1e6))
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, wait)
    fails(ends[0].recv, 1)
def fails(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass
def child(end):
    pid = os.fork()
    if not pid:
        end()
    os.waitpid(pid, 0)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Puppet:
    """A process that does what it is told, a line of Python at a time, and waits in `read` else."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.pid = process, process.pid

    def do(self, line: str) -> None:
        """Returns when it is done."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def leave(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def puppet() -> Iterator[Puppet]:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        ready = Puppet(process)
        ready.do("pass")
        try:
            yield ready
        finally:
            process.kill()


class World(NamedTuple):
    """`native` and `classic` have scraped the same. `again` is a service's second process."""

    native: Server
    classic: Server
    exporter: Exporter
    again: Puppet


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """All is over, and has been scraped. What is shown begins when the new things do."""
    with ExitStack() as stack:
        it, neighbour, late, old = (stack.enter_context(puppet()) for _ in range(4))
        pidfile, service = folder / "late.pid", folder / "again.pid"
        service.write_text(str(old.pid))
        config = _CONFIG.format(it=it.pid, neighbour=neighbour.pid, late=pidfile, again=service)
        running = stack.enter_context(exporter(config))
        native, classic = both = [
            stack.enter_context(server(running.address, folder / name, native=name == "native"))
            for name in ("native", "classic")
        ]
        _before(both, it)
        began = int(time.time())
        again = stack.enter_context(puppet())
        service.write_text(str(again.pid))
        old.leave()
        pidfile.write_text(str(late.pid))
        _after(both, it, neighbour, late)
        now = int(time.time())
        for one in both:
            one.now = now
            one.variables |= {"__range": f"{now - began}s", "recent": f"{now - began}s"}
        yield World(native, classic, running, again)


def _until(both: Sequence[Server], expr: str) -> None:
    """Waits until an expression has a result in both."""
    for one in both:
        one.until(expr)


def _before(both: Sequence[Server], it: Puppet) -> None:
    """Calls that return at once, and failures that are nothing new."""
    _until(both, "count_over_time(up[10m]) > 1")
    it.do("os.getppid(); receive(0.001)")
    time.sleep(2 * SCRAPE_S)
    it.do("[receive(0.001) for _ in range(100)]")
    it.do(f"[fails(os.stat, '/none') for _ in range({MISSES})]")
    _until(both, f'sum(proctree_syscall_errors_total{{target="it",errno="ENOENT"}}) >= {MISSES}')
    time.sleep(2 * SCRAPE_S)


def _after(both: Sequence[Server], it: Puppet, neighbour: Puppet, late: Puppet) -> None:
    """A call and its errno are new, children end in every way, many calls are made, one is slow."""
    _until(both, 'proctree_target_up{target="late"} == 1')
    for one in (it, late):
        one.do(f"[fails(os.mkdir, '/') for _ in range({NEW - 2})]")
    time.sleep(2 * SCRAPE_S)
    for one in (it, late):
        one.do("[fails(os.mkdir, '/') for _ in range(2)]")
    for end in (
        "os._exit(0)",
        "os._exit(0)",
        "os._exit(1)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    ):
        it.do(f"child(lambda: {end})")
    for one in (it, neighbour):
        one.do(f"[os.getppid() for _ in range({CALLS})]")
    it.do("[receive(1) for _ in range(4)]")
    read = 'proctree_syscall_oldest_in_flight_seconds{syscall="read"} > 10.5'
    _until(both, f"count({read}) == 4")
    _until(both, f'proctree_syscalls_total{{target="it",syscall="getppid"}} == {CALLS + 1}')
    time.sleep(2)  # for the rules

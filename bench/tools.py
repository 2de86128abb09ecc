"""Other people's tools, doing the nearest thing to what ours does."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

#: syscount and bpftrace attach by tracefs. In a mount namespace of their own, so that a machine
#: where it is not mounted stays so.
_WITH_TRACEFS = (
    "unshare", "-m", "sh", "-c",
    'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh",
)  # fmt: skip
_STARTS_WITHIN_S = 15

#: Entry times by thread; a count and a histogram by number of the call. bpftrace cannot do this
#: with raw tracepoints ("Invalid probe type made it to attachpoint parser" in 0.17).
_BPFTRACE = """
tracepoint:raw_syscalls:sys_enter { @start[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@start[tid]/ {
  @calls[args->id] = count();
  @durations[args->id] = hist(nsecs - @start[tid]);
  delete(@start[tid]);
}
interval:ms:200 { printf("ready\\n"); }
"""


class CannotRun(Exception):
    """A tool is missing, or did not begin; the message says which and why."""


@contextmanager
def _running(
    command: Sequence[str], begun: Callable[[str], bool], saw: Callable[[str], bool]
) -> Iterator[None]:
    """Runs it until the context ends. Raises CannotRun unless it begins, and then sees calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "output")
        with path.open("w") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            deadline = time.monotonic() + _STARTS_WITHIN_S
            while not begun(path.read_text(errors="replace")):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise CannotRun(_last_line(path, command))
                time.sleep(0.05)
            yield
            process.send_signal(signal.SIGINT)
            process.wait(timeout=_STARTS_WITHIN_S)
            if not saw(path.read_text(errors="replace")):
                raise CannotRun(f"it ran and saw no getppid: {_last_line(path, command)}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _last_line(path: Path, command: Sequence[str]) -> str:
    said = path.read_text(errors="replace").strip().splitlines()
    return said[-1] if said else f"{command[0]} said nothing"


def _find(*names: str) -> str:
    for name in names:
        if found := shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            return found
    raise CannotRun(f"{' and '.join(names)} not installed")


@contextmanager
def syscount(pid: int) -> Iterator[None]:
    """libbpf-tools' where it is, else bcc's. All processes; no histogram."""
    command = _find("syscount", "syscount-bpfcc")
    with _running(
        [*_WITH_TRACEFS, "stdbuf", "-oL", command, "-L", "-T", "500"],
        lambda text: "Tracing syscalls" in text,
        lambda text: "getppid" in text,
    ):
        yield


@contextmanager
def bpftrace(pid: int) -> Iterator[None]:
    """All processes. It warns where it may not raise RLIMIT_MEMLOCK, and can do without: since
    Linux 5.11 maps are charged to the cgroup, not to that limit."""
    with _running(
        [*_WITH_TRACEFS, _find("bpftrace"), "-e", _BPFTRACE],
        lambda text: "\nready" in text,
        lambda text: "@durations[110]" in text or "@durations[173]" in text,  # x86_64, arm64
    ):
        yield


@contextmanager
def strace(pid: int) -> Iterator[None]:
    """Only the one process: it could not do more."""
    with _running(
        [_find("strace"), "-c", "-f", "-p", str(pid)],
        lambda text: "attached" in text,
        lambda text: "getppid" in text,
    ):
        yield

"""Memory and time of processes, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def status_kib(pid: int, field: str) -> int:
    """VmRSS, VmHWM…; 0 for what has no memory (any more)."""
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def pss_kib(pid: int) -> int:
    """Resident memory, a page that n processes share counted as a nth."""
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def rss_kib(pid: int) -> int:
    """The same as VmRSS, and quicker to read."""
    return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE_KIB


def children(pid: int) -> list[int]:
    """Children of all its threads; none where it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    found = [pid]
    for member in found:
        found += children(member)
    return found


def run_time_ns(pid: int) -> int:
    """Time on a CPU of all its threads, ended ones too; stat would tell it in ticks of 10 ms only.

    The clock's number is made as clock_getcpuclockid(3) makes it: ~pid << 3 | CPUCLOCK_SCHED.
    """
    return time.clock_gettime_ns(~pid << 3 | 2)


def ticks(pid: int) -> int:
    """utime + stime, with those of waited-for children left out."""
    words = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def fdinfo(pid: int) -> Iterator[dict[str, str]]:
    """What the kernel says of each open descriptor."""
    with suppress(OSError):
        for path in (_PROC / str(pid) / "fdinfo").iterdir():
            with suppress(OSError):
                yield parse_fdinfo(path.read_text())


def parse_fdinfo(text: str) -> dict[str, str]:
    return {
        key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())
    }


def map_bytes(pid: int) -> int:
    """Memory of all BPF maps that a process holds, each counted once."""
    maps = {info["map_id"]: int(info["memlock"]) for info in fdinfo(pid) if "map_id" in info}
    return sum(maps.values())


def others_at_sys_enter() -> list[int]:
    """Who holds a raw tracepoint at system calls: it would tax all that is measured."""
    found = []
    for path in _PROC.iterdir():
        if path.name.isdigit() and any(
            info.get("tp_name") in ("sys_enter", "sys_exit") for info in fdinfo(int(path.name))
        ):
            found.append(int(path.name))
    return found

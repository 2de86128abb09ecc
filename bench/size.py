"""How large the exporter is, how long it takes to begin, and what it does while nobody asks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench import processes
from bench.table import Row
from bench.workloads import Binaries, crowd
from exporter.kernel import sizes
from tests.harness import ROOT, Exporter, exporter, wait_ready

_PART = "size"
_SLEEPERS = 1000
_STARTS = 5


@dataclass(slots=True)
class Peak:
    """The most that was resident at once, of the exporter and its children. In KiB."""

    rss: int = 0
    pss: int = 0
    high_water: int = 0

    def sample(self, pid: int) -> None:
        family = processes.family(pid)
        with suppress(OSError):
            self.rss = max(self.rss, sum(map(processes.rss_kib, family)))
        with suppress(OSError):
            self.pss = max(self.pss, sum(map(processes.pss_kib, family)))
        for child in family[1:]:
            with suppress(OSError):
                self.high_water = max(self.high_water, processes.status_kib(child, "VmHWM"))


@contextmanager
def _watched(config: str, peak: Peak) -> Iterator[Exporter]:
    """Starts it, and samples its memory all the time until it is ready."""
    with exporter(config, ready=False) as running, ThreadPoolExecutor() as pool:
        ready = pool.submit(wait_ready, running)  # it listens, but is silent while it compiles
        while not ready.done():
            peak.sample(running.pid)
        ready.result()
        peak.sample(running.pid)
        peak.high_water += processes.status_kib(running.pid, "VmHWM")
        yield running


def _starting(config: str) -> list[Row]:
    """Apart from the sampling of memory, which takes time itself."""
    seconds = []
    for _ in range(_STARTS):
        begin = time.monotonic()
        with exporter(config):
            seconds.append(time.monotonic() - begin)
    note = f"from exec to 200 at /-/ready: best of {_STARTS}"
    return [
        Row(_PART, "ready after", min(seconds), "s", None, note, "ready"),
        Row(_PART, "ready after, median", statistics.median(seconds), "s"),
    ]


def _memory(config: str, settle_s: float) -> list[Row]:
    peak = Peak()
    with _watched(config, peak) as running:
        time.sleep(settle_s)
        family = processes.family(running.pid)
        rss = sum(processes.status_kib(pid, "VmRSS") for pid in family)
        pss = sum(map(processes.pss_kib, family))
        maps = processes.map_bytes(running.pid)
    settled = f"config/default.yaml, {settle_s:g} s after ready, {len(family)} process"
    shared = "shared pages counted once for each"
    limits = "config/default.yaml, this machine"
    plan = sizes.plan(128, 32768, 2, sizes.possible_cpus(Path("/sys"))).total_bytes()
    return [
        Row(_PART, "resident (VmRSS)", rss / 1024, "MiB", None, settled, "rss"),
        Row(_PART, "proportional (Pss)", pss / 1024, "MiB", None, settled),
        Row(_PART, "peak of exporter and compiler, Pss", peak.pss / 1024, "MiB", None,
            "sampled while it starts; what is resident at once", "peak"),
        Row(_PART, "the same, VmRSS", peak.rss / 1024, "MiB", None, f"sampled; {shared}"),
        Row(_PART, "the same, VmHWM", peak.high_water / 1024, "MiB", None,
            f"the kernel's own peaks of both, added up; {shared}"),
        Row(_PART, "maps, as the kernel says", maps / 2**20, "MiB", None,
            f"memlock of each map's fdinfo; {limits}; grows to the next line at most"),
        Row(_PART, "maps, as planned", plan / 2**20, "MiB", None, f"sizes.plan; {limits}"),
        _many_cpus(),
    ]  # fmt: skip


def _many_cpus() -> Row:
    plan = sizes.plan(100, 32768, 2, 64)
    note = f"sizes.plan: {plan.aggregates} aggregates in {plan.shards} shards"
    what = "maps for 100 trees on 64 CPUs, as planned"
    return Row(_PART, what, plan.total_bytes() / 2**20, "MiB", None, note, "maps 64")


def _idle(binaries: Binaries, seconds: float) -> Row:
    with crowd(binaries, _SLEEPERS, 0) as sleepers:
        config = f"- {sleepers.pid}\n"
        with exporter(config) as running:
            time.sleep(2)
            began, begin_ns = time.monotonic(), processes.run_time_ns(running.pid)
            begin_ticks = processes.ticks(running.pid)
            time.sleep(seconds)
            used_ns = processes.run_time_ns(running.pid) - begin_ns
            used_ticks = processes.ticks(running.pid) - begin_ticks
            percent = used_ns / 1e7 / (time.monotonic() - began)
            target = f"pid:{sleepers.pid}"
            followed = running.scrape().value("proctree_tree_processes", target=target)
    note = (
        f"{followed:.0f} sleeping processes followed, no scrape for {seconds:g} s;"
        f" by its CPU clock (utime + stime: {used_ticks} ticks)"
    )
    return Row(_PART, "CPU while nobody scrapes", percent, "% of a core", None, note, "idle")


def measure(binaries: Binaries, *, settle_s: float, idle_s: float) -> list[Row]:
    config = (ROOT / "config/default.yaml").read_text()
    return [*_memory(config, settle_s), *_starting(config), _idle(binaries, idle_s)]

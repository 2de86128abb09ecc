"""Spans of calls, from the kernel's ring to a backend: what one costs, and what is lost."""

from __future__ import annotations

import os
import time

from bench.backend import backend
from bench.processes import run_time_ns
from bench.table import Row
from bench.workloads import Binaries, loop
from tests.harness import Scrape, exporter

_PART = "spans"
_RATE = 50_000  # a second
_SECONDS = 10.0
_DRAINED_S = 3.0  # after which nothing is on its way any more
_BATCH = 100_000  # calls
_EVENTS = "proctree_exporter_lost_events_total"
_SPANS = "proctree_exporter_dropped_spans_total"


def spans_config(pid: int, url: str, words: str) -> str:
    """`words`: which of the target's calls become spans."""
    return (
        f"otlp: {{traces: true, endpoint: '{url}', interval: 1h}}\n"
        f"targets: [{{name: bench, pid: {pid}, spans: {{processes: true, {words}}}}}]\n"
    )


def measure(binaries: Binaries) -> list[Row]:
    lost, cost = _at(binaries, _RATE)
    beyond, _ = _at(binaries, 1_000_000)
    return [
        Row(_PART, "CPU time of a span", cost, "µs", note=f"{1e6 / cost:,.0f} a second and core",
            key="span"),
        Row(_PART, f"events lost at {_RATE:,} spans a second", lost, "", key="events lost"),
        Row(_PART, "events lost where each call is to be one", beyond, "",
            note="all counted: sent, dropped and lost are as many as calls"),
    ]  # fmt: skip


def _at(binaries: Binaries, rate: int) -> tuple[float, float]:
    """Events lost, and CPU time in µs of a span that was sent."""
    cpu = max(os.sched_getaffinity(0))
    with backend() as url, loop(binaries, cpu) as running:
        words = f"syscalls: [getppid], max_per_second: {rate}"
        with exporter(spans_config(running.pid, url, words)) as serve:
            before, end = run_time_ns(serve.pid), time.monotonic() + _SECONDS
            while time.monotonic() < end:
                running.best_ns(1, _BATCH)
            time.sleep(_DRAINED_S)
            scrape = serve.scrape()
            cost_ns = run_time_ns(serve.pid) - before
            assert scrape.calls("bench", "getppid") == running.calls
            lost = _sum(scrape, _EVENTS)
            sent = running.calls - lost - _sum(scrape, _SPANS)
            return lost, cost_ns / sent / 1000


def _sum(scrape: Scrape, name: str) -> float:
    return sum(scrape.all(name).values())

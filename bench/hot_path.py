"""ns per call: without probes, with empty ones, with ours in each setting, with other tools.

The variants take turns in rounds, so that what slows the machine down slows all of them; of all
rounds the fastest counts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from bench import tools
from bench.backend import backend
from bench.empty import empty_pair
from bench.processes import others_at_sys_enter
from bench.spans import spans_config
from bench.table import Row
from bench.workloads import Binaries, Loop, loop
from tests.harness import exporter

_PART = "hot path"
_BATCHES, _CALLS = 60, 10_000  # a batch lasts 1–3 ms
_BATCHES_SLOW, _CALLS_SLOW = 5, 400  # under strace
_QUIET_WITHIN_S = 60


@dataclass(slots=True)
class Variant:
    """`around` is entered with the loop and left when it has run."""

    name: str
    around: Callable[[Loop], AbstractContextManager[object]]
    key: str = ""
    note: str = ""
    slow: bool = False
    found: list[float] = field(default_factory=list)
    crowded: list[float] = field(default_factory=list)  # while others had programs there
    broken: str = ""


#: Everything by which people name things; the loop is found by one of them, and split by program.
_NAMED = """
targets:
  - {name: bench, match: {comm: loop, cmdline_re: '.*/loop [0-9]+', user: root}, group_by: comm}
  - {name: others, match: {exe: '/srv/**/worker*'}}
  - {name: slices, cgroup: '/no.slice/**'}
  - {name: unit, systemd: no.service}
  - {name: containers, container: {name: 'web-*'}}
exclude: [{comm: 'no-*'}]
labels: [container, image, cgroup]
"""


def _config(pid: int, settings: str) -> str:
    return f"targets:\n  - {{name: bench, pid: {pid}}}\n{settings}\n"


def _traced(
    settings: str = "", config: str = ""
) -> Callable[[Loop], AbstractContextManager[object]]:
    @contextmanager
    def around(running: Loop) -> Iterator[None]:
        with exporter(config or _config(running.pid, settings)) as serve:
            yield
            counts = serve.scrape().all(
                "proctree_syscalls_total", target="bench", syscall="getppid"
            )
            seen = sum(counts.values())
            if seen != running.calls:
                raise tools.CannotRun(f"it counted {seen:.0f} calls of {running.calls}")

    return around


def _spanned(words: str) -> Callable[[Loop], AbstractContextManager[object]]:
    """With spans that go to a backend."""

    @contextmanager
    def around(running: Loop) -> Iterator[None]:
        with backend() as url, _traced(config=spans_config(running.pid, url, words))(running):
            yield

    return around


@contextmanager
def _not_traced(running: Loop) -> Iterator[None]:
    with subprocess.Popen(["sleep", "infinity"]) as other:
        try:
            with exporter(_config(other.pid, "")) as serve:
                yield
                if serve.scrape().calls("bench", "getppid"):
                    raise tools.CannotRun("it counted calls that were not asked for")
        finally:
            other.kill()


def _variants() -> list[Variant]:
    scales = [
        Variant(f"ours, traced, scale {scale}", _traced(f"histograms: {{scale: {scale}}}"))
        for scale in range(4)
    ]
    return [
        Variant("no probes", lambda running: nullcontext()),
        Variant("two empty raw tracepoint programs", lambda running: empty_pair(), "empty"),
        Variant("ours, traced", _traced(), "traced", "the default: scale 2"),
        Variant("ours, traced, named", _traced(config=_NAMED), "named",
                "by match, group_by and exclude; rules for cgroups, units and containers; labels"),
        Variant("ours, traced, spans, none due",
                _spanned("slower_than: 1s, errors: [EIO], sample: 1e-9"), "spans"),
        Variant("ours, traced, spans of 1 %", _spanned("sample: 0.01, max_per_second: 1000000")),
        Variant("ours, not traced", _not_traced, "untraced", "it follows another process"),
        *scales,
        Variant("ours, traced, self_cost", _traced("self_cost: true")),
        Variant("syscount -L", lambda running: tools.syscount(running.pid),
                note="libbpf-tools; all processes, count and total time, no histogram"),
        Variant("bpftrace", lambda running: tools.bpftrace(running.pid),
                note="tracepoints raw_syscalls:*, count and histogram by call"),
        Variant("strace -c -f", lambda running: tools.strace(running.pid), slow=True),
    ]  # fmt: skip


def _measure(variant: Variant, binaries: Binaries, cpu: int) -> float:
    with loop(binaries, cpu) as running, variant.around(running):
        if variant.slow:
            return running.best_ns(_BATCHES_SLOW, _CALLS_SLOW)
        return running.best_ns(_BATCHES, _CALLS)


class _Quiet:
    """Waits until nobody else's programs are at the system calls; gives up once for all."""

    def __init__(self) -> None:
        self._patient = True

    def wait(self) -> None:
        deadline = time.monotonic() + _QUIET_WITHIN_S
        while self._patient and others_at_sys_enter():
            self._patient = time.monotonic() < deadline
            time.sleep(0.5)


def measure(binaries: Binaries, rounds: int) -> list[Row]:
    """All variants, in rounds. One that cannot run is tried once, and says why."""
    variants, quiet, cpu = _variants(), _Quiet(), max(os.sched_getaffinity(0))
    for number in range(rounds):
        for variant in variants:
            if variant.broken:
                continue
            quiet.wait()
            crowded = bool(others_at_sys_enter())
            try:
                ns = _measure(variant, binaries, cpu)
            except tools.CannotRun as error:
                variant.broken = str(error)
                continue
            crowded = crowded or bool(others_at_sys_enter())
            (variant.crowded if crowded else variant.found).append(ns)
        print(f"hot path: round {number + 1} of {rounds}", file=sys.stderr)
    clean = all(variant.found or variant.broken for variant in variants)
    for variant in variants if not clean else ():  # better all of them disturbed than some
        variant.found += variant.crowded
        variant.note += "; somebody else's programs were at the system calls, too"
    empty = next(variant for variant in variants if variant.key == "empty")
    floor = min(empty.found)
    return [_row(variant, floor) for variant in variants]


def _row(variant: Variant, floor: float) -> Row:
    if not variant.found:
        return Row(_PART, variant.name, None, "ns", None, variant.broken, variant.key)
    best, usual = min(variant.found), statistics.median(variant.found)
    rounds = f"best of {len(variant.found)} rounds, median {usual:,.0f}"
    notes = (rounds, variant.note, variant.broken)
    note = "; ".join(filter(None, notes))
    return Row(_PART, variant.name, best, "ns", best / floor, note, variant.key)

"""How long a scrape takes, by the number of series; and whether it holds up anything else."""

from __future__ import annotations

import gzip as gzip_
import statistics
import subprocess
import sys
import time
from itertools import product

from bench import client, processes
from bench.table import Row
from bench.workloads import Binaries, Crowd, crowd
from tests.harness import ROOT, Exporter, exporter

_PART = "scrape"
_TIMES = 7
_CALLS_EACH = 50  # times that each process makes each of its 60 calls
#: About so many series, and the targets that make them: 60 calls of 17 samples each.
_CROWDS = {10_000: 10, 100_000: 99}


def _config(members: Crowd) -> str:
    targets = "".join(f"  - {{name: process-{pid}, pid: {pid}}}\n" for pid in members.children)
    return f"targets:\n{targets}limits: {{series: 1000000, trees: 128}}\n"


def count_samples(exposition: bytes) -> int:
    return sum(not line.startswith(b"#") for line in exposition.splitlines())


def _check(form: str, *, gzip: bool, samples: int, body: bytes, content_type: str) -> None:
    """That it is what was asked for, and whole."""
    wanted = client.ACCEPT[form].split(";")[0]
    assert content_type.startswith(wanted), f"asked for {wanted}, found {content_type}"
    plain = gzip_.decompress(body) if gzip else body
    if form != "protobuf":
        assert abs(count_samples(plain) - samples) < samples / 50, "the series changed meanwhile"


def _forms(running: Exporter, series: int) -> list[Row]:
    """Each format, plain and compressed, in turns."""
    samples = count_samples(client.scrape(running.address, "text", gzip=False)[1])
    times: dict[tuple[str, bool], list[float]] = {}
    work: dict[tuple[str, bool], list[float]] = {}
    sizes: dict[tuple[str, bool], int] = {}
    for _, form, gzip in product(range(_TIMES), client.ACCEPT, (False, True)):
        begin_ns = processes.run_time_ns(running.pid)
        seconds, body, content_type = client.scrape(running.address, form, gzip=gzip)
        used_ns = processes.run_time_ns(running.pid) - begin_ns
        _check(form, gzip=gzip, samples=samples, body=body, content_type=content_type)
        times.setdefault((form, gzip), []).append(seconds * 1000)
        work.setdefault((form, gzip), []).append(used_ns / 1e6)
        sizes[form, gzip] = len(body)
    return [
        Row(
            _PART, f"{series:,}: {form}{', gzip' if gzip else ''}", min(found), "ms", None,
            f"{samples:,} samples, {sizes[form, gzip] / 2**20:.2f} MiB;"
            f" best of {_TIMES}, median {statistics.median(found):.0f};"
            f" on a CPU for {min(work[form, gzip]):.0f} ms",
            f"scrape {series}" if (form, gzip) == ("text", False) else "",
        )
        for (form, gzip), found in times.items()
    ]  # fmt: skip


def _longest_answer_ms(
    running: Exporter, scraper: subprocess.Popen[bytes] | None
) -> tuple[float, int]:
    """Of /-/healthy, while the scraper runs, or for a second without one; and how many."""
    longest, answers, until = 0.0, 0, time.monotonic() + 1
    while scraper.poll() is None if scraper else time.monotonic() < until:
        longest = max(longest, client.get(running.address, "/-/healthy")[0])
        answers += 1
        time.sleep(0.001)
    return longest * 1000, answers


def _beside(running: Exporter, series: int) -> list[Row]:
    alone, _ = _longest_answer_ms(running, None)
    arguments = [sys.executable, "-m", "bench.client", running.address, "5"]
    with subprocess.Popen(arguments, cwd=ROOT) as scraper:
        beside, answers = _longest_answer_ms(running, scraper)
    note = f"the longest of {answers}; {alone:.1f} ms without scrapes"
    return [Row(_PART, f"/-/healthy beside scrapes of {series:,}", beside, "ms", None, note)]


def _size(binaries: Binaries, series: int, targets: int) -> list[Row]:
    with crowd(binaries, targets, _CALLS_EACH) as members, exporter(_config(members)) as running:
        members.make_calls()
        before = processes.status_kib(running.pid, "VmRSS")
        rows = [*_forms(running, series), *_beside(running, series)]
        after = processes.status_kib(running.pid, "VmRSS")
        high = processes.status_kib(running.pid, "VmHWM")
        note = f"{before / 1024:.1f} MiB before, {high / 1024:.1f} MiB at most"
        what = f"resident after scrapes of {series:,}"
        return [*rows, Row(_PART, what, after / 1024, "MiB", None, note)]


def measure(binaries: Binaries) -> list[Row]:
    rows = []
    for series, targets in _CROWDS.items():
        rows += _size(binaries, series, targets)
    return rows

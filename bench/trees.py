"""A thousand cgroups, each a tree of its own: how soon they are followed, and what that costs."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from bench import client, processes
from bench.scrapes import count_samples
from bench.table import Row
from tests.harness import build, exporter, workload
from tests.kernel.cgroup_tree import cgroup, version_2

_PART = "trees"
_TREES, _CALLS, _TIMES = 1000, 13, 5


def measure() -> list[Row]:
    name = f"proctree-bench-{os.getpid()}"
    config = f"targets: [{{name: it, cgroup: '/{name}/*'}}]\n"
    config += f"limits: {{trees: {_TREES}, series: 1000000}}\n"
    with (
        tempfile.TemporaryDirectory() as folder,
        cgroup(version_2() / name) as group,
        workload(build("tenants", Path(folder)), str(_TREES), str(_CALLS), str(group)) as tenants,
    ):
        tenants.expect("ready")
        begin = time.monotonic()
        with exporter(config) as running:
            seconds = time.monotonic() - begin
            tenants.go()
            tenants.expect("done")
            samples = count_samples(client.scrape(running.address, "text", gzip=False)[1])
            rows = [
                Row(_PART, "ready after", seconds, "s", None, f"{_TREES:,} cgroups are there"),
                *(_scrape(running.address, form, samples) for form in ("text", "protobuf")),
            ]
            rss = processes.status_kib(running.pid, "VmRSS") / 1024
            high = processes.status_kib(running.pid, "VmHWM") / 1024
            maps = processes.map_bytes(running.pid) / 2**20
    note = f"after scrapes; {high:.1f} MiB at most"
    return [
        *rows,
        Row(_PART, "resident (VmRSS)", rss, "MiB", None, note),
        Row(_PART, "maps, as the kernel says", maps, "MiB", None, f"limits.trees: {_TREES}"),
    ]


def _scrape(address: str, form: str, samples: int) -> Row:
    times = [client.scrape(address, form, gzip=False)[0] * 1000 for _ in range(_TIMES)]
    note = f"{samples:,} samples in text; best of {_TIMES}, median {statistics.median(times):.0f}"
    return Row(_PART, f"a scrape, {form}", min(times), "ms", None, note)

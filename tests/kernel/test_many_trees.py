"""A thousand trees at once. What that costs, `make bench` says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.harness import Scrape, exporter, workload
from tests.kernel.cgroup_tree import cgroup, remove, version_2
from tests.kernel.trees import until

Build = Callable[..., Path]
NAME = f"proctree-many-{os.getpid()}"
TREES, CALLS = 1000, 13
CONFIG = f"""
targets: [{{name: it, cgroup: '/{NAME}/*'}}]
limits: {{trees: {TREES}, series: 1000000}}
keep_gone: 1h
"""


def calls(scrape: Scrape) -> dict[str, float]:
    return scrape.all("proctree_syscalls_total", target="it", syscall="getpgid")


def made(times: int) -> dict[str, float]:
    return {f"/{NAME}/{i}": times * (CALLS + i % 97) for i in range(1, TREES + 1)}


def test_a_thousand_trees_that_are_there_at_start(build: Build) -> None:
    """Each is counted by itself, from the first scrape on; they end, and their counts stay."""
    with (
        cgroup(version_2() / NAME) as group,
        workload(build("tenants"), str(TREES), str(CALLS), str(group)) as tenants,
    ):
        tenants.expect("ready")
        with exporter(CONFIG) as running:
            scrape = running.scrape()
            assert scrape.value("proctree_target_trees", target="it") == TREES
            for times in (1, 2):
                tenants.go()
                tenants.expect("done")
                scrape = running.scrape()
                assert calls(scrape) == made(times)
                processes = scrape.all("proctree_tree_processes", target="it")
                assert processes == dict.fromkeys(made(1), 1)
            assert scrape.lost() == scrape.value("proctree_exporter_series_folded") == 0
            assert sum(scrape.all("proctree_exporter_trees_folded_total").values()) == 0
            tenants.end()
            scrape = running.scrape()
            assert calls(scrape) == made(2)


def test_a_thousand_trees_that_come_together(build: Build) -> None:
    """Made as fast as one process can, beside scrapes: none is missed, all slots come back."""
    with (
        cgroup(version_2() / NAME) as group,
        exporter(CONFIG) as running,
        workload(build("tenants"), str(TREES), str(CALLS), str(group)) as tenants,
    ):
        tenants.expect("ready")
        tenants.go()
        tenants.expect("done")
        scrape = until(running, lambda scrape: calls(scrape) == made(1))
        assert scrape.value("proctree_exporter_trees") == TREES
        assert scrape.lost() == 0
        tenants.end()
        for name in range(1, TREES + 1):
            remove(group / str(name))
        scrape = until(running, lambda scrape: scrape.value("proctree_exporter_trees") == 0)
        assert calls(scrape) == made(1)

"""Thousands of short-lived cgroups: every call is counted, and nothing is left of them."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.processes import fdinfo, rss_kib
from tests.harness import Exporter, Scrape, exporter, workload
from tests.kernel.bpf_maps import entries
from tests.kernel.cgroup_tree import cgroup, version_2
from tests.kernel.trees import until

Build = Callable[..., Path]
Labels = frozenset[tuple[str, str]]
NAME = f"proctree-churn-{os.getpid()}"
COUNT, TURN, CALLS = 5000, 250, 13
#: The kernel's tables that know of cgroups, slots and programs, as far as it keeps their names.
MAPS = (
    "traced_cgroups", "named_cgroups", "groups", "slots", "trees", "call_ids", "call_errors",
    "waiting",
)  # fmt: skip
MOST_KIB = 4096  # what an allocator may take more from one turn to another


@pytest.fixture
def group() -> Iterator[Path]:
    with cgroup(version_2() / NAME) as place:
        yield place


def config(settings: str) -> str:
    limits = "limits: {trees: 300, series: 100000}"
    return f"targets: [{{name: it, cgroup: '/{NAME}/*'}}]\n{limits}\n{settings}\n"


def calls(scrape: Scrape) -> dict[str, float]:
    """By the label `cgroup`, where there is one."""
    return scrape.all("proctree_syscalls_total", target="it", syscall="getpgid")


def made(name: int) -> int:
    return CALLS + name % 97


def is_quiet(scrape: Scrape) -> bool:
    """Whether all that is gone was let go of."""
    return not scrape.value("proctree_exporter_trees") and not scrape.value(
        "proctree_target_trees", target="it"
    )


class Scraper:
    """Scrapes all the time, as fast as it can: keeps the highest count of each cgroup."""

    def __init__(self, running: Exporter) -> None:
        self._running = running
        self._before: dict[tuple[str, Labels], float] = {}
        self.counts: Counter[str] = Counter()
        self.times = 0

    def look(self) -> None:
        """No counter falls while it is exposed, and errors never exceed calls."""
        scrape = self._running.scrape()
        failed: Counter[Labels] = Counter()
        counters = {k: v for k, v in scrape.samples.items() if k[0].endswith(("_total", "_count"))}
        for key, value in counters.items():
            assert value >= self._before.get(key, 0), f"{key} fell"
            if key[0] == "proctree_syscall_errors_total":
                failed[frozenset(pair for pair in key[1] if pair[0] != "errno")] += int(value)
        for labels, number in failed.items():
            assert number <= counters["proctree_syscalls_total", labels]
        self._before = counters
        for name, value in calls(scrape).items():
            self.counts[name] = max(self.counts[name], int(value))
        self.times += 1


@contextmanager
def scraped(running: Exporter) -> Iterator[Scraper]:
    """Beside what is done within."""
    scraper, done = Scraper(running), threading.Event()

    def work() -> None:
        while not done.is_set():
            scraper.look()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            yield scraper
        finally:
            done.set()
        future.result()


def test_five_thousand_that_come_and_go_at_full_speed(build: Build, group: Path) -> None:
    """In two series, which never expire meanwhile: their total is exact, slot or none."""
    with (
        exporter(config("labels: [namespace]\nkeep_gone: 1h")) as running,
        workload(build("churn"), str(COUNT), str(COUNT), str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        with scraped(running) as scraper:
            churn.go()
            churn.expect("done")
        scrape = until(running, is_quiet)
        assert calls(scrape).keys() <= {"", "other"}
        assert sum(calls(scrape).values()) == sum(made(i) for i in range(1, COUNT + 1))
        folded = scrape.value("proctree_exporter_trees_folded_total", reason="tree_limit")
        assert bool(folded) == bool(calls(scrape).get("other"))
        assert scrape.lost() == 0
        assert scraper.times


def test_nothing_is_left_of_five_thousand(build: Build, group: Path) -> None:
    """In turns of 250, for which there are slots, each in a series of its own: exact, when it is
    seen last. When all is over there is as much in the maps, as many descriptors and series as
    before the first, and no more memory is in use than after the first 1,000."""
    turns = COUNT // TURN
    with (
        exporter(config("keep_gone: 5s")) as running,
        workload(build("churn"), str(TURN), str(COUNT), str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        before = until(running, is_quiet)
        left_before = left(running)
        resident = []
        with scraped(running) as scraper:
            for turn in range(turns):
                churn.go()
                churn.expect("done")
                until(running, is_quiet)
                if turn in (turns // 5 - 1, turns - 1):
                    until(running, lambda scrape: not calls(scrape))
                    resident.append(rss_kib(running.pid))
        assert scraper.counts == {f"/{NAME}/{i}": made(i) for i in range(1, COUNT + 1)}
        after = running.scrape()
        assert after.value("proctree_exporter_trees_folded_total", reason="tree_limit") == 0
        assert after.lost() == 0, after.all("proctree_exporter_lost_calls_total")
        assert left(running) == left_before
        for name in ("proctree_exporter_series", "proctree_exporter_series_folded"):
            assert after.value(name) == before.value(name)
        assert resident[1] - resident[0] < MOST_KIB, resident


def left(running: Exporter) -> dict[str, int]:
    """Entries of maps, and how many descriptors of maps there are."""
    maps = {name: number for name, number in entries(running.pid).items() if name in MAPS}
    assert len(maps) == len(MAPS)
    return maps | {"descriptors": sum(1 for info in fdinfo(running.pid) if "map_id" in info)}

"""Trees of a pattern that are gone: their series stay for `keep_gone`, their slots come back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Scrape, Workload, exporter, workload
from tests.kernel.cgroup_tree import cgroup, version_2
from tests.kernel.trees import is_up, until

Build = Callable[..., Path]
NAME = f"proctree-gone-{os.getpid()}"
CALLS = 13


@pytest.fixture
def group() -> Iterator[Path]:
    with cgroup(version_2() / NAME) as place:
        yield place


def calls(scrape: Scrape) -> dict[str, float]:
    """By the label `cgroup`."""
    return scrape.all("proctree_syscalls_total", target="it", syscall="getpgid")


def trees(scrape: Scrape) -> float:
    return scrape.value("proctree_target_trees", target="it")


def folded(scrape: Scrape) -> float:
    return scrape.value("proctree_exporter_trees_folded_total", reason="tree_limit")


def config(settings: str) -> str:
    return f"targets: [{{name: it, cgroup: '/{NAME}/*'}}]\n{settings}\n"


def run(churn: Workload) -> None:
    churn.go()
    churn.expect("done")


def test_series_of_a_tree_that_is_gone_stay_and_vanish(build: Build, group: Path) -> None:
    """All of its label set go at the same time; the same path begins at 0 after that."""
    with (
        exporter(config("keep_gone: 2s")) as running,
        workload(build("churn"), "1", "1", str(CALLS), str(group)) as churn,
    ):
        base = running.scrape().value("proctree_exporter_series")
        churn.expect("ready")
        for _ in range(2):
            run(churn)
            scrape = until(running, lambda scrape: bool(calls(scrape)) and not trees(scrape))
            assert calls(scrape) == {f"/{NAME}/1": CALLS + 1}
            assert is_up(scrape) == 0
            scrape = until(running, lambda scrape: not calls(scrape))
            assert f"/{NAME}/1" not in scrape.text
            assert scrape.value("proctree_exporter_series") == base


def test_a_path_that_comes_again_within_keep_gone_goes_on(build: Build, group: Path) -> None:
    """The counter of the one before is the beginning of the next."""
    with (
        exporter(config("keep_gone: 1h")) as running,
        workload(build("churn"), "1", "1", str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        for times in (1, 2, 3):
            run(churn)
            scrape = until(
                running,
                lambda scrape, times=times: (  # type: ignore[misc]
                    calls(scrape) == {f"/{NAME}/1": times * (CALLS + 1)} and not trees(scrape)
                ),
            )
            assert scrape.value("proctree_exporter_trees") == 0


def test_what_finds_no_slot_is_in_other(build: Build, group: Path) -> None:
    """Of 20 cgroups 8 are trees, the others one series: sums are exact, folds are counted."""
    with (
        exporter(config("limits: {trees: 8}\nkeep_gone: 1h")) as running,
        workload(build("tenants"), "20", str(CALLS), str(group)) as tenants,
    ):
        tenants.expect("ready")
        for turn in (1, 2):
            tenants.go()
            tenants.expect("done")
            scrape = until(running, lambda scrape: trees(scrape) == 20)
            found = calls(scrape)
            own = {f"/{NAME}/{i}": turn * (CALLS + i % 97) for i in range(1, 9)}
            assert found == own | {"other": turn * sum(CALLS + i % 97 for i in range(9, 21))}
            assert folded(scrape) == 12
            assert scrape.value("proctree_exporter_trees") == 8
            assert scrape.lost() == 0
        assert scrape.all("proctree_tree_processes", target="it") == dict.fromkeys(own, 1) | {
            "other": 12
        }


def test_slots_come_back(build: Build, group: Path) -> None:
    """With 8 slots, four times 8 trees that come and go have one each: none is folded."""
    with (
        exporter(config("limits: {trees: 8}\nkeep_gone: 1h")) as running,
        workload(build("churn"), "8", "32", str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        for last in (8, 16, 24, 32):
            run(churn)
            wanted = {f"/{NAME}/{i}": CALLS + i % 97 for i in range(1, last + 1)}
            until(running, lambda scrape, wanted=wanted: calls(scrape) == wanted)  # type: ignore[misc]
            scrape = until(running, lambda scrape: scrape.value("proctree_exporter_trees") == 0)
        assert folded(scrape) == 0

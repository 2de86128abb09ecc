"""A unit of systemd is a target by its name: its cgroup, wherever systemd puts it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.kernel.cgroupfs import Cgroups
from tests.harness import Scrape, exporter, workload
from tests.kernel.cgroup_tree import ROOT, cgroup, move_tree, version_2
from tests.kernel.trees import is_up, processes, until

Build = Callable[..., Path]
UNIT = f"proctree-test@{os.getpid()}.service"
CALLS = 13
#: Where systemd puts units: version 2, and its own hierarchy on hybrid and version 1 machines.
PLACES = [
    version_2(),
    *(h.root for h in Cgroups(ROOT, Path("/proc")).hierarchies if h.name == "name=systemd"),
]
CONFIG = f"targets: [{{name: it, systemd: {UNIT}}}]\nkeep_gone: 1h\n"


def trees(scrape: Scrape) -> float:
    return scrape.value("proctree_target_trees", target="it")


@pytest.mark.parametrize("slice_", ["system.slice", "system.slice/system-proctree.slice", ""])
@pytest.mark.parametrize("hierarchy", PLACES, ids=lambda place: place.name)
def test_a_unit_is_counted_from_its_first_process(
    build: Build, hierarchy: Path, slice_: str
) -> None:
    """Made after the start of the exporter, in whatever slice; similar names are others."""
    folder = hierarchy / slice_ / UNIT
    similar = hierarchy / slice_ / UNIT.replace("@", "-")
    with (
        exporter(CONFIG) as running,
        cgroup(folder),
        cgroup(similar),
        workload(build("short_lives"), "7", "3", "13") as unit,
        workload(build("short_lives"), "11", "3", "13") as other,
    ):
        for tree, place in ((unit, folder), (other, similar)):
            tree.expect("ready")
            move_tree(tree, place)
            tree.go()
            tree.expect("done")
        scrape = running.scrape()
        assert scrape.calls("it", "getppid") == 7 * 13
        assert (is_up(scrape), processes(scrape)) == (1, 1)


def test_a_unit_that_is_there_at_start(build: Build) -> None:
    """With the processes that are in it and in cgroups below it."""
    with (
        cgroup(version_2() / "system.slice" / UNIT / "below") as below,
        workload(build("short_lives"), "7", "3", "13") as top,
        workload(build("short_lives"), "11", "3", "13") as deep,
    ):
        for tree, place in ((top, below.parent), (deep, below)):
            tree.expect("ready")
            move_tree(tree, place)
        with exporter(CONFIG) as running:
            for tree in (top, deep):
                tree.go()
                tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == (7 + 11) * 13
            assert (is_up(scrape), processes(scrape)) == (1, 2)


def test_a_restart_goes_on_in_the_same_series(build: Build) -> None:
    """The cgroup is removed and made again at full speed, in all hierarchies: one series."""
    slices = [place / "system.slice" / f"system-proctree{os.getpid()}.slice" for place in PLACES]
    with ExitStack() as stack, exporter(CONFIG.replace(UNIT, "1.service")) as running:
        folders = [str(stack.enter_context(cgroup(place))) for place in slices]
        churn = stack.enter_context(
            workload(build("churn", '-DSUFFIX=".service"'), "40", "1", str(CALLS), *folders)
        )
        churn.expect("ready")
        for times in (1, 2):
            churn.go()
            churn.expect("done")
            found = running.scrape().all("proctree_syscalls_total", syscall="getpgid")
            assert found == {"it": times * 40 * (CALLS + 1)}
        scrape = until(running, lambda scrape: not trees(scrape))
        assert is_up(scrape) == 0
        assert scrape.value("proctree_exporter_trees") == 1
        assert scrape.lost() == 0

"""Each cgroup that a pattern matches is a tree of its own, from its first process on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.kernel.cgroupfs import Cgroups, Hierarchy
from tests.harness import Exporter, Scrape, exporter, workload
from tests.kernel.cgroup_tree import ROOT, cgroup, move_tree, version_2
from tests.kernel.trees import following, forks, idle_exporter, processes, until

Build = Callable[..., Path]
NAME = f"proctree-patterns-{os.getpid()}"
COUNT, CALLS = 200, 13
V1 = [h for h in Cgroups(ROOT, Path("/proc")).hierarchies if h.number]
#: Those that let a process in without further settings.
EASY = [h for h in V1 if h.name in ("cpu", "freezer", "pids", "name=systemd")]


ROOMY = "limits: {trees: 256, series: 100000}"


@pytest.fixture(scope="module")
def idle() -> Iterator[Exporter]:
    with idle_exporter(ROOMY) as running:
        yield running


@pytest.fixture
def group() -> Iterator[Path]:
    with cgroup(version_2() / NAME) as place:
        yield place


def calls(scrape: Scrape, target: str = "it") -> dict[str, float]:
    """By the label `cgroup`."""
    return scrape.all("proctree_syscalls_total", target=target, syscall="getpgid")


def wait_for(running: Exporter, wanted: dict[str, float], target: str = "it") -> Scrape:
    """Counts come at once, series when the exporter has heard of the cgroup: they fall never."""

    def found(scrape: Scrape) -> bool:
        now = calls(scrape, target)
        assert all(number <= wanted.get(name, 0) for name, number in now.items()), now
        return now == wanted

    return until(running, found)


def trees(scrape: Scrape, target: str = "it") -> float:
    return scrape.value("proctree_target_trees", target=target)


def config(pattern: str) -> str:
    return f"- {{name: it, cgroup: '{pattern}'}}\n"


@pytest.mark.parametrize("pattern", ["/*", "/**", "/[0-9]*"])
def test_cgroups_that_come_and_go_at_full_speed(
    build: Build, idle: Exporter, group: Path, pattern: str
) -> None:
    """200 in a row: made, entered at once, some calls, left, removed. Each is exact."""
    with (
        following(idle, config(f"/{NAME}{pattern}"), ROOMY) as running,
        workload(build("churn"), str(COUNT), str(COUNT), str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        churn.go()
        churn.expect("done")
        scrape = wait_for(running, {f"/{NAME}/{i}": CALLS + i % 97 for i in range(1, COUNT + 1)})
        assert scrape.all("proctree_process_exits_total", target="it", outcome="ok") == {
            f"/{NAME}/{i}": 1 for i in range(1, COUNT + 1)
        }
        scrape = until(running, lambda scrape: trees(scrape) == 0)
        assert len(calls(scrape)) == COUNT
        assert scrape.lost() == 0
        assert scrape.value("proctree_exporter_trees") == 0


@pytest.mark.parametrize("hierarchy", EASY, ids=lambda hierarchy: hierarchy.name)
def test_an_absolute_pattern_is_of_one_hierarchy(
    build: Build, idle: Exporter, hierarchy: Hierarchy
) -> None:
    """The same paths in version 2 are not meant."""
    with (
        cgroup(hierarchy.root / NAME) as meant,
        cgroup(version_2() / NAME) as other,
        following(idle, config(f"{meant}/*"), ROOMY) as running,
        workload(build("churn"), "20", "20", str(CALLS), str(meant)) as churn,
        workload(build("churn"), "20", "20", "1009", str(other)) as elsewhere,
    ):
        for one in (churn, elsewhere):
            one.expect("ready")
            one.go()
        for one in (churn, elsewhere):
            one.expect("done")
        wait_for(running, {f"/{NAME}/{i}": CALLS + i % 97 for i in range(1, 21)})
        scrape = until(running, lambda scrape: trees(scrape) == 0)
        assert len(calls(scrape)) == 20


def test_the_same_path_in_several_hierarchies_is_one_tree(
    build: Build, idle: Exporter, group: Path
) -> None:
    """As a container has it on machines with version 1: it takes one slot, and no call twice."""
    places = [hierarchy.root / NAME for hierarchy in EASY]
    for place in places:
        place.mkdir()
    try:
        with (
            following(idle, config(f"/{NAME}/*"), ROOMY) as running,
            workload(
                build("churn"), "50", "50", str(CALLS), str(group), *map(str, places)
            ) as churn,
        ):
            churn.expect("ready")
            churn.go()
            churn.expect("done")
            wait_for(running, {f"/{NAME}/{i}": CALLS + i % 97 for i in range(1, 51)})
            for place in (group, *places):
                (place / "stays").mkdir()
            scrape = until(running, lambda scrape: trees(scrape) == 1)
            assert scrape.value("proctree_exporter_trees") == 1
            for place in places:
                (place / "stays").rmdir()
            assert trees(running.scrape()) == 1
            (group / "stays").rmdir()
            until(running, lambda scrape: trees(scrape) == 0)
    finally:
        for place in places:
            for below in place.iterdir():
                if below.is_dir():
                    below.rmdir()
            place.rmdir()


def test_one_path_that_comes_and_goes_at_full_speed(build: Build, group: Path) -> None:
    """300 cgroups of one name, each made when the one before has just gone: one series, exact."""
    with (
        exporter(config(f"/{NAME}/*")) as running,
        workload(build("churn"), "300", "1", str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        churn.go()
        churn.expect("done")
        wait_for(running, {f"/{NAME}/1": 300 * (CALLS + 1)})
        scrape = until(running, lambda scrape: trees(scrape) == 0)
        assert calls(scrape) == {f"/{NAME}/1": 300 * (CALLS + 1)}
        assert scrape.value("proctree_exporter_trees") == scrape.lost() == 0


def test_cgroups_that_are_there_at_start(build: Build, group: Path) -> None:
    """With their processes, each in a tree of its own, and all calls from then on."""
    with workload(build("tenants"), "20", str(CALLS), str(group)) as tenants:
        tenants.expect("ready")
        with exporter(config(f"/{NAME}/*")) as running:
            scrape = running.scrape()
            assert trees(scrape) == 20
            assert scrape.all("proctree_tree_processes", target="it") == {
                f"/{NAME}/{i}": 1 for i in range(1, 21)
            }
            tenants.go()
            tenants.expect("done")
            assert calls(running.scrape()) == {f"/{NAME}/{i}": CALLS + i % 97 for i in range(1, 21)}


def test_the_deepest_match_holds_a_process(build: Build, idle: Exporter, group: Path) -> None:
    """A cgroup in a cgroup that matches, too; the upper one keeps what is in it, or in no match."""
    (group / "m/m/m").mkdir(parents=True)
    (group / "m/other").mkdir()
    with (
        following(idle, config(f"/{NAME}/**/m"), ROOMY) as running,
        workload(build("short_lives"), "7", "3", "13") as top,
        workload(build("short_lives"), "11", "3", "13") as middle,
        workload(build("short_lives"), "17", "3", "13") as bottom,
        workload(build("short_lives"), "19", "3", "13") as unmatched,
    ):
        everybody = {"m": top, "m/m": middle, "m/m/m": bottom, "m/other": unmatched}
        for place, tree in everybody.items():
            tree.expect("ready")
            move_tree(tree, group / place)
            tree.go()
            tree.expect("done")
        found = running.scrape().all("proctree_syscalls_total", target="it", syscall="getppid")
        assert found == {
            f"/{NAME}/m": (7 + 19) * 13, f"/{NAME}/m/m": 11 * 13, f"/{NAME}/m/m/m": 17 * 13,
        }  # fmt: skip


def test_a_process_that_moves_between_matches(build: Build, idle: Exporter, group: Path) -> None:
    """Calls are split exactly, those of all threads and of children born in between."""
    (group / "from").mkdir()
    (group / "into").mkdir()
    files = [str(group / place / "cgroup.procs") for place in ("into", "from", "into")]
    with workload(build("mover"), *files) as tree:
        tree.expect("ready")
        move_tree(tree, group / "from")
        with following(idle, config(f"/{NAME}/*"), ROOMY) as running:
            tree.go()
            tree.expect("done")
            found = running.scrape().all("proctree_syscalls_total", target="it", syscall="getppid")
            each = 8 * 1009 + 101
            assert found == {f"/{NAME}/from": 2 * each, f"/{NAME}/into": 2 * each}


def test_a_child_made_into_a_cgroup_that_matches(build: Build, idle: Exporter, group: Path) -> None:
    """CLONE_INTO_CGROUP: it was never anywhere else; the fork is its parent's."""
    (group / "from").mkdir()
    with workload(build("births"), "cgroup", str(group / "into")) as tree:
        tree.expect("ready")
        move_tree(tree, group / "from")
        with following(idle, config(f"/{NAME}/*"), ROOMY) as running:
            (group / "into").mkdir()
            tree.go()
            tree.expect("done")
            scrape = until(running, lambda scrape: trees(scrape) == 2)
            found = scrape.all("proctree_syscalls_total", target="it", syscall="getppid")
            assert found == {f"/{NAME}/into": 1009}
            labels = {"target": "it", "cgroup": f"/{NAME}/from"}
            assert scrape.value("proctree_process_forks_total", **labels) == 1


@pytest.mark.parametrize("absolute", [False, True])
def test_a_cgroup_that_is_listed_by_its_path_and_made_later(
    build: Build, idle: Exporter, group: Path, absolute: bool
) -> None:
    """Counted from its first process, each time it comes; one series."""
    config = f"- {{name: it, cgroup: {group if absolute else f'/{NAME}'}/1}}\n"
    with (
        following(idle, config, ROOMY) as running,
        workload(build("churn"), "50", "1", str(CALLS), str(group)) as churn,
    ):
        churn.expect("ready")
        churn.go()
        churn.expect("done")
        scrape = running.scrape()
        assert scrape.calls("it", "getpgid") == 50 * (CALLS + 1)
        assert (processes(scrape), forks(scrape)) == (0, 0)
        assert scrape.lost() == 0

"""A cgroup is a target: by each way to name it, with all that is below it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Exporter, exporter, workload
from tests.kernel.cgroup_tree import ROOT, cgroup, move_tree, version_2
from tests.kernel.trees import (
    RARE,
    ended,
    exits,
    following,
    forks,
    is_up,
    processes,
    until,
)

Build = Callable[..., Path]
NAME = f"proctree-test-{os.getpid()}"


def version_1() -> list[Path]:
    """The hierarchies of version 1 that let a process in without further settings."""
    names = ("cpu", "freezer", "pids", "systemd")
    return [ROOT / name for name in names if (ROOT / name / "cgroup.procs").exists()]


@pytest.fixture
def group() -> Iterator[Path]:
    with cgroup(version_2() / NAME) as place:
        yield place


def test_a_cgroup_by_its_path_from_the_root(build: Build, idle: Exporter, group: Path) -> None:
    """Processes that are in it, and their children, count; it is up and has a tree."""
    with workload(build("short_lives"), "16", "3", "1009") as tree:
        tree.expect("ready")
        move_tree(tree, group)
        with following(idle, f"[{{name: it, cgroup: /{NAME}}}]") as running:
            scrape = running.scrape()
            assert (is_up(scrape), processes(scrape)) == (1, 1)
            assert scrape.value("proctree_target_trees", target="it") == 1
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 16 * 1009
            assert forks(scrape) == 16
            assert exits(scrape) == ended(ok=16)


@pytest.mark.parametrize("hierarchy", [version_2(), *version_1()], ids=lambda path: path.name)
def test_a_cgroup_by_its_absolute_path(build: Build, idle: Exporter, hierarchy: Path) -> None:
    """In version 2 and in each hierarchy of version 1."""
    with cgroup(hierarchy / NAME) as place, workload(build("short_lives"), "7", "3", "13") as tree:
        tree.expect("ready")
        move_tree(tree, place)
        with following(idle, f"[{{name: it, cgroup: {place}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 7 * 13
            assert (forks(scrape), processes(scrape)) == (7, 1)


@pytest.mark.parametrize("depth", [1, 7, 31])
def test_everything_below_a_cgroup_is_in_it(
    build: Build, idle: Exporter, group: Path, depth: int
) -> None:
    """However deep."""
    place = group.joinpath(*(f"d{level}" for level in range(depth)))
    place.mkdir(parents=True)
    with workload(build("short_lives"), "7", "3", "13") as tree:
        tree.expect("ready")
        move_tree(tree, place)
        with following(idle, f"[{{name: it, cgroup: /{NAME}}}]") as running:
            tree.go()
            tree.expect("done")
            assert running.scrape().calls("it", "getppid") == 7 * 13


def test_the_deepest_listed_cgroup_wins(build: Build, idle: Exporter, group: Path) -> None:
    """A process is in the tree of the deepest of the listed cgroups that hold it."""
    below = group / "a" / "b"
    below.mkdir(parents=True)
    with (
        workload(build("short_lives"), "7", "3", "13") as inner,
        workload(build("short_lives"), "11", "3", "13") as outer,
    ):
        for tree, place in ((inner, below), (outer, group)):
            tree.expect("ready")
            move_tree(tree, place)
        config = f"- {{name: deep, cgroup: /{NAME}/a}}\n- {{name: top, cgroup: /{NAME}}}\n"
        with following(idle, config) as running:
            for tree in (inner, outer):
                tree.go()
                tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("deep", "getppid") == 7 * 13
            assert scrape.calls("top", "getppid") == 11 * 13


def test_a_process_in_two_listed_hierarchies_is_in_the_deeper_cgroup(
    build: Build, idle: Exporter, group: Path
) -> None:
    """It is counted once: in the target whose cgroup is deeper in its own hierarchy."""
    for other in version_1()[:1]:
        with (
            cgroup(other / NAME / "deeper") as deeper,
            workload(build("short_lives"), "7", "3", "13") as tree,
        ):
            tree.expect("ready")
            move_tree(tree, group)
            move_tree(tree, deeper)
            config = f"- {{name: v2, cgroup: {group}}}\n- {{name: v1, cgroup: {deeper}}}\n"
            with following(idle, config) as running:
                tree.go()
                tree.expect("done")
                scrape = running.scrape()
                assert scrape.calls("v1", "getppid") == 7 * 13
                assert scrape.calls("v2", "getppid") == 0


def test_a_root_pid_is_nearer_than_a_cgroup(build: Build, idle: Exporter, group: Path) -> None:
    """A listed root takes its tree out of the cgroup that holds it."""
    with (
        workload(build("short_lives"), "7", "3", "13") as listed,
        workload(build("short_lives"), "11", "3", "13") as other,
    ):
        for tree in (listed, other):
            tree.expect("ready")
            move_tree(tree, group)
        config = f"- {{name: group, cgroup: /{NAME}}}\n- {{name: it, pid: {listed.pid}}}\n"
        with following(idle, config) as running:
            for tree in (listed, other):
                tree.go()
                tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 7 * 13
            assert scrape.calls("group", "getppid") == 11 * 13


@pytest.mark.alone
@pytest.mark.parametrize("last", ["all: true", "pid: 1"])
def test_a_cgroup_goes_before_all_and_pid_1(build: Build, group: Path, last: str) -> None:
    """What a listed cgroup holds is in no target that ranks last, and the rest is."""
    with (
        workload(build("family")) as inside,
        workload(build("family")) as outside,
    ):
        for tree in (inside, outside):
            tree.expect("ready")
        move_tree(inside, group)  # the first process and its thread: children were born before
        config = f"- {{name: last, {last}}}\n- {{name: group, cgroup: /{NAME}}}\n"
        with exporter(config) as running:
            for tree in (inside, outside):
                tree.go()
                tree.expect("round")
            scrape = running.scrape()
            everybody = 101 + 103 + 211 + 307 + 401
            assert scrape.calls("group", RARE) == 101 + 103
            assert scrape.calls("last", RARE) == 2 * everybody - (101 + 103)
        inside.end()
        outside.end()


def test_a_child_made_into_a_cgroup_is_in_it(build: Build, idle: Exporter, group: Path) -> None:
    """CLONE_INTO_CGROUP: the child counts in the cgroup that it was born in, its parent not."""
    with workload(build("births"), "cgroup", str(group)) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, cgroup: /{NAME}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == scrape.timed("it", "getppid") == 1009
            assert exits(scrape) == ended(ok=1)
            assert (forks(scrape), processes(scrape), is_up(scrape)) == (0, 0, 0)


def test_a_child_made_into_a_cgroup_leaves_its_parents(
    build: Build, idle: Exporter, group: Path
) -> None:
    """From one listed cgroup into another; the fork is its parent's, the rest the new one's."""
    (group / "from").mkdir()
    (group / "into").mkdir()
    with workload(build("births"), "cgroup", str(group / "into")) as tree:
        tree.expect("ready")
        move_tree(tree, group / "from")
        config = f"- {{name: old, cgroup: /{NAME}/from}}\n- {{name: new, cgroup: /{NAME}/into}}\n"
        with following(idle, config) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("new", "getppid") == 1009
            assert scrape.calls("old", "getppid") == 0
            assert (forks(scrape, "old"), forks(scrape, "new")) == (1, 0)
            assert exits(scrape, "new") == ended(ok=1)


def test_a_child_made_into_a_cgroup_stays_in_its_tree(
    build: Build, idle: Exporter, group: Path
) -> None:
    """Below a listed root PID it is that tree's, whatever cgroup it is in."""
    with workload(build("births"), "cgroup", str(group)) as tree:
        tree.expect("ready")
        config = f"- {{name: it, pid: {tree.pid}}}\n- {{name: group, cgroup: /{NAME}}}\n"
        with following(idle, config) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1009
            assert scrape.calls("group", "getppid") == 0


def test_a_process_whose_first_thread_has_ended_is_in_its_cgroup(build: Build, group: Path) -> None:
    """It was in the cgroup before the exporter came, and lives on."""
    with workload(build("leader_first"), "exit", "exit_group", "0") as tree:
        tree.expect("ready")
        move_tree(tree, group)
        tree.go()
        tree.expect("alone")
        with exporter(f"[{{name: it, cgroup: /{NAME}}}]") as running:
            assert is_up(running.scrape()) == 1
            tree.go()
            tree.expect("made")
            assert running.scrape().calls("it", "getppid") == 17


def test_a_cgroup_that_comes_later_goes_and_comes_again(build: Build, idle: Exporter) -> None:
    """It is picked up each time; while it is gone the target is down, and its counters stay."""
    with following(idle, f"[{{name: goes, cgroup: /{NAME}}}]") as running:
        assert is_up(running.scrape(), "goes") == 0
        for times in (1, 2):
            with (
                cgroup(version_2() / NAME) as place,
                workload(build("short_lives"), "7", "3", "13") as tree,
            ):
                tree.expect("ready")
                move_tree(tree, place)
                until(running, lambda scrape: is_up(scrape, "goes") == 1)
                tree.go()
                tree.expect("done")
                scrape = running.scrape()
                assert scrape.calls("goes", "getppid") == times * 7 * 13
                assert scrape.value("proctree_target_trees", target="goes") == 1
            scrape = until(
                running, lambda scrape: scrape.value("proctree_target_trees", target="goes") == 0
            )
            assert is_up(scrape, "goes") == 0
            assert scrape.calls("goes", "getppid") == times * 7 * 13
            running.get("/-/ready")
        assert "goes: its cgroup is gone" in running.log


def test_a_cgroup_removed_and_made_again_at_once(build: Build, idle: Exporter) -> None:
    """Between two looks of the exporter: the new one is another cgroup, and is picked up."""
    with (
        cgroup(version_2() / NAME) as place,
        following(idle, f"[{{name: it, cgroup: /{NAME}}}]") as running,
        workload(build("short_lives"), "7", "3", "13") as tree,
    ):
        tree.expect("ready")
        place.rmdir()
        place.mkdir()
        move_tree(tree, place)
        until(running, lambda scrape: is_up(scrape) == 1)
        tree.go()
        tree.expect("done")
        assert running.scrape().calls("it", "getppid") == 7 * 13


def test_a_cgroup_that_comes_later_holds_those_that_were_moved_into_it_before(
    build: Build,
    idle: Exporter,
) -> None:
    """Threads that have no storage yet are followed from when it is up: each of their calls."""
    with (
        following(idle, f"[{{name: it, cgroup: /{NAME}}}]") as running,
        cgroup(version_2() / NAME) as place,
        workload(build("family")) as tree,
    ):
        tree.expect("ready")
        move_tree(tree, place)
        until(running, lambda scrape: is_up(scrape) == 1)
        tree.go()
        tree.expect("round")
        assert running.scrape().calls("it", RARE) == 101 + 103
        tree.end()


def test_a_cgroup_path_that_is_a_file(idle: Exporter, group: Path) -> None:
    """It is down, one line says so, and the exporter goes on."""
    config = f"- {{name: file, cgroup: /{NAME}/cgroup.procs}}\n- {{name: it, cgroup: /{NAME}}}\n"
    with following(idle, config) as running:
        scrape = running.scrape()
        assert is_up(scrape, "file") == 0
        assert scrape.value("proctree_target_trees", target="file") == 0
        assert scrape.value("proctree_target_trees", target="it") == 1
        lines = [line for line in running.log.splitlines() if "target file" in line]
        assert len(lines) == 1, running.log
        assert "level=warn" in lines[0]

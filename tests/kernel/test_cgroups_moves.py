"""A process that moves between cgroups changes its target at once, with all its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Exporter, workload
from tests.kernel.cgroup_tree import cgroup, move, move_tree, version_2
from tests.kernel.test_cgroups import NAME, version_1
from tests.kernel.trees import ended, exits, following, processes, threads

Build = Callable[..., Path]
CONFIG = "- {{name: a, cgroup: {place}/a}}\n- {{name: b, cgroup: {place}/b}}\n"
ROUND = 8 * 1009 + 101


@pytest.fixture(params=[version_2(), *version_1()], ids=lambda path: path.name)
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """With a, b and other in it; in each hierarchy."""
    with cgroup(request.param / NAME) as place:
        for name in ("a", "b", "other"):
            (place / name).mkdir()
        yield place


def procs(group: Path, names: str) -> list[str]:
    return [str(group / name / "cgroup.procs") for name in names.split()]


@pytest.mark.parametrize(
    ("start", "moves", "in_a", "in_b"),
    [
        ("other", "a", 1, 0),  # into: the threads had no storage
        ("a", "other", 1, 0),  # out of
        ("a", "b", 1, 1),  # between
        ("a", "other a b other b", 2, 2),
        ("other", "a b " * 5, 5, 5),
    ],
    ids=["into", "out", "between", "round", "often"],
)
def test_a_move_takes_all_threads_at_once(
    build: Build, idle: Exporter, group: Path, start: str, moves: str, in_a: int, in_b: int
) -> None:
    """Each call before the move is the old target's, each one right after it the new one's."""
    with workload(build("mover"), *procs(group, moves)) as tree:
        tree.expect("ready")
        move_tree(tree, group / start)
        with following(idle, CONFIG.format(place=group)) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("a", "getppid") == in_a * ROUND
            assert scrape.calls("b", "getppid") == in_b * ROUND
            assert exits(scrape, "a") == ended(ok=in_a)
            assert exits(scrape, "b") == ended(ok=in_b)
            assert scrape.lost() == 0


def test_moves_in_a_storm_of_calls_and_forks_lose_none(
    build: Build, idle: Exporter, group: Path
) -> None:
    """Three processes are moved to and fro 997 times while they call: the sum is the total."""
    with workload(build("steady")) as tree:
        tree.expect("ready")
        move_tree(tree, group / "a")
        with following(idle, CONFIG.format(place=group)) as running:
            tree.go()
            born = [int(pid) for pid in tree.expect("born")]
            for i in range(997):
                move(born[i % 3], group / "ba"[i // 3 % 2])
            tree.go()
            (total,) = tree.expect("total")
            tree.expect("done")
            scrape = running.scrape()
            counted = [scrape.calls(target, "getppid") for target in "ab"]
            assert sum(counted) == int(total)
            assert min(counted) > 0
            assert scrape.lost() == 0
            assert processes(scrape, "a") + processes(scrape, "b") == 4


def test_a_move_after_the_first_thread_has_ended(build: Build, idle: Exporter, group: Path) -> None:
    """The kernel leaves the dead leader where it was: the process is where its threads are."""
    with workload(build("leader_first"), "exit", "exit_group", "0") as tree:
        tree.expect("ready")
        move_tree(tree, group / "a")
        with following(idle, CONFIG.format(place=group)) as running:
            tree.go()
            tree.expect("alone")
            move_tree(tree, group / "b")
            tree.go()
            tree.expect("made")
            scrape = running.scrape()
            assert scrape.calls("a", "getppid") == 1013
            assert scrape.calls("b", "getppid") == 17
            assert (threads(scrape, "a"), threads(scrape, "b")) == (0, 1)
            tree.go()
            tree.process.wait()
            scrape = running.scrape()
            assert exits(scrape, "a") == ended()
            assert exits(scrape, "b") == ended(ok=1)


def test_a_move_within_a_listed_root_changes_nothing(
    build: Build, idle: Exporter, group: Path
) -> None:
    """The nearest root PID goes before any cgroup, wherever the process is moved to."""
    with workload(build("mover"), *procs(group, "a b")) as tree:
        tree.expect("ready")
        config = CONFIG.format(place=group) + f"- {{name: it, pid: {tree.pid}}}\n"
        with following(idle, config) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 3 * ROUND
            assert scrape.calls("a", "getppid") == scrape.calls("b", "getppid") == 0

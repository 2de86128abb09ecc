"""Descendants that are there before the exporter, and those that come and go while it attaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness import Workload, exporter, workload
from tests.kernel.trees import ended, exits, forks, lost, paused_exporter, processes, until

Build = Callable[..., Path]


def targets(trees: Iterable[Workload]) -> str:
    """One for each of these, by its PID."""
    return "".join(f"- {{name: it{tree.pid}, pid: {tree.pid}}}\n" for tree in trees)


def test_descendants_that_were_there_before(build: Build) -> None:
    """40 levels deep, 211 wide and both: each makes 103 calls, and all are counted."""
    shapes = [(40, 0), (1, 211), (40, 97)]
    with ExitStack() as stack:
        trees = [
            stack.enter_context(workload(build("shapes"), str(depth), str(width), "103"))
            for depth, width in shapes
        ]
        for tree in trees:
            tree.expect("ready")
        running = stack.enter_context(exporter(targets(trees)))
        for tree, (depth, width) in zip(trees, shapes, strict=True):
            it = f"it{tree.pid}"
            assert processes(running.scrape(), it) == 1 + depth + width
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls(it, "getppid") == (depth + width) * 103
            assert forks(scrape, it) == 0


@pytest.mark.parametrize("order", ["up", "down"])
def test_trees_that_fork_and_die_while_we_attach(build: Build, order: str) -> None:
    """Relays of processes, each of which lives for a moment, are followed from ready on."""
    for _ in range(2):
        with ExitStack() as stack:
            trees = [
                stack.enter_context(workload(build("relay"), pause_us, order))
                for pause_us in ("2000", "300", "0")
            ]
            for tree in trees:
                tree.expect("ready")
            running = stack.enter_context(exporter(targets(trees)))
            for tree in trees:
                it = f"it{tree.pid}"
                tree.go()
                tree.expect("steps")
                tree.expect("done")
                # the last of the relay says so just before it ends
                scrape = until(running, lambda scrape, it=it: processes(scrape, it) == 1)
                assert scrape.calls(it, "getppid") == 11 * 1009, running.log
                assert lost(scrape, "incomplete_tree") == 0


@pytest.mark.parametrize("point", ["attached", "listed"])
def test_orphans_whose_parents_die_while_we_attach(
    build: Build, tmp_path: Path, point: str
) -> None:
    """Whoever adopted them: they were the tree's when the hooks came, so they stay in it."""
    with (
        workload(build("orphans"), "7", "11", "101") as few,
        workload(build("orphans"), "3", "97", "101") as many,
    ):
        for tree in (few, many):
            tree.expect("ready")
        with paused_exporter(targets((few, many)), point, tmp_path) as (running, resume):
            for tree in (few, many):
                tree.go()
                tree.expect("orphaned")
            resume()
            for tree, orphans in ((few, 7 * 11), (many, 3 * 97)):
                it = f"it{tree.pid}"
                assert processes(running.scrape(), it) == 1 + orphans
                tree.go()
                tree.expect("done")
                assert running.scrape().calls(it, "getppid") == orphans * 101


@pytest.mark.parametrize("point", ["attached", "listed"])
def test_a_sibling_made_while_we_attach(build: Build, tmp_path: Path, point: str) -> None:
    """CLONE_PARENT: its parent is outside of the tree, who made it is inside; so is it."""
    with workload(build("sibling")) as tree:
        (root,) = tree.expect("root")
        tree.expect("ready")
        with paused_exporter(f"[{{name: it, pid: {root}}}]", point, tmp_path) as (running, resume):
            tree.go()
            tree.expect("born")
            resume()
            assert processes(running.scrape()) == 2
            tree.go()
            tree.expect("done")
            assert running.scrape().calls("it", "getppid") == 1009
            tree.go()
            tree.process.wait()


def test_more_orphans_of_one_parent_than_are_kept_are_no_silent_loss(
    build: Build, tmp_path: Path
) -> None:
    """1,009 orphans of one parent while we attach: all are followed, or a loss is counted."""
    with workload(build("orphans"), "1", "1009", "3") as tree:
        tree.expect("ready")
        config = f"[{{name: it, pid: {tree.pid}}}]"
        with paused_exporter(config, "attached", tmp_path) as (running, resume):
            tree.go()
            tree.expect("orphaned")
            resume()
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            counted = scrape.calls("it", "getppid")
            assert counted == 1009 * 3 or lost(scrape, "incomplete_tree") > 0


@pytest.mark.parametrize("point", ["attached", "listed"])
def test_those_born_and_gone_while_we_attach_leave_nothing(
    build: Build, tmp_path: Path, point: str
) -> None:
    """997 children come and go in the middle of it: they are the tree's, and no entry stays."""
    with workload(build("short_lives"), "997", "16", "13") as tree:
        tree.expect("ready")
        config = f"[{{name: it, pid: {tree.pid}}}]"
        with paused_exporter(config, point, tmp_path) as (running, resume):
            tree.go()
            tree.expect("done")
            resume()
            scrape = running.scrape()
            assert processes(scrape) == 1
            entries = scrape.value("proctree_exporter_map_entries", map="traced_tgids")
            assert entries == 2  # the root, and the exporter, which is kept out
            tree.go()
            tree.process.wait()
            assert exits(running.scrape()) == ended(ok=998)


@pytest.mark.parametrize("point", ["attached", "listed"])
def test_a_number_used_again_while_we_attach_adopts_nobody(
    build: Build, tmp_path: Path, point: str
) -> None:
    """A descendant dies meanwhile, and a stranger gets its number: it stays a stranger."""
    with workload(build("one_child")) as tree:
        (child,) = tree.expect("child")
        tree.expect("ready")
        config = f"[{{name: it, pid: {tree.pid}}}]"
        with paused_exporter(config, point, tmp_path) as (running, resume):
            tree.go()
            tree.expect("gone")
            with workload(build("stranger"), child) as stranger:
                stranger.expect("ready")
                resume()
                before = running.scrape()
                stranger.go()
                stranger.expect("made")
                scrape = running.scrape()
                assert processes(scrape) == 1
                calls = before.calls("it", "getppid")
                assert scrape.calls("it", "getppid") == calls
                assert calls in (0, 101)  # those of the child, which nobody promised to count

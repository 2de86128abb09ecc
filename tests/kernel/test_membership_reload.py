"""A new config reaches every process and thread at once, and loses nothing of what stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Exporter, exporter, workload
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.test_membership_nearest import (
    CHILD,
    GRANDCHILD,
    ORPHAN,
    SELF,
    family,
    one_round,
)
from tests.kernel.trees import (
    NOBODY,
    RARE,
    following,
    is_up,
    loses_no_call,
    processes,
    reconfigure,
    threads,
)

Build = Callable[..., Path]
LIFECYCLE = "--web.enable-lifecycle"


def test_a_target_that_stays_loses_no_call(build: Build) -> None:
    """31 reloads that add and remove others, in a storm of calls and forks: counted == made."""
    with workload(build("steady")) as tree:
        it = f"limits: {{trees: 256}}\ntargets:\n- {{name: it, pid: {tree.pid}}}\n"
        other = f"- {{name: other, pid: {os.getpid()}}}\n"
        with exporter(it, LIFECYCLE) as running:
            loses_no_call(running, tree, (it + other * (i % 2) for i in range(31)))


def test_a_new_root_inside_a_tree_takes_what_is_below_it(build: Build, idle: Exporter) -> None:
    """From then on, with all of its threads and descendants; the outer one keeps the rest."""
    with family(build) as (tree, child, _):
        outer = f"- {{name: outer, pid: {tree.pid}}}\n"
        with following(idle, outer) as running:
            one_round(tree)
            reconfigure(running, outer + f"- {{name: inner, pid: {child}}}\n")
            scrape = running.scrape()  # of threads that all sleep, and so have not asked yet
            assert (processes(scrape, "outer"), threads(scrape, "outer")) == (1, 2)
            assert (processes(scrape, "inner"), threads(scrape, "inner")) == (2, 2)
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("outer", RARE) == 2 * SELF + CHILD + GRANDCHILD
            assert scrape.calls("inner", RARE) == CHILD + GRANDCHILD


def test_what_a_removed_root_held_falls_to_the_outer_one(build: Build, idle: Exporter) -> None:
    """The outer root has it from then on; the removed one's counters stay for a while."""
    with family(build) as (tree, child, _):
        outer = f"- {{name: outer, pid: {tree.pid}}}\n"
        inner = f"- {{name: inner, pid: {child}}}\n"
        with following(idle, outer + inner) as running:
            one_round(tree)
            reconfigure(running, outer)
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("outer", RARE) == 2 * SELF + CHILD + GRANDCHILD
            assert scrape.calls("inner", RARE) == CHILD + GRANDCHILD
            assert is_up(scrape, "inner") == 0


def test_a_removed_tree_is_followed_no_more(build: Build, idle: Exporter) -> None:
    """With nothing else listed above it, none of its threads and processes counts any more."""
    with family(build) as (tree, _, grandchild):
        config = f"- {{name: it, pid: {tree.pid}}}\n- {{name: other, pid: {grandchild}}}\n"
        with following(idle, config) as running:
            one_round(tree)
            reconfigure(running, f"- {{name: other, pid: {grandchild}}}\n")
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == SELF + CHILD
            assert scrape.calls("other", RARE) == 2 * GRANDCHILD


def test_a_tree_that_is_there_is_picked_up(build: Build, idle: Exporter) -> None:
    """A new target counts every thread and descendant that exists; the orphan has no way to it."""
    with (
        family(build) as (tree, _, _),
        following(idle, NOBODY) as running,
    ):
        one_round(tree)
        reconfigure(running, f"- {{name: it, pid: {tree.pid}}}\n")
        one_round(tree)
        scrape = running.scrape()
        assert scrape.calls("it", RARE) == SELF + CHILD + GRANDCHILD
        assert processes(scrape) == 3


@pytest.mark.alone
def test_orphans_of_a_tree_that_stays_remain_in_it(build: Build) -> None:
    """Whoever adopted them since: no reload, and no new target beside, takes them out."""
    with workload(build("orphans"), "7", "11", "101") as tree:
        tree.expect("ready")
        it = f"- {{name: it, pid: {tree.pid}}}\n"
        with exporter(it, LIFECYCLE) as running:
            tree.go()
            tree.expect("orphaned")
            for extra in ("", "- {name: node, all: true}\n", "- {name: init, pid: 1}\n", ""):
                reconfigure(running, it + extra)
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 7 * 11 * 101


@pytest.mark.parametrize("to", ["false", "true"])
def test_follow_forks_can_be_changed(build: Build, idle: Exporter, to: str) -> None:
    """Children leave the tree, or come into it; the counters of the target go on."""
    before = "true" if to == "false" else "false"
    with family(build) as (tree, _, _):
        it = f"- {{name: it, pid: {tree.pid}, follow_forks: %s}}\n"
        with following(idle, it % before) as running:
            one_round(tree)
            reconfigure(running, it % to)
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == 2 * SELF + CHILD + GRANDCHILD
            assert processes(scrape) == (1 if to == "false" else 3)


def test_a_new_root_takes_a_tree_that_forks_all_the_time(build: Build) -> None:
    """11 times: after a reload nothing that is born below the new root is still the outer one's."""
    with workload(build("steady")) as tree:
        tree.expect("ready")
        outer = f"- {{name: outer, pid: {tree.pid}}}\n"
        with exporter("limits: {trees: 256}\ntargets:\n" + outer, LIFECYCLE) as running:
            tree.go()
            *inner, forking = tree.expect("born")
            for _ in range(11):
                everybody = "".join(
                    f"- {{name: inner{pid}, pid: {pid}}}\n" for pid in (*inner, forking)
                )
                reconfigure(running, "limits: {trees: 256}\ntargets:\n" + outer + everybody)
                before = running.scrape().calls("outer", "getppid")
                assert running.scrape().calls("outer", "getppid") == before
                reconfigure(running, "limits: {trees: 256}\ntargets:\n" + outer)
            tree.go()
            (total,) = tree.expect("total")
            tree.expect("done")
            found = running.scrape().all("proctree_syscalls_total", syscall="getppid")
            assert sum(found.values()) == int(total)


@pytest.mark.alone
def test_all_added_and_removed(build: Build) -> None:
    """What no root holds goes to `all` while it is listed, orphans too, and nowhere after."""
    with family(build) as (tree, child, _):
        inner = f"- {{name: inner, pid: {child}}}\n"
        with exporter(inner, LIFECYCLE) as running:
            one_round(tree)
            reconfigure(running, inner + "- {name: node, all: true}\n")
            one_round(tree)
            reconfigure(running, inner)
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("inner", RARE) == 3 * (CHILD + GRANDCHILD)
            assert scrape.calls("node", RARE) == SELF + ORPHAN


@pytest.mark.alone
def test_a_cgroup_added_and_removed(build: Build) -> None:
    """What is in it already counts from the reload on, and goes back to `all` afterwards."""
    name = f"proctree-reload-{os.getpid()}"
    with cgroup(version_2() / name) as place, family(build) as (tree, child, _):
        move(int(child), place)
        node, group = "- {name: node, all: true}\n", f"- {{name: group, cgroup: /{name}}}\n"
        with exporter(node, LIFECYCLE) as running:
            for config in (node, group + node, node):
                reconfigure(running, config)
                one_round(tree)
            scrape = running.scrape()
            everybody = SELF + CHILD + GRANDCHILD + ORPHAN
            assert scrape.calls("group", RARE) == CHILD
            assert scrape.calls("node", RARE) == 3 * everybody - CHILD

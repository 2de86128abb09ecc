"""A reload reaches a tree in which no process lives until it has been listed and written about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import Exporter, Scrape, Workload, exporter, workload
from tests.kernel.trees import NOBODY, following, lost, reconfigure

Build = Callable[..., Path]
MADE = 11 * 1009  # calls that the relay makes in the end

OUTER = f"- {{name: outer, pid: {os.getpid()}}}\n"
MATCH = "- {name: inner, match: {comm: short-lived}}\n"  # a name that no other test has
ALL = "- {name: outer, all: true}\n"

#: As fast as can be; so that some are listed; and downwards, where a list misses most of them.
paces = pytest.mark.parametrize("pace", ["0 up", "300 up", "300 down"])


def inner(tree: Workload) -> str:
    return f"- {{name: inner, pid: {tree.pid}}}\n"


@contextmanager
def relay(build: Build, pace: str) -> Iterator[Workload]:
    program = build("relay").with_name("short-lived")
    if not program.exists():
        shutil.copy(build("relay"), program)
    with workload(program, *pace.split()) as tree:
        tree.expect("ready")
        yield tree


def getppids(scrape: Scrape) -> dict[str, float]:
    return {
        name: sum(scrape.all("proctree_syscalls_total", target=name, syscall="getppid").values())
        for name in ("outer", "inner")
    }


def counted(running: Exporter, tree: Workload, config: str) -> dict[str, float]:
    """What is counted of the calls that it makes once this config is there, by target."""
    missed = lost(running.scrape(), "incomplete_tree")
    reconfigure(running, config)
    before = getppids(running.scrape())
    tree.go()
    tree.expect("steps")
    tree.expect("done")
    scrape = running.scrape()
    assert lost(scrape, "incomplete_tree") == missed, running.log
    return {name: number - before[name] for name, number in getppids(scrape).items()}


@paces
def test_taken_off(build: Build, idle: Exporter, pace: str) -> None:
    with relay(build, pace) as tree, following(idle, inner(tree)) as running:
        assert counted(running, tree, NOBODY) == {"outer": 0, "inner": 0}


@paces
def test_taken_off_by_name(build: Build, idle: Exporter, pace: str) -> None:
    with following(idle, MATCH) as running, relay(build, pace) as tree:
        assert counted(running, tree, NOBODY) == {"outer": 0, "inner": 0}


@paces
def test_what_a_removed_root_held_falls_to_the_outer_one(
    build: Build, idle: Exporter, pace: str
) -> None:
    with relay(build, pace) as tree, following(idle, OUTER + inner(tree)) as running:
        assert counted(running, tree, OUTER) == {"outer": MADE, "inner": 0}


@paces
def test_a_new_root_inside(build: Build, idle: Exporter, pace: str) -> None:
    with relay(build, pace) as tree, following(idle, OUTER) as running:
        assert counted(running, tree, OUTER + inner(tree)) == {"outer": 0, "inner": MADE}


@paces
def test_a_name_that_is_new(build: Build, idle: Exporter, pace: str) -> None:
    """The program began before: it has to live until user space has read what it is."""
    with relay(build, pace) as tree, following(idle, NOBODY) as running:
        assert counted(running, tree, MATCH) == {"outer": 0, "inner": MADE}


@paces
def test_a_name_that_stays(build: Build, idle: Exporter, pace: str) -> None:
    """What held when the program began still does when the root above it is taken off."""
    with following(idle, OUTER + MATCH) as running, relay(build, pace) as tree:
        assert counted(running, tree, MATCH) == {"outer": 0, "inner": MADE}


@paces
def test_orphans_remain(build: Build, idle: Exporter, pace: str) -> None:
    """Whoever has adopted them is a root from now on, and no ancestor of theirs."""
    with workload(build("relay"), *pace.split(), "held") as tree:
        (first,) = tree.expect("first")
        tree.expect("held")
        orphans = f"- {{name: outer, pid: {first}}}\n"
        with following(idle, orphans) as running:
            tree.go()
            tree.expect("ready")
            assert counted(running, tree, orphans + inner(tree)) == {"outer": MADE, "inner": 0}


@paces
def test_a_new_exclude(build: Build, idle: Exporter, pace: str) -> None:
    with relay(build, pace) as tree, following(idle, OUTER) as running:
        excludes = OUTER.replace("}", ", exclude: [{comm: short-lived}]}")
        assert counted(running, tree, excludes) == {"outer": 0, "inner": 0}


@paces
def test_an_exclude_taken_off(build: Build, idle: Exporter, pace: str) -> None:
    """Nobody remains excluded, also once another exclude has the bit of this one."""

    def outer(name: str) -> str:
        return f"- {{name: outer, pid: {os.getpid()}, exclude: [{{comm: {name}}}]}}\n"

    with following(idle, outer("short-lived")) as running, relay(build, pace) as tree:
        reconfigure(running, OUTER)
        assert counted(running, tree, outer("nobody")) == {"outer": MADE, "inner": 0}


@pytest.mark.alone
@paces
def test_the_machine_taken_off(build: Build, pace: str) -> None:
    with (
        relay(build, pace) as tree,
        exporter(f"targets:\n{ALL}", "--web.enable-lifecycle") as running,
    ):
        assert counted(running, tree, f"targets:\n{NOBODY}") == {"outer": 0, "inner": 0}

"""What is alive, what it does, and how it began and ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen

from pytest import approx

from tests.caller import born
from tests.harness import Scrape, exporter, workload
from tests.kernel.trees import ended, execs, exits, forks, is_up, processes, threads, until

Build = Callable[..., Path]


def test_threads_by_what_they_do(build: Build) -> None:
    """Of 9 threads in 6 processes one runs, five sleep, two wait for a vfork, one is stopped."""
    with workload(build("states")) as tree:
        tree.expect("ready")
        with exporter(f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("there")
            scrape = until(running, lambda scrape: threads(scrape) == 9)
            states = scrape.all("proctree_tree_threads", target="it")
            assert states == {"running": 1, "sleeping": 5, "uninterruptible": 2, "stopped": 1}
            assert processes(scrape) == 6
            assert forks(scrape) == 5


def test_lives_by_how_they_ended(build: Build) -> None:
    """17 forks: 5 end well (2 of them another program), 5 with an error, 7 by a signal."""
    with workload(build("lives")) as tree:
        tree.expect("ready")
        with exporter(f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert (forks(scrape), execs(scrape)) == (17, 2)
            assert exits(scrape) == ended(ok=5, error=5, signal=7)
            assert (processes(scrape), threads(scrape)) == (1, 1)


def test_a_dead_tree_is_down_and_keeps_its_counters(build: Build) -> None:
    """Its last process was killed: up 0, nothing alive, all counters as they were."""
    with workload(build("lives")) as tree:
        tree.expect("ready")
        with exporter(f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            alive = running.scrape()
            assert is_up(alive) == 1
            os.kill(tree.pid, signal.SIGKILL)
            tree.process.wait()
            dead = running.scrape()
            assert (is_up(dead), processes(dead), threads(dead)) == (0, 0, 0)
            assert exits(dead) == ended(ok=5, error=5, signal=8)
            assert (forks(dead), execs(dead)) == (17, 2)
            before = alive.all("proctree_syscalls_total", target="it")
            after = dead.all("proctree_syscalls_total", target="it")
            # What it was in when it was killed, reading, ends with an error and counts, too.
            assert {**before, "read": before["read"] + 1} == after
            entries = dead.value("proctree_exporter_map_entries", map="traced_tgids")
            assert entries == 1  # the exporter's own, which is kept out


def test_when_the_oldest_that_is_alive_began() -> None:
    """The root's birth; its child's, once the root is gone; nothing, once both are. The clock of
    /proc/PID/stat has 100 ticks a second."""
    script = "read line; sleep 1000 & echo $!; read line"
    with (
        Popen(["sh", "-c", script], stdin=PIPE, stdout=PIPE, text=True) as root,
        exporter(f"[{{name: it, pid: {root.pid}}}]") as running,
    ):
        assert root.stdin
        assert root.stdout
        root.stdin.write("\n")
        root.stdin.flush()
        child = int(root.stdout.readline())
        assert started(running.scrape()) == approx(born(root.pid), abs=0.02)
        expected = born(child)
        assert expected > born(root.pid) + 0.02
        root.stdin.write("\n")
        root.stdin.flush()
        root.wait()
        assert started(running.scrape()) == approx(expected, abs=0.02)
        os.kill(child, signal.SIGKILL)
        scrape = until(running, lambda scrape: processes(scrape) == 0)
        assert scrape.all("proctree_tree_start_time_seconds") == {}


def started(scrape: Scrape) -> float:
    return scrape.value("proctree_tree_start_time_seconds", target="it")

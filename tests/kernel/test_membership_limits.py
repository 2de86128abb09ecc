"""What finds no room is counted as lost, call by call, and followed again when there is room."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.harness import exporter, workload
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.trees import forks, lost, processes, until

Build = Callable[..., Path]

CONFIG = "limits: {{processes: 16}}\ntargets: [{{name: it, pid: {pid}}}]\n"


def test_a_crowd_that_does_not_fit(build: Build) -> None:
    """64 live together where 16 fit: each call is counted or lost, and those left find room."""
    with workload(build("crowd"), "64", "5") as tree:
        tree.expect("ready")
        with exporter(CONFIG.format(pid=tree.pid)) as running:
            tree.go()
            tree.expect("born")
            tree.go()
            tree.expect("made")
            scrape = running.scrape()
            counted = scrape.calls("it", "getppid")
            assert 0 < counted < 64 * 101
            missing = 64 * 101 - counted
            # Waking each other is a call, too; calls of one kind are what can be told apart.
            assert lost(scrape, "process_limit") >= missing
            assert forks(scrape) == 64
            until(running, lambda _: "limits.processes" in running.log)
            tree.go()
            tree.expect("fewer")
            scrape = until(running, lambda scrape: processes(scrape) == 1 + 5)
            before = scrape.calls("it", "getppid")
            tree.go()
            tree.expect("again")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") - before == 5 * 103
            tree.go()
            tree.process.wait()


def test_every_call_that_found_no_room_is_counted(build: Build) -> None:
    """Counted and lost together are the calls made, to the last, by 64 and a child of each."""
    with workload(build("exact_crowd"), "64", "1009") as tree:
        tree.expect("ready")
        with exporter(CONFIG.format(pid=tree.pid)) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert 0 < scrape.calls("it", "getppid") < 2 * 64 * 1009
            counted = sum(scrape.calls("it", call) for call in ("getppid", "clone", "exit"))
            made = (
                2 * 64 * (1009 + 1) + 64 + 64
            )  # their calls and ends, and both times of 64 clones
            assert counted + lost(scrape, "process_limit") == made
            assert scrape.lost() == lost(scrape, "process_limit")


def test_a_tree_that_was_there_and_does_not_fit(build: Build) -> None:
    """97 processes exist before: what finds no room is lost by number, not in silence."""
    with workload(build("shapes"), "1", "97", "1009") as tree:
        tree.expect("ready")
        with exporter(CONFIG.format(pid=tree.pid)) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            counted = scrape.calls("it", "getppid")
            assert counted < 98 * 1009
            assert lost(scrape, "process_limit") >= 98 * 1009 - counted
            tree.go()
            assert tree.process.wait() == 0


def test_a_storm_of_forks_beyond_the_limit(build: Build) -> None:
    """2,003 children, 64 at once, where 16 fit: each call is counted or lost, forks are exact."""
    with workload(build("short_lives"), "2003", "64", "101") as tree:
        tree.expect("ready")
        with exporter(CONFIG.format(pid=tree.pid)) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert forks(scrape) == 2003
            missing = 2003 * 101 - scrape.calls("it", "getppid")
            assert missing >= 0
            assert lost(scrape, "process_limit") == missing + missing / 101


def test_moves_into_a_cgroup_that_find_no_room(build: Build) -> None:
    """64 processes move into a listed cgroup where 16 fit: the calls of the others are lost by
    number, those of one that finds room later count."""
    name = f"proctree-limit-{os.getpid()}"
    config = f"limits: {{processes: 16}}\ntargets: [{{name: it, cgroup: /{name}}}]\n"
    with cgroup(version_2() / name) as place, workload(build("crowd"), "64", "5") as tree:
        tree.expect("ready")
        tree.go()
        tree.expect("born")
        children = Path(f"/proc/{tree.pid}/task/{tree.pid}/children").read_text().split()
        with exporter(config) as running:
            for child in children:
                move(int(child), place)
            tree.go()
            tree.expect("made")
            scrape = running.scrape()
            counted = scrape.calls("it", "getppid")
            assert 0 < counted < 64 * 101
            assert lost(scrape, "process_limit") >= 64 * 101 - counted
            tree.go()
            tree.expect("fewer")
            before = until(running, lambda scrape: processes(scrape) == 5)
            tree.go()
            tree.expect("again")
            more = running.scrape().calls("it", "getppid") - before.calls("it", "getppid")
            assert more == 5 * 103
            tree.go()
            tree.process.wait()

"""A process is all of its threads, from its first to its last, whichever that is."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Exporter, workload
from tests.kernel.trees import (
    ended,
    execs,
    exits,
    following,
    forks,
    is_up,
    processes,
    threads,
)

Build = Callable[..., Path]
OUTCOME = {0: "ok", 1: "error", -1: "signal"}


def test_calls_of_threads_are_those_of_their_process(build: Build, idle: Exporter) -> None:
    """7 threads make 1,009 calls each and the first 13; they are one process, and no forks."""
    with workload(build("threads")) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("made")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 7 * 1009 + 13
            assert (processes(scrape), threads(scrape), forks(scrape)) == (1, 8, 0)
            tree.go()
            tree.expect("joined")
            scrape = running.scrape()
            assert (processes(scrape), threads(scrape)) == (1, 1)
            assert exits(scrape) == ended()


@pytest.mark.parametrize("leader_ends_by", ["pthread_exit", "exit"])
@pytest.mark.parametrize(
    ("process_ends_by", "status"),
    [("exit", 0), ("exit", 7), ("exit_group", 0), ("exit_group", 3), ("signal", signal.SIGTERM)],
)
def test_a_process_lives_on_when_its_first_thread_has_ended(
    build: Build, idle: Exporter, leader_ends_by: str, process_ends_by: str, status: int
) -> None:
    """Its calls still count, it ends once, with the outcome that its parent is told."""
    arguments = (leader_ends_by, process_ends_by, str(int(status)))
    with workload(build("leader_first"), *arguments) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("alone")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1013
            assert (is_up(scrape), processes(scrape), threads(scrape)) == (1, 1, 1)
            assert exits(scrape) == ended()
            tree.go()
            tree.expect("made")
            tree.go()
            told = tree.process.wait()
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1013 + 17
            outcome = OUTCOME[(told > 0) - (told < 0)]
            assert exits(scrape) == ended(**{outcome: 1})
            assert (is_up(scrape), processes(scrape), threads(scrape)) == (0, 0, 0)


def test_a_root_whose_first_thread_has_ended_before_is_followed(
    build: Build, idle: Exporter
) -> None:
    """/proc shows it as a zombie, but it lives: the target is up and its calls count."""
    with workload(build("leader_first"), "exit", "exit_group", "3") as tree:
        tree.expect("ready")
        tree.go()
        tree.expect("alone")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            assert is_up(running.scrape()) == 1
            tree.go()
            tree.expect("made")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 17
            tree.go()
            tree.process.wait()
            assert exits(running.scrape()) == ended(error=1)


def test_two_last_threads_that_end_at_once_are_one_exit(build: Build, idle: Exporter) -> None:
    """9,973 processes end with both threads at the same moment: 9,973 exits."""
    with workload(build("last_two"), "9973") as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert exits(scrape) == ended(ok=9973)
            assert forks(scrape) == 9973
            assert (processes(scrape), threads(scrape)) == (1, 1)


def test_another_thread_than_the_first_executes_a_program(build: Build, idle: Exporter) -> None:
    """It takes over the process: calls before and after count, one exec, one exit at the end."""
    with workload(build("thread_exec")) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("after")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1009 + 211
            assert (is_up(scrape), processes(scrape), threads(scrape)) == (1, 1, 1)
            assert (execs(scrape), exits(scrape)) == (1, ended())
            tree.go()
            tree.process.wait()
            scrape = running.scrape()
            assert (execs(scrape), exits(scrape)) == (1, ended(ok=1))
            assert is_up(scrape) == 0

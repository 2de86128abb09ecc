"""What tests of membership share: reading the life of a target, waiting for a change of it."""

from __future__ import annotations

import os
import select
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.harness import COMMAND, WORKLOADS, Exporter, Scrape, Workload, exporter, wait_ready

#: A call that only tests/kernel/workloads/tree.h makes.
RARE = "sched_rr_get_interval"


def forks(scrape: Scrape, target: str = "it") -> float:
    return scrape.value("proctree_process_forks_total", target=target)


def execs(scrape: Scrape, target: str = "it") -> float:
    return scrape.value("proctree_process_execs_total", target=target)


def exits(scrape: Scrape, target: str = "it") -> dict[str, float]:
    return scrape.all("proctree_process_exits_total", target=target)


def ended(**outcomes: float) -> dict[str, float]:
    """What `exits` is, where the outcomes that are not named are 0."""
    return {"ok": 0, "error": 0, "signal": 0} | outcomes


def processes(scrape: Scrape, target: str = "it") -> float:
    return scrape.value("proctree_tree_processes", target=target)


def threads(scrape: Scrape, target: str = "it") -> float:
    return sum(scrape.all("proctree_tree_threads", target=target).values())


def is_up(scrape: Scrape, target: str = "it") -> float:
    return scrape.value("proctree_target_up", target=target)


def lost(scrape: Scrape, reason: str) -> float:
    return scrape.value("proctree_exporter_lost_calls_total", reason=reason)


def until(running: Exporter, holds: Callable[[Scrape], bool]) -> Scrape:
    """The first scrape for which this holds."""
    while True:
        scrape = running.scrape()
        if holds(scrape):
            return scrape
        time.sleep(0.02)  # it is the exporter that should have the CPU


def reconfigure(running: Exporter, config: str) -> None:
    """Gives the exporter a new config; it has taken it over when this returns."""
    fresh = running.config.with_suffix(".new")
    fresh.write_text(config)
    fresh.replace(running.config)
    running.reload()


NOBODY = f"- {{name: nobody, pid: {os.getpid()}, follow_forks: false}}\n"


@contextmanager
def idle_exporter(limits: str = "", command: Sequence[str] = COMMAND) -> Iterator[Exporter]:
    """For tests that do not need a start of their own, which compiles for seconds."""
    config = f"{limits}\ntargets:\n{NOBODY}"
    with exporter(config, "--web.enable-lifecycle", command=command) as running:
        yield running


@contextmanager
def following(idle: Exporter, targets: str, limits: str = "") -> Iterator[Exporter]:
    """An idle exporter gets these targets by a reload; they count from zero, and nothing is left of
    them afterwards. Not for those that hold the whole machine: somebody sleeps in their calls."""

    def follow(these: str, settings: str) -> None:
        these = textwrap.indent(these, "  ")  # a flow sequence must be
        reconfigure(idle, f"{settings}\ntargets:\n{these}")

    follow(targets, limits)
    try:
        yield idle
    finally:
        follow(NOBODY, f"{limits}\nkeep_gone: 0s")
        until(idle, lambda scrape: list(scrape.all("proctree_target_up")) == ["nobody"])


def loses_no_call(running: Exporter, tree: Workload, configs: Iterable[str]) -> None:
    """Reloads while `tree`, the workload `steady`, calls and forks in a storm: what the target `it`
    counts never falls, and is in the end what was made."""
    tree.expect("ready")
    tree.go()
    tree.expect("born")
    for config in configs:
        before = running.scrape().calls("it", "getppid")
        reconfigure(running, config)
        assert running.scrape().calls("it", "getppid") >= before
    tree.go()
    (total,) = tree.expect("total")
    tree.expect("done")
    scrape = running.scrape()
    assert scrape.calls("it", "getppid") == int(total)
    assert processes(scrape) == 4
    assert scrape.lost() == 0


@contextmanager
def paused_exporter(
    config: str, point: str, folder: Path
) -> Iterator[tuple[Exporter, Callable[[], None]]]:
    """An exporter that waits at `point` (see workloads/serve_paused.py), and what lets it go on."""
    reached, go = folder / "reached", folder / "go"
    for fifo in (reached, go):
        os.mkfifo(fifo)
    word = os.open(reached, os.O_RDONLY | os.O_NONBLOCK)
    command = [sys.executable, str(WORKLOADS / "serve_paused.py"), point, str(reached), str(go)]
    with exporter(config, command=command, ready=False) as running:
        try:
            while not select.select([word], [], [], 0.1)[0]:
                assert running.process.poll() is None, f"the exporter ended: {running.log}"

            def resume() -> None:
                go.write_text("go\n")
                wait_ready(running)

            yield running, resume
        finally:
            os.close(word)

"""Calls that are in the kernel now: how many, since when; and those that began before us."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Exporter, Scrape, Workload, exporter, workload
from tests.kernel.test_calls import IT, calls_of, errors_of, followed, in_flight, left_in_flight
from tests.kernel.trees import following


def oldest(scrape: Scrape, syscall: str) -> float:
    name = "proctree_syscall_oldest_in_flight_seconds"
    return scrape.value(name, target=IT, syscall=syscall)


def stat(pid: int) -> list[str]:
    """/proc/PID/stat from the state on: `S`, `T`, …; the time in user space is number 11."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def until_state(pid: int, state: str) -> None:
    while stat(pid)[0] != state:
        pass


def until_busy(tree: Workload) -> None:
    """The workload has said so, and has since spent three ticks in user space."""
    tree.expect("busy")
    ticks = int(stat(tree.pid)[11])
    while int(stat(tree.pid)[11]) < ticks + 3:
        pass


def test_calls_in_flight(build: Callable[..., Path]) -> None:
    """Each thread that waits is one, under its call's name, and the oldest has its age."""
    with followed(build("waiting")) as (tree, running):
        before = time.monotonic()
        tree.go()
        tree.expect("waiting")
        expected = {"futex": 5, "nanosleep": 7, "readv": 3, "read": 1}
        while in_flight(running.scrape()) != expected:
            pass
        seen = time.monotonic()
        for _ in range(3):
            begin = time.monotonic()
            scrape = running.scrape()
            end = time.monotonic()
            assert in_flight(scrape) == expected
            for syscall in expected:
                assert begin - seen <= oldest(scrape, syscall) <= end - before
                assert scrape.timed(IT, syscall) == 0


def test_the_oldest_in_flight_is_the_oldest(build: Callable[..., Path]) -> None:
    """Of two that wait in the same call, the one that was there before the other was born."""
    with followed(build("one_by_one")) as (tree, running):
        tree.go()
        tree.expect("born")
        while in_flight(running.scrape()).get("pause") != 1:
            pass
        seen = time.monotonic()
        for _ in range(13):
            running.scrape()
        tree.go()
        tree.expect("born")
        while in_flight(running.scrape()).get("pause") != 2:
            pass
        begin = time.monotonic()
        assert oldest(running.scrape(), "pause") >= begin - seen


def test_what_has_ended_is_no_longer_in_flight(build: Callable[..., Path]) -> None:
    """And is counted, with a duration."""
    with followed(build("waiting")) as (tree, running):
        tree.go()
        tree.expect("waiting")
        while in_flight(running.scrape()) != {"futex": 5, "nanosleep": 7, "readv": 3, "read": 1}:
            pass
        tree.go()
        tree.expect("done")
        scrape = running.scrape()
        assert left_in_flight(scrape) == set()
        assert scrape.calls(IT, "nanosleep") == scrape.timed(IT, "nanosleep") == 7
        assert scrape.calls(IT, "readv") == scrape.timed(IT, "readv") == 3


def test_a_call_that_began_before_following(build: Callable[..., Path]) -> None:
    """It is in flight, aged from when following began; it counts when it ends, without duration."""
    with workload(build("waiting")) as tree:
        tree.expect("ready")
        until_state(tree.pid, "S")
        starting = time.monotonic()
        with exporter(f"[{{name: {IT}, pid: {tree.pid}}}]") as running:
            ready = time.monotonic()
            scrape = running.scrape()
            assert in_flight(scrape) == {"read": 1}
            assert 0 <= oldest(scrape, "read") <= time.monotonic() - starting
            again = time.monotonic()
            assert oldest(running.scrape(), "read") >= again - ready
            assert scrape.calls(IT, "read") == 0
            tree.go()
            tree.expect("waiting")
            scrape = running.scrape()
            assert (scrape.calls(IT, "read"), scrape.timed(IT, "read")) == (1, 0)


def test_following_begins_later_than_the_call(build: Callable[..., Path], idle: Exporter) -> None:
    """The age is not the call's: a second exporter, started later, sees a younger one."""
    with workload(build("waiting")) as tree:
        tree.expect("ready")
        until_state(tree.pid, "S")
        config = f"[{{name: {IT}, pid: {tree.pid}}}]"
        with following(idle, config) as first:
            between = time.monotonic()
            with exporter(config) as second:
                young = oldest(second.scrape(), "read")
                assert young <= time.monotonic() - between
                assert oldest(first.scrape(), "read") > young


def test_a_stopped_process_is_in_no_call(build: Callable[..., Path], idle: Exporter) -> None:
    """Whatever its registers say. Its call goes on with it, and is a call then, with duration."""
    with workload(build("waiting")) as tree:
        tree.expect("ready")
        until_state(tree.pid, "S")
        os.kill(tree.pid, signal.SIGSTOP)
        os.waitpid(tree.pid, os.WUNTRACED)
        with following(idle, f"[{{name: {IT}, pid: {tree.pid}}}]") as running:
            assert in_flight(running.scrape()) == {}
            os.kill(tree.pid, signal.SIGCONT)
            until_state(tree.pid, "S")
            assert in_flight(running.scrape()) == {"read": 1}
            tree.go()
            tree.expect("waiting")
            scrape = running.scrape()
            assert (scrape.calls(IT, "read"), scrape.timed(IT, "read")) == (1, 1)


def test_a_busy_process_is_in_no_call(build: Callable[..., Path], idle: Exporter) -> None:
    """Neither in what its registers hold from an earlier call, nor in one that we saw end."""
    with workload(build("busy")) as tree:
        tree.expect("ready")
        tree.go()
        until_busy(tree)
        with following(idle, f"[{{name: {IT}, pid: {tree.pid}}}]") as running:
            scrape = running.scrape()
            assert in_flight(scrape) == {}
            assert calls_of(scrape) == {}
            os.kill(tree.pid, signal.SIGUSR1)
            until_busy(tree)
            assert in_flight(running.scrape()) == {}


def test_what_a_busy_process_does_next_counts(build: Callable[..., Path], idle: Exporter) -> None:
    """All of it: also a `clone` that is answered with 0, as in a child that was just born."""
    with workload(build("busy")) as tree:
        tree.expect("ready")
        tree.go()
        until_busy(tree)
        with following(idle, f"[{{name: {IT}, pid: {tree.pid}}}]") as running:
            os.kill(tree.pid, signal.SIGUSR1)
            tree.expect("busy")
            os.kill(tree.pid, signal.SIGUSR1)
            tree.expect("done")
            scrape = running.scrape()
            assert calls_of(scrape) == {"rt_sigreturn": 2, "clone": 3, "getppid": 1}
            assert errors_of(scrape) == {}


@pytest.mark.alone
def test_kernel_threads_are_in_no_call() -> None:
    """They sleep, and have no registers of user space, which would say `read`."""
    with exporter("- {name: node, all: true}\n", "--web.enable-api") as running:
        (target,) = json.loads(running.get("/api/v1/targets"))["data"]
        calling = {call["pid"] for call in target["calls_in_flight"]}
        assert calling
        assert not calling & set(of_kthreadd())


def of_kthreadd() -> list[int]:
    """PID 2, and all that it has made."""
    children = Path("/proc/2/task/2/children").read_text().split()
    return [2, *map(int, children)]

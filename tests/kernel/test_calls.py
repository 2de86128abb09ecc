"""Calls that make tasks or end them: what counts, and what does not.

Also what the other tests of calls share: `counted` and `calls_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import Exporter, Scrape, Workload, exporter, workload

#: What `wait_for_go` makes: the C library's, so not counted here.
WAITING = frozenset({"read", "write", "getpid"})
IT = "it"
READ = 0  # to x86_64


@contextmanager
def followed(
    binary: Path, *arguments: str, settings: str = "", target: str = ""
) -> Iterator[tuple[Workload, Exporter]]:
    """A workload that waits at `ready`, and an exporter that follows it as target `it`."""
    with workload(binary, *arguments) as tree:
        tree.expect("ready")
        until_asleep_in(tree.pid, READ)  # not before: its way there is no part of the numbers
        config = f"{{targets: [{{name: {IT}, pid: {tree.pid}{target}}}]{settings}}}"
        with exporter(config) as running:
            yield tree, running


def counted(binary: Path, *arguments: str, settings: str = "", target: str = "") -> Scrape:
    """What is published when a workload has gone from `ready` to `done`."""
    with followed(binary, *arguments, settings=settings, target=target) as (tree, running):
        tree.go()
        tree.expect("done")
        scrape = running.scrape()
        assert scrape.lost() == 0
        return scrape


def calls_of(scrape: Scrape, *but: str) -> dict[str, float]:
    """All calls of the target, but for those of `wait_for_go` and some by name."""
    found = scrape.all("proctree_syscalls_total", target=IT)
    return {name: n for name, n in found.items() if name not in WAITING.union(but)}


def errors_of(scrape: Scrape) -> dict[str, float]:
    """All errors of the target, by `errno,syscall`."""
    return scrape.all("proctree_syscall_errors_total", target=IT)


def in_flight(scrape: Scrape) -> dict[str, float]:
    """Calls of the target that are in the kernel now."""
    return scrape.all("proctree_syscalls_in_flight", target=IT)


def left_in_flight(scrape: Scrape) -> set[str]:
    """Those that are not `wait_for_go`'s."""
    return in_flight(scrape).keys() - WAITING


def until_asleep_in(pid: int, *numbers: int) -> None:
    """Returns when a process sleeps in one of these calls. /proc tells the call of one that is
    stopped or traced, too: but that is not asleep."""
    proc = Path(f"/proc/{pid}")
    wanted = {str(number) for number in numbers}
    while True:
        state = proc.joinpath("stat").read_text().rpartition(")")[2].split()[0]
        if state == "S" and proc.joinpath("syscall").read_text().split()[0] in wanted:
            return


@pytest.fixture(scope="module")
def tasks(build: Callable[..., Path]) -> Scrape:
    """After 7 fork, 11 vfork, 13 + 19 clone and 17 clone3."""
    return counted(build("tasks"))


def test_a_call_that_makes_a_task_counts_once(tasks: Scrape) -> None:
    """The parent's call counts; the child's return from it is no call, by this or another name."""
    assert calls_of(tasks, "futex") == {
        "fork": 7,
        "vfork": 11,
        "clone": 13 + 19,
        "clone3": 17,
        "getpgid": 3 * (7 + 11 + 13 + 17 + 19),
        "wait4": 7 + 11 + 13 + 17,
        "exit_group": 7 + 11 + 13 + 17,
        "exit": 19,
    }
    assert {error for error in errors_of(tasks) if not error.endswith(",futex")} == set()


def test_a_call_that_makes_a_task_has_one_duration(tasks: Scrape) -> None:
    """The parent's."""
    made = {"fork": 7, "vfork": 11, "clone": 32, "clone3": 17}
    assert {name: tasks.timed(IT, name) for name in made} == made


def test_exit_counts_when_it_begins(tasks: Scrape) -> None:
    """`exit` of a thread and `exit_group` of a process never return: calls without a duration."""
    assert (tasks.calls(IT, "exit"), tasks.timed(IT, "exit")) == (19, 0)
    assert (tasks.calls(IT, "exit_group"), tasks.timed(IT, "exit_group")) == (48, 0)


def test_what_ended_is_in_no_call(tasks: Scrape) -> None:
    """All that may be left in flight is the root's own wait for a word."""
    assert left_in_flight(tasks) == set()


def test_a_call_that_a_signal_ends_for_good_counts(build: Callable[..., Path]) -> None:
    """9 threads killed in pause: the calls end in the kernel, and leave nothing in flight."""
    with followed(build("killed_in_call")) as (tree, running):
        tree.go()
        tree.expect("waiting")
        while in_flight(running.scrape()).get("pause") != 9:
            pass
        assert running.scrape().calls(IT, "pause") == 0
        tree.go()
        tree.expect("done")
        scrape = running.scrape()
        assert scrape.calls(IT, "pause") == 9
        assert left_in_flight(scrape) == set()
        assert errors_of(scrape) == {}

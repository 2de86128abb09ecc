"""Calls that a seccomp filter answers or kills."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Scrape
from tests.kernel.test_calls import IT, calls_of, counted, errors_of, followed, left_in_flight


@pytest.fixture(scope="module")
def denied(build: Callable[..., Path]) -> Scrape:
    """After calls that a filter answered with an errno."""
    return counted(build("denied"))


def test_a_denied_call_is_a_call_without_duration(denied: Scrape) -> None:
    """Denied with an errno: the kernel has an end of the call, and no beginning."""
    for syscall, n in {"getppid": 13, "getpgid": 17, "getsid": 19}.items():
        assert (denied.calls(IT, syscall), denied.timed(IT, syscall)) == (n, 0)


def test_a_denied_call_is_an_error_by_name(denied: Scrape) -> None:
    """Of the errno that the filter chose; one that no table has is `unknown`, and 0 is none."""
    assert denied.errors(IT, "getppid") == {"EPERM": 13}
    assert denied.errors(IT, "getpgid") == {"unknown": 17}
    assert denied.errors(IT, "getsid") == {}


def test_a_denied_i386_call_has_the_name_of_its_table(denied: Scrape) -> None:
    """20 is getpid, also where only the end of the call tells its ABI."""
    assert denied.errors(IT, "getpid") == {"EACCES": 23}
    assert denied.calls(IT, "writev") == 0
    assert denied.calls(IT, "getpid") - denied.timed(IT, "getpid") == 23


def test_a_clone_that_is_answered_with_errno_0_is_a_call(denied: Scrape) -> None:
    """It returns 0 as in a child, and as the first call of a child: but nobody was born."""
    assert (denied.calls(IT, "clone"), denied.timed(IT, "clone")) == (35, 0)
    assert (denied.calls(IT, "fork"), denied.timed(IT, "fork")) == (5, 5)
    assert denied.value("proctree_process_forks_total", target=IT) == 5


def test_a_call_that_kills_its_process_is_a_call(build: Callable[..., Path]) -> None:
    """SECCOMP_RET_KILL_PROCESS lets the call end, before its signal: no duration, no error."""
    scrape = counted(build("killed"), "process")
    assert (scrape.calls(IT, "getppid"), scrape.timed(IT, "getppid")) == (3, 0)
    assert scrape.calls(IT, "getpgid") == 6
    assert scrape.value("proctree_process_exits_total", target=IT, outcome="signal") == 3
    assert errors_of(scrape) == {}


def test_a_call_that_kills_one_thread_of_several_is_not_seen(build: Callable[..., Path]) -> None:
    """SECCOMP_RET_KILL_THREAD ends the thread inside the filter: no event at all."""
    scrape = counted(build("killed"), "thread")
    assert scrape.calls(IT, "getpgid") == 6
    assert scrape.calls(IT, "getppid") == 0
    assert left_in_flight(scrape) == set()


def test_a_call_that_raises_sigsys_is_a_call(build: Callable[..., Path]) -> None:
    """SECCOMP_RET_TRAP: its result is its own number, which is no error; then comes the signal."""
    scrape = counted(build("killed"), "trap")
    assert (scrape.calls(IT, "getppid"), scrape.timed(IT, "getppid")) == (11, 0)
    assert scrape.calls(IT, "rt_sigreturn") == 11
    assert errors_of(scrape) == {}


def test_made_up_errnos_cost_one_entry(build: Callable[..., Path]) -> None:
    """3,000 that no table has are `unknown`; those that have names keep them; restart codes are no
    errors, whoever made them."""
    with followed(build("errnos")) as (tree, running):
        tree.go()
        tree.expect("before")
        before = running.scrape()
        tree.go()
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape, "prctl") == {"getpgid": 3000 + 7 + 5 + 3 + 4 * 11}
    assert errors_of(scrape) == {
        "unknown,getpgid": 3000 + 3,
        "EHWPOISON,getpgid": 7,
        "ENOTSUPP,getpgid": 5,
    }
    entries = [
        s.value("proctree_exporter_map_entries", map="call_errors") for s in (before, scrape)
    ]
    assert entries[1] - entries[0] == 3

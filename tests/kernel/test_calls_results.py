"""What a call returns: errors, and what only looks like one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Workload
from tests.kernel.test_calls import IT, calls_of, counted, errors_of, followed, until_asleep_in

#: x86_64's numbers of the calls that interrupted.c waits in.
NUMBERS = {"pause": 34, "nanosleep": 35, "epoll_wait": 232, "readv": 19, "restart_syscall": 219}


def interrupt(tree: Workload, *syscalls: str) -> None:
    """Sends a signal while the workload sleeps in one of these calls; it is handled on return."""
    until_asleep_in(tree.pid, *(NUMBERS[syscall] for syscall in syscalls))
    os.kill(tree.pid, signal.SIGUSR1)
    tree.expect("signal")


def stop_and_go_on(tree: Workload, *syscalls: str) -> None:
    until_asleep_in(tree.pid, *(NUMBERS[syscall] for syscall in syscalls))
    os.kill(tree.pid, signal.SIGSTOP)
    os.waitpid(tree.pid, os.WUNTRACED)
    os.kill(tree.pid, signal.SIGCONT)


def test_rt_sigreturn_is_never_an_error(build: Callable[..., Path]) -> None:
    """Once per signal, whatever it restores: −4 in the result's register is the program's own."""
    scrape = counted(build("sigreturn"))
    assert calls_of(scrape) == {"tgkill": 52, "rt_sigreturn": 52}
    assert scrape.timed(IT, "rt_sigreturn") == 52
    assert errors_of(scrape) == {}


@pytest.mark.parametrize(
    ("how", "syscall"),
    [
        ("pause", "pause"),  # ERESTARTNOHAND
        ("sleep", "nanosleep"),  # ERESTART_RESTARTBLOCK
        ("read", "readv"),  # ERESTARTSYS
    ],
)
def test_restart_codes_are_no_errors(build: Callable[..., Path], how: str, syscall: str) -> None:
    """Ended by a handled signal: the program sees EINTR, the kernel a code of its own."""
    with followed(build("interrupted"), how) as (tree, running):
        tree.go()
        for _ in range(5):
            interrupt(tree, syscall)
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape) == {syscall: 5, "rt_sigreturn": 5}
    assert scrape.timed(IT, syscall) == 5
    assert errors_of(scrape) == {}


def test_eintr_of_the_kernel_is_an_error(build: Callable[..., Path]) -> None:
    """epoll_wait is never begun again: the kernel's own result is EINTR."""
    with followed(build("interrupted"), "epoll") as (tree, running):
        tree.go()
        for _ in range(5):
            interrupt(tree, "epoll_wait")
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape) == {"epoll_wait": 5, "rt_sigreturn": 5}
    assert errors_of(scrape) == {"EINTR,epoll_wait": 5}


def test_a_restarted_call_counts_each_time(build: Callable[..., Path]) -> None:
    """SA_RESTART: one readv of the program, interrupted 6 times, is 7 calls of the kernel."""
    with followed(build("interrupted"), "restart") as (tree, running):
        tree.go()
        for _ in range(6):
            interrupt(tree, "readv")
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape) == {"readv": 7, "rt_sigreturn": 6}
    assert scrape.timed(IT, "readv") == 7
    assert errors_of(scrape) == {}


def test_restart_syscall_is_a_call(build: Callable[..., Path]) -> None:
    """A sleep that goes on after a stop does so by `restart_syscall`, once per stop."""
    with followed(build("interrupted"), "stopped") as (tree, running):
        tree.go()
        stop_and_go_on(tree, "nanosleep")
        stop_and_go_on(tree, "restart_syscall")
        stop_and_go_on(tree, "restart_syscall")
        interrupt(tree, "restart_syscall")
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape) == {"nanosleep": 1, "restart_syscall": 3, "rt_sigreturn": 1}
    assert errors_of(scrape) == {}


def test_addresses_are_no_errors(build: Callable[..., Path]) -> None:
    """−4095 is the last error; from −4096 on down a result is an address or an offset."""
    scrape = counted(build("addresses"))
    assert calls_of(scrape) == {"lseek": 17 + 13 + 11, "mmap": 19}
    assert errors_of(scrape) == {"EBADF,lseek": 11}

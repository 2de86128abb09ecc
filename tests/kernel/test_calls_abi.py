"""A number means nothing without its ABI; and numbers that mean nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.kernel.syscalls import Abi, load_names
from tests.harness import Scrape
from tests.kernel.test_calls import IT, calls_of, counted, errors_of, followed

#: For tests/kernel/workloads/i386.c: no C library, so none for 32 bits is needed.
FREESTANDING = (
    "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector",
)  # fmt: skip


def call_ids(scrape: Scrape) -> float:
    return scrape.value("proctree_exporter_map_entries", map="call_ids")


def test_i386_calls_of_a_64_bit_program(build: Callable[..., Path]) -> None:
    """`int 0x80`: 20 is getpid, not writev; 6 is close, not lstat."""
    scrape = counted(build("abis"))
    assert calls_of(scrape) == {"getppid": 37, "close": 7, "unknown": 5}
    assert scrape.calls(IT, "getpid") == 31 + 1  # one by wait_for_go
    assert errors_of(scrape) == {"EBADF,close": 7, "ENOSYS,unknown": 5}


@pytest.fixture(scope="module")
def started(build: Callable[..., Path]) -> Scrape:
    """After 3 children of a 64-bit program became a 32-bit one and ended."""
    return counted(build("starts"), str(build("i386", *FREESTANDING)))


def test_a_true_i386_program(started: Scrape) -> None:
    """From the exec that starts it to `exit`, which is 1 there, all calls have i386's names."""
    assert calls_of(started, "fork", "wait4") == {
        "getppid": 3 * 5,
        "execve": 3,
        "close": 3 * 11,
        "rt_sigaction": 3 * 2,
        "kill": 3 * 12,
        "sigreturn": 3 * 7,
        "rt_sigreturn": 3 * 5,
        "exit": 3,
    }
    assert started.calls(IT, "getpid") == 3 * 13 + 1
    assert (started.timed(IT, "execve"), started.timed(IT, "exit")) == (3, 0)


def test_i386_errors_by_name(started: Scrape) -> None:
    """close fails; what sigreturn and rt_sigreturn restore looks like EINTR and is no error."""
    assert errors_of(started) == {"EBADF,close": 3 * 11}


def test_from_64_to_32_bits_and_back(build: Callable[..., Path]) -> None:
    """Each exec is an `execve` once, and has a duration, on whichever side it began."""
    scrape = counted(build("starts"), str(build("i386", *FREESTANDING)), "/bin/true")
    assert (scrape.calls(IT, "execve"), scrape.timed(IT, "execve")) == (6, 6)
    assert scrape.value("proctree_process_execs_total", target=IT) == 6
    assert scrape.calls(IT, "exit_group") == 3  # of /bin/true


@pytest.mark.parametrize("how", ["", "int80"])
def test_made_up_numbers_cost_one_entry(build: Callable[..., Path], how: str) -> None:
    """20,000 of them are 20,000 calls of `unknown`, and hide nothing that comes after."""
    with followed(build("numbers"), *filter(None, [how])) as (tree, running):
        tree.go()
        tree.expect("before")
        before = running.scrape()
        tree.go()
        tree.expect("made")
        scrape = running.scrape()
        # `unknown`; and wait_for_go's three, should they be new
        assert call_ids(scrape) - call_ids(before) <= 1 + 3
        tree.go()
        tree.expect("done")
        scrape = running.scrape()
    assert calls_of(scrape) == {"unknown": 20000, "getppid": 3 + 41, "getpgid": 43}
    assert scrape.timed(IT, "unknown") == 20000
    assert errors_of(scrape) == {"ENOSYS,unknown": 20000}
    assert scrape.lost() == 0


def test_odd_numbers(build: Callable[..., Path]) -> None:
    """−1 and x32's, where there is no x32, are `unknown`; a register's upper half is no number."""
    scrape = counted(build("odd_numbers"))
    assert calls_of(scrape) == {"unknown": 7 + 5 + 3, "getpgid": 11}
    assert errors_of(scrape) == {"ENOSYS,unknown": 15}
    assert scrape.timed(IT, "unknown") == 15


@pytest.mark.parametrize("abi", [Abi.X86_64, Abi.I386])
def test_every_number_has_its_name(build: Callable[..., Path], abi: Abi) -> None:
    """Each call of the table, denied once, is one error of that name; all others are `unknown`."""
    scrape = counted(build("every_call"), *(["i386"] if abi is Abi.I386 else []))
    errors = {key.removeprefix("EPERM,"): n for key, n in errors_of(scrape).items()}
    names = load_names(abi)
    made = set(range(1024)) - ({335, 336} if abi is Abi.X86_64 else set())
    assert errors == Counter(names.get(number, "unknown") for number in made)
    # by themselves: wait_for_go, and what starts, filters, ends and awaits the child
    beside = {"clone", "set_robust_list", "prctl", "wait4", "exit_group"}
    calls = calls_of(scrape, *beside)
    assert calls == {name: n for name, n in errors.items() if name in calls}

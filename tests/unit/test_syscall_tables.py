"""The tables of system calls, errors and classes: whole, well-formed, and the kernel's own."""

from __future__ import annotations

import errno
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import KernelError
from exporter.kernel.syscalls import (
    OTHER,
    RESTART_CODES,
    UNKNOWN,
    Abi,
    load_errnos,
    load_names,
    native_abis,
    parse_table,
)
from exporter.model.classes import CLASSES, MEMBERS, class_of

PINS = [
    (Abi.X86_64, 0, "read"),
    (Abi.X86_64, 15, "rt_sigreturn"),
    (Abi.X86_64, 17, "pread64"),
    (Abi.X86_64, 39, "getpid"),
    (Abi.X86_64, 40, "sendfile"),
    (Abi.X86_64, 262, "newfstatat"),
    (Abi.X86_64, 435, "clone3"),
    (Abi.X86_64, 444, "landlock_create_ruleset"),
    (Abi.X86_64, 462, "mseal"),
    (Abi.I386, 20, "getpid"),
    (Abi.I386, 92, "truncate"),
    (Abi.I386, 119, "sigreturn"),
    (Abi.I386, 142, "_newselect"),
    (Abi.I386, 146, "writev"),
    (Abi.I386, 195, "stat64"),
    (Abi.X32, 0, "read"),
    (Abi.X32, 39, "getpid"),
    (Abi.X32, 512, "rt_sigaction"),
    (Abi.X32, 547, "pwritev2"),
    (Abi.AARCH64, 38, "renameat"),
    (Abi.AARCH64, 80, "fstat"),
    (Abi.AARCH64, 93, "exit"),
    (Abi.AARCH64, 94, "exit_group"),
    (Abi.AARCH64, 220, "clone"),
    (Abi.AARCH64, 447, "memfd_secret"),
    (Abi.ARM, 20, "getpid"),
    (Abi.ARM, 270, "fadvise64_64"),
    (Abi.ARM, 341, "sync_file_range2"),
    (Abi.ARM, 0xF0001, "breakpoint"),
    (Abi.ARM, 0xF0002, "cacheflush"),
    (Abi.ARM, 0xF0003, "usr26"),
    (Abi.ARM, 0xF0004, "usr32"),
    (Abi.ARM, 0xF0005, "set_tls"),
    (Abi.ARM, 0xF0006, "get_tls"),
]

#: Numbers that are another ABI's, or nobody's.
HOLES = [
    (Abi.X86_64, 512),  # x32's
    (Abi.X32, 13),  # rt_sigaction by its 64-bit number
    (Abi.X32, 0x40000000),
    (Abi.I386, 222),
    (Abi.AARCH64, 244),  # other architectures' own
    (Abi.ARM, 13),  # time, of the OABI
]

UAPI = Path("/usr/include")
HEADERS = [
    (abi, header)
    for abi, name in [
        (Abi.X86_64, "x86_64-linux-gnu/asm/unistd_64.h"),
        (Abi.I386, "x86_64-linux-gnu/asm/unistd_32.h"),
        (Abi.X32, "x86_64-linux-gnu/asm/unistd_x32.h"),
        (Abi.AARCH64, "aarch64-linux-gnu/asm/unistd_64.h"),
        (Abi.AARCH64, "asm-generic/unistd.h"),  # the same file on every architecture
    ]
    if (header := UAPI / name).exists()
]

DEFINE = re.compile(r"^#define __NR_(\w+)\s+\(?(?:__X32_SYSCALL_BIT \+ )?(\d+)\)?$", re.MULTILINE)

#: What asm-generic/unistd.h defines for bookkeeping or for 32-bit architectures, not for arm64.
NOT_AARCH64 = {"arch_specific_syscall", "sync_file_range2", "syscalls"}
NUMBERS_OF_32_BIT_ONLY = range(403, 424)


def parse_header(text: str, abi: Abi) -> dict[int, str]:
    """The calls that a UAPI header defines by a plain number, for this ABI."""
    calls = {name: int(number) for name, number in DEFINE.findall(text)}
    if abi is Abi.AARCH64:
        calls = {
            name: number
            for name, number in calls.items()
            if name not in NOT_AARCH64 and number not in NUMBERS_OF_32_BIT_ONLY
        }
    return {number: name for name, number in calls.items()}


def all_names() -> set[str]:
    return {name for abi in Abi for name in load_names(abi).values()}


def test_abi_numbers_are_those_of_the_c_program() -> None:
    """The values of Abi never change: the C program and every map entry hold them."""
    assert {abi.name: abi.value for abi in Abi} == {
        "X86_64": 0,
        "I386": 1,
        "X32": 2,
        "AARCH64": 3,
        "ARM": 4,
    }


@pytest.mark.parametrize(("abi", "number", "name"), PINS)
def test_known_numbers_have_their_names(abi: Abi, number: int, name: str) -> None:
    """Numbers that anyone can look up have the name that strace prints."""
    assert load_names(abi)[number] == name


@pytest.mark.parametrize(("abi", "number"), HOLES)
def test_numbers_of_other_abis_have_no_name(abi: Abi, number: int) -> None:
    """A number that the kernel does not serve for this ABI is in no table, so it is unknown."""
    assert number not in load_names(abi)


@pytest.mark.parametrize("abi", Abi)
def test_names_are_label_text_and_not_reserved(abi: Abi) -> None:
    """Names need no escaping anywhere, and none can be taken for `unknown` or `other`."""
    names = load_names(abi).values()
    assert [name for name in names if not re.fullmatch(r"[a-z0-9_]+", name)] == []
    assert {UNKNOWN, OTHER}.isdisjoint(names)


@pytest.mark.parametrize("abi", Abi)
def test_a_name_means_one_number(abi: Abi) -> None:
    """Within an ABI no two numbers share a name, so no series has two sources."""
    assert [name for name, n in Counter(load_names(abi).values()).items() if n > 1] == []


def test_headers_to_compare_with_are_here() -> None:
    """The comparison with the installed headers is not empty: linux-libc-dev comes with gcc."""
    assert HEADERS


@pytest.mark.parametrize(("abi", "header"), HEADERS)
def test_tables_agree_with_the_systems_headers(abi: Abi, header: Path) -> None:
    """Every call of the installed kernel headers has the same number and name in our table."""
    installed = parse_header(header.read_text(), abi)
    table = load_names(abi)
    assert len(installed) > 250
    assert {number: table.get(number) for number in installed} == installed


def test_native_abis_are_those_a_kernel_runs() -> None:
    """A 64-bit kernel runs its own ABI first, then the 32-bit ones."""
    assert native_abis("x86_64") == (Abi.X86_64, Abi.I386, Abi.X32)
    assert native_abis("aarch64") == (Abi.AARCH64, Abi.ARM)


def test_a_machine_without_tables_is_refused_in_one_line() -> None:
    """An unsupported machine is named, with what would do."""
    with pytest.raises(KernelError, match=r"^expected .*x86_64 or aarch64, found 'riscv64': run"):
        native_abis("riscv64")


@given(st.dictionaries(st.integers(0, 2**31), st.from_regex(r"[A-Za-z0-9_]+", fullmatch=True)))
def test_parse_table_reads_back_what_was_written(names: dict[int, str]) -> None:
    """Lines `number name` in order give the same mapping; comments and empty lines do not count."""
    lines = [f"{number} {name}" for number, name in sorted(names.items())]
    assert parse_table("\n# a comment\n".join(["", *lines])) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 read\n0 write\n", "line 2: expected a number above 0, found 0"),
        ("1 write\n0 read\n", "line 2: expected a number above 1, found 0"),
        ("# ok\n-1 read\n", "line 2: expected `number name`, found '-1 read'"),
        ("0\n", "line 1: expected `number name`, found '0'"),
        ("0 read sys_read\n", "line 1: expected `number name`, found '0 read sys_read'"),
        ("0x1 write\n", "line 1: expected `number name`, found '0x1 write'"),
    ],
)
def test_parse_table_refuses_what_it_does_not_understand(text: str, message: str) -> None:
    """Duplicates, disorder and other formats are errors that name the line."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_table(text)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2, "ENOENT"),
        (11, "EAGAIN"),
        (35, "EDEADLK"),
        (95, "EOPNOTSUPP"),
        (133, "EHWPOISON"),
        (524, "ENOTSUPP"),
    ],
)
def test_known_errors_have_their_names(number: int, name: str) -> None:
    """Each error has its first name, not an alias like EWOULDBLOCK."""
    assert load_errnos()[number] == name


def test_errors_agree_with_pythons() -> None:
    """Every error that Python knows has a name here, and Python gives that name the same number."""
    errnos = load_errnos()
    ours = {number: getattr(errno, errnos.get(number, ""), None) for number in errno.errorcode}
    assert ours == {number: number for number in errno.errorcode}


def test_error_names_are_unique_label_text() -> None:
    """Each name is spelled as in C and stands for one number."""
    names = list(load_errnos().values())
    assert [name for name in names if not re.fullmatch(r"E[A-Z0-9_]+", name)] == []
    assert len(set(names)) == len(names)


def test_restart_codes_are_no_errors() -> None:
    """The codes that make the kernel begin a call again have no name among the errors."""
    assert {512, 513, 514, 516} == RESTART_CODES
    assert RESTART_CODES.isdisjoint(load_errnos())


def test_every_call_has_a_class() -> None:
    """No name of any table is left to `other`."""
    assert sorted(name for name in all_names() if class_of(name) == OTHER) == []


def test_classes_list_calls_that_exist_and_each_once() -> None:
    """A class has no misspelt name, and no call is in two classes."""
    listed = [name for names in MEMBERS.values() for name in names.split()]
    assert sorted(listed) == sorted(all_names())


def test_every_class_is_documented() -> None:
    """The classes with members and the documented ones are the same, in order; `other` is last."""
    assert [*MEMBERS, OTHER] == list(CLASSES)


@pytest.mark.parametrize("name", [UNKNOWN, OTHER, "", "Read", "no_such_call"])
def test_what_has_no_class_is_other(name: str) -> None:
    """Unknown numbers, folded names and anything unlisted are `other`."""
    assert class_of(name) == OTHER


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openat", "file"),
        ("connect", "network"),
        ("accept4", "wait"),
        ("epoll_wait", "wait"),
        ("wait4", "wait"),
        ("io_uring_enter", "wait"),
        ("restart_syscall", "wait"),
        ("futex", "futex"),
        ("clock_nanosleep", "sleep"),
        ("mmap", "memory"),
        ("execve", "process"),
    ],
)
def test_calls_that_wait_for_work_are_classed_apart(name: str, expected: str) -> None:
    """Waiting for work, for a lock or for time never counts as file or network."""
    assert class_of(name) == expected

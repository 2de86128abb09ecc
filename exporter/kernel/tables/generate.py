"""Writes the tables beside this file from a kernel source tree; never imported at run time.

    python -m exporter.kernel.tables.generate TREE --origin "Debian linux-source-7.2 7.2.13-1"

Names are the kernel's own, the third column of its tables. strace uses the same ones, save the
few in `STRACE_NAMES`; strace 7.2 was made to print every number of the three x86 tables.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.kernel.syscalls import RESTART_CODES

X86_64 = "arch/x86/entry/syscalls/syscall_64.tbl"
I386 = "arch/x86/entry/syscalls/syscall_32.tbl"
GENERIC = "scripts/syscall.tbl"
ARM = "arch/arm/tools/syscall.tbl"
ARM_PRIVATE = "arch/arm/include/uapi/asm/unistd.h"
ERRNO_UAPI = ("include/uapi/asm-generic/errno-base.h", "include/uapi/asm-generic/errno.h")
ERRNO_KERNEL = "include/linux/errno.h"

#: Where strace prints another name than the kernel's (strace, src/linux/arm/syscallent.h).
STRACE_NAMES = {
    "arm_fadvise64_64": "fadvise64_64",
    "arm_sync_file_range": "sync_file_range2",  # arch/arm/include/uapi/asm/unistd.h says so too
}


@dataclass(frozen=True, slots=True)
class Table:
    """One file to write: which lines of which kernel table, and what to say about them."""

    file: str
    title: str
    source: str
    abis: tuple[str, ...]


TABLES = (
    Table("x86_64.tbl", "System calls of x86_64", X86_64, ("common", "64")),
    Table("i386.tbl", "System calls of i386", I386, ("i386",)),
    Table("x32.tbl", "System calls of x32, without the bit 0x40000000", X86_64, ("common", "x32")),
    # The abis are those of arch/arm64/kernel/Makefile.syscalls.
    Table(
        "aarch64.tbl",
        "System calls of aarch64",
        GENERIC,
        ("common", "64", "renameat", "rlimit", "memfd_secret"),
    ),
    # EABI only: it is what an arm64 kernel runs (arch/arm64/tools/syscall_32.tbl has no OABI).
    Table("arm.tbl", "System calls of 32-bit ARM (EABI)", ARM, ("common", "eabi")),
)


def add(numbers: dict[int, str], number: int, name: str) -> None:
    """Enter one name; a number that has another one already means that `abis` is wrong."""
    if number in numbers:
        raise ValueError(f"number {number} is both {numbers[number]} and {name}")
    numbers[number] = name


def parse_syscall_tbl(text: str, abis: Sequence[str]) -> dict[int, str]:
    """Number and name of the lines `<number> <abi> <name> …` that belong to one of `abis`."""
    numbers: dict[int, str] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 3 and not line.startswith("#") and fields[1] in abis:
            add(numbers, int(fields[0]), STRACE_NAMES.get(fields[2], fields[2]))
    return numbers


def parse_arm_private(text: str) -> dict[int, str]:
    """The calls that ARM keeps outside of the table: 0xf0001 breakpoint, 0xf0002 cacheflush, …"""
    calls = re.findall(r"^#define __ARM_NR_(\w+)\s+\(__ARM_NR_BASE\+(\d+)\)", text, re.MULTILINE)
    return {0x0F0000 + int(offset): name for name, offset in calls}


def parse_errno(text: str) -> dict[int, str]:
    """Number and name of each `#define ENAME number`. Aliases (EWOULDBLOCK) define no number."""
    numbers: dict[int, str] = {}
    for name, number in re.findall(r"^#define\s+(E\w+)\s+(\d+)\b", text, re.MULTILINE):
        add(numbers, int(number), name)
    return numbers


def kernel_version(makefile: str) -> str:
    """`7.2.13` from the first lines of the kernel's top Makefile."""
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", makefile, re.MULTILINE))
    return f"{parts['VERSION']}.{parts['PATCHLEVEL']}.{parts['SUBLEVEL']}"


def render(comment: Sequence[str], numbers: dict[int, str]) -> str:
    """The comment and one line `number name` for each number, in order."""
    lines = [f"# {line}" for line in comment]
    return "\n".join([*lines, *(f"{n} {name}" for n, name in sorted(numbers.items()))]) + "\n"


def generate(tree: Path, origin: str) -> dict[str, str]:
    """File name and text of every table."""

    def read(path: str) -> str:
        return (tree / path).read_text(encoding="utf-8")

    linux = f"Linux {kernel_version(read('Makefile'))} ({origin})"

    def comment(title: str, sources: Sequence[str]) -> list[str]:
        return [
            "SPDX-License-Identifier: GPL-2.0-only",
            f"{title}. Written by generate.py, not by hand.",
            *(f"Source: {linux}, {source}" for source in sources),
        ]

    texts: dict[str, str] = {}
    for table in TABLES:
        numbers = parse_syscall_tbl(read(table.source), table.abis)
        sources = [f"{table.source}, abi {' '.join(table.abis)}"]
        if table.source == ARM:
            for number, name in parse_arm_private(read(ARM_PRIVATE)).items():
                add(numbers, number, name)
            sources.append(f"{ARM_PRIVATE}, __ARM_NR_* (from 983041, 0xf0001)")
        texts[table.file] = render(comment(table.title, sources), numbers)

    uapi: dict[int, str] = {}
    for source in ERRNO_UAPI:
        for number, name in parse_errno(read(source)).items():
            add(uapi, number, name)
    internal = parse_errno(read(ERRNO_KERNEL))
    if not internal.keys() >= RESTART_CODES:
        raise ValueError(f"{ERRNO_KERNEL} has not all restart codes: {sorted(RESTART_CODES)}")
    leaks = {n: name for n, name in internal.items() if n not in RESTART_CODES}
    title = "Errors of x86, arm64 and arm (the generic numbering)"
    texts["errno.tbl"] = render(comment(title, ERRNO_UAPI), uapi) + render(
        [
            "The kernel's own numbers, which no program should ever see; some are seen, though",
            "(524 ENOTSUPP from bpf, for one). Without the restart codes 512, 513, 514 and 516:",
            "with these a call is begun again, it has not failed.",
            f"Source: {linux}, {ERRNO_KERNEL}",
        ],
        leaks,
    )
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of system calls and errors.")
    parser.add_argument("tree", type=Path, help="an unpacked kernel source tree")
    parser.add_argument("--origin", required=True, help="who published it: package and version")
    arguments = parser.parse_args()
    for file, text in generate(arguments.tree, arguments.origin).items():
        Path(__file__).with_name(file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

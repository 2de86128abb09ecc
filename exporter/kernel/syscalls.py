"""The names of system calls and errors, by ABI and number.

A number means nothing without its ABI: 20 is `writev` to x86_64 and `getpid` to i386. The tables
in `tables/` are made from the kernel's own (each names its source); the names are the ones that
strace prints.
"""

from __future__ import annotations

import enum
from importlib import resources

from exporter.errors import KernelError

#: A call or an error whose number no table has; decided in the kernel.
UNKNOWN = "unknown"

#: What was folded together, because there is a limit or because it has no class.
OTHER = "other"

#: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK: the call is begun again or
#: ends in EINTR by the time the program sees it. No errors (Linux, include/linux/errno.h).
RESTART_CODES = frozenset({512, 513, 514, 516})


class Abi(enum.IntEnum):
    """How a call was made, and so whose numbers it has. The values are shared with C."""

    X86_64 = 0
    I386 = 1
    X32 = 2  # numbers without __X32_SYSCALL_BIT (0x40000000)
    AARCH64 = 3
    ARM = 4

    @property
    def table(self) -> str:
        """The file in `tables/`."""
        return f"{self.name.lower()}.tbl"


_NATIVE = {
    "x86_64": (Abi.X86_64, Abi.I386, Abi.X32),
    "aarch64": (Abi.AARCH64, Abi.ARM),
}


def native_abis(machine: str) -> tuple[Abi, ...]:
    """The ABIs a kernel of this machine (`uname -m`) can run, its own first.

    Raises KernelError for a machine that we have no tables for.
    """
    try:
        return _NATIVE[machine]
    except KeyError:
        known = " or ".join(_NATIVE)
        raise KernelError(
            f"expected a machine of type {known}, found {machine!r}: "
            f"run the exporter on {known}, and not under setarch"
        ) from None


def parse_table(text: str) -> dict[int, str]:
    """Names by number, from lines `number name` in ascending order; `#` begins a comment line.

    Raises ValueError, with the line, for anything else.
    """
    names: dict[int, str] = {}
    last = -1
    for line_number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        match line.split(" "):
            case [digits, name] if name and digits.isascii() and digits.isdigit():
                number = int(digits)
            case _:
                raise ValueError(f"line {line_number}: expected `number name`, found {line!r}")
        if number <= last:
            raise ValueError(f"line {line_number}: expected a number above {last}, found {number}")
        names[number] = name
        last = number
    return names


def load_names(abi: Abi) -> dict[int, str]:
    """The names of an ABI's calls, by number."""
    return parse_table(_read(abi.table))


def load_errnos() -> dict[int, str]:
    """The names of errors, by number; the same on all our ABIs, restart codes not among them."""
    return parse_table(_read("errno.tbl"))


def _read(file: str) -> str:
    return (resources.files("exporter.kernel") / "tables" / file).read_text(encoding="utf-8")

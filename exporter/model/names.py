"""Names for the kernel's numbers: calls, errors, states of threads."""

from __future__ import annotations

from exporter.kernel.records import (
    CODE_ABI_SHIFT,
    CODE_NUMBER,
    ERRNO_UNKNOWN,
    NUMBER_OTHER,
    NUMBERS,
)
from exporter.kernel.syscalls import OTHER, UNKNOWN, Abi, load_errnos, load_names

#: task_struct.__state, include/linux/sched.h: by its lowest bit that tells.
_STATES = ((0x1, "sleeping"), (0x2, "uninterruptible"), (0x4 | 0x8, "stopped"))
THREAD_STATES = ("running", "sleeping", "uninterruptible", "stopped")


class Names:
    """Names of calls and errors, by the kernel's numbers."""

    def __init__(self) -> None:
        self._calls: dict[int, str] = {}
        self._tables: dict[int, dict[int, str]] = {}
        self._errnos = load_errnos()

    def call(self, code: int) -> str:
        name = self._calls.get(code)
        if name is None:
            name = self._calls[code] = self._look_up(code)
        return name

    def _look_up(self, code: int) -> str:
        number = code & CODE_NUMBER
        if number == NUMBER_OTHER:
            return OTHER
        abi = Abi(code >> CODE_ABI_SHIFT)
        if abi not in self._tables:
            self._tables[abi] = load_names(abi)
        if abi is Abi.ARM and NUMBERS - 16 <= number < NUMBERS:
            number += 0xF0000 - (NUMBERS - 16)  # bpf/arch.h moves ARM's private calls
        return self._tables[abi].get(number, UNKNOWN)

    def error(self, number: int) -> str:
        return UNKNOWN if number == ERRNO_UNKNOWN else self._errnos.get(number, UNKNOWN)


def thread_state(state: int) -> str:
    """What a thread does, in one word; a task that is ready to run has state 0."""
    return next((name for bits, name in _STATES if state & bits), "running")

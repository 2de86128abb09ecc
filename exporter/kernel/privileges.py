"""Capabilities: what we have, what we need, and giving up the rest.

Layout: include/uapi/linux/capability.h, version 3. A thread has capabilities of its own, so they
are dropped before other threads start.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from exporter.errors import KernelError
from exporter.kernel.procfs import parse_status

NUMBERS = {
    "CAP_DAC_READ_SEARCH": 2,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_PERFMON": 38,
    "CAP_BPF": 39,
}
#: Without these nothing can be counted.
NEEDED_TO_START = ("CAP_BPF", "CAP_PERFMON")
#: What is left after attaching: to read and write our maps on kernels where bpf(2) asks for it at
#: each call, and to look into other processes.
KEPT = ("CAP_BPF", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH")

_VERSION_3 = 0x20080522
_PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)


def effective(procfs: Path = Path("/proc")) -> int:
    """Our effective capabilities, as a set of bits."""
    status = parse_status((procfs / "self/status").read_text())
    return int(status["CapEff"], 16)


def has(name: str, bits: int) -> bool:
    """CAP_SYS_ADMIN stands for the two that were split off it in Linux 5.8."""
    implied = name in NEEDED_TO_START and bits >> NUMBERS["CAP_SYS_ADMIN"] & 1
    return bool(bits >> NUMBERS[name] & 1 or implied)


def require(bits: int) -> None:
    """Raises KernelError naming what is missing."""
    missing = [name for name in NEEDED_TO_START if not has(name, bits)]
    if missing:
        raise KernelError(
            f"{' and '.join(missing)} missing: run as root, or grant CAP_BPF, CAP_PERFMON,"
            " CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
        )


def drop() -> int:
    """Gives up all but KEPT, for good and for children too. Returns what is left."""
    keep = sum(1 << NUMBERS[name] for name in KEPT) & effective()
    if not keep >> NUMBERS["CAP_BPF"] & 1 and effective() >> NUMBERS["CAP_SYS_ADMIN"] & 1:
        keep |= 1 << NUMBERS["CAP_SYS_ADMIN"]  # all that we have in the place of CAP_BPF
    header = struct.pack("<Ii", _VERSION_3, 0)
    low, high = keep & 0xFFFFFFFF, keep >> 32
    data = struct.pack("<6I", low, low, 0, high, high, 0)
    if _libc.capset(header, data):
        error = ctypes.get_errno()
        raise KernelError(f"cannot drop privileges: {os.strerror(error)}")
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return keep


def names(bits: int) -> str:
    """The ones that matter here, as text."""
    return ", ".join(name for name, number in NUMBERS.items() if bits >> number & 1) or "none"

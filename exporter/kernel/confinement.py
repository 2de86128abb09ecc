"""Giving up, once all is attached, what is not needed any more: for good, and for all threads.

A thread has capabilities of its own, so this comes before other threads start. Layouts:
include/uapi/linux/capability.h, version 3; include/uapi/linux/prctl.h.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
from pathlib import Path

from exporter.errors import KernelError
from exporter.kernel import bpf, privileges, seccomp_filter
from exporter.kernel.privileges import Privileges

_VERSION_3 = 0x20080522
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_UNPRIVILEGED_BPF_DISABLED = Path("/proc/sys/kernel/unprivileged_bpf_disabled")
_libc = ctypes.CDLL(None, use_errno=True)


def confine(map_fd: int) -> list[str]:
    """Keeps what looks into other processes, and CAP_BPF where the kernel asks for it at each
    bpf(2), as before Linux 5.19; `map_fd`, of any map, is to try that. No exec brings more.

    Returns what could not be done, and why; the exporter works without. Raises KernelError.
    """
    had = privileges.held().capabilities
    keep = had & privileges.bits(privileges.KEPT)
    for_bpf = privileges.bits(["CAP_BPF", "CAP_SYS_ADMIN"])
    _set_capabilities(had & ~for_bpf, permitted=had)
    if _asks_at_each_call(map_fd):
        # Where an old runtime knows no CAP_BPF, CAP_SYS_ADMIN is all that stands for it.
        keep |= had & privileges.bits(["CAP_BPF"]) or had & for_bpf
    for number in range(64):
        if not keep >> number & 1:  # needs CAP_SETPCAP; a container's set is small already
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _set_capabilities(keep, permitted=keep)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    why_not = seccomp_filter.load()
    return [f"no seccomp filter of our own: {why_not}"] if why_not else []


def rehearse() -> tuple[Privileges, list[str]]:
    """What would be left, and what could not be done: a child tries it on itself.

    Raises KernelError where bpf(2) is refused.
    """
    there, here = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            lacks = confine(bpf.create_array())
            os.write(here, json.dumps([*privileges.held(), lacks]).encode())
        finally:
            os._exit(0)
    os.close(here)
    with os.fdopen(there) as said:
        text = said.read()
    os.waitpid(pid, 0)
    if not text:
        raise KernelError("bpf(2) is refused, so it could not be tried")
    *left, lacks = json.loads(text)
    return Privileges(*left), lacks


def _set_capabilities(effective: int, permitted: int) -> None:
    """None is inheritable, and so none ambient, either."""
    low, high = ((effective >> s & 0xFFFFFFFF, permitted >> s & 0xFFFFFFFF, 0) for s in (0, 32))
    header, data = struct.pack("<Ii", _VERSION_3, 0), struct.pack("<6I", *low, *high)
    if _libc.capset(header, data):
        raise KernelError(f"cannot drop privileges: {os.strerror(ctypes.get_errno())}")


def _asks_at_each_call(map_fd: int) -> bool:
    """Whether the kernel wants CAP_BPF, which is not in effect now, of those who have the map.

    Where it wants nothing at all of anybody, root may change that at any time.
    """
    try:
        if _UNPRIVILEGED_BPF_DISABLED.read_text().strip() == "0":
            return True
        bpf.map_info(map_fd)
    except OSError:
        return True
    return False

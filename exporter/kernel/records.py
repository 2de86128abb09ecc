"""The structs that the C program and user space share: bpf/types.h once more, for Python.

A test compiles types.h and compares every size and offset.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from exporter.kernel.buckets import bucket_count

SLOT_EXCLUDED = 0xFFFFFFFF
CODE_ABI_SHIFT = 28
CODE_NUMBER = 0x0FFFFFFF
NUMBER_UNKNOWN = CODE_NUMBER
NUMBER_OTHER = CODE_NUMBER - 1
NUMBERS = 1024
ERRNO_UNKNOWN = 0

PROCESS_ALIVE, PROCESS_KERNEL, PROCESS_KNOWN = 1, 2, 4
SYNC_CHANGED, SYNC_NO_ROOM, SYNC_NO_STORAGE = range(3)

#: Of lost_calls, by index: enum lost_reason.
LOST_REASONS = ("storage_refused", "process_limit", "call_limit", "incomplete_tree")

PROCESS_KEY = struct.Struct("<IIQ")
CGROUP_KEY = struct.Struct("<IIQ")
CALL_KEY = struct.Struct("<II")
ERROR_KEY = struct.Struct("<II")
MEMBERSHIP = struct.Struct("<5I")
SLOT_STATE = struct.Struct("<6Q4I")
CONTROL = struct.Struct("<5Q")
PROCESS_RECORD = struct.Struct("<IIQIIQ5II")
THREAD_RECORD = struct.Struct("<IIQQIIII")


def aggregate_struct(scale: int) -> struct.Struct:
    """other_errors, untimed, sum_ns, then the buckets."""
    return struct.Struct(f"<{3 + bucket_count(scale)}Q")


class ProcessKey(NamedTuple):
    """A process is its number and its start time in ns since boot."""

    tgid: int
    start_ns: int

    def pack(self) -> bytes:
        return PROCESS_KEY.pack(self.tgid, 0, self.start_ns)

    @classmethod
    def unpack(cls, data: bytes) -> ProcessKey:
        tgid, _, start_ns = PROCESS_KEY.unpack(data)
        return cls(tgid, start_ns)


class CgroupKey(NamedTuple):
    """A cgroup is its hierarchy and its id: the root of each hierarchy has inode 1."""

    hierarchy: int
    id: int

    def pack(self) -> bytes:
        return CGROUP_KEY.pack(self.hierarchy, 0, self.id)


class Membership(NamedTuple):
    """Why a process is followed; each field a slot or 0. See struct membership."""

    own: int = 0
    tree: int = 0
    cgroup: int = 0
    node: int = 0
    slot: int = 0

    def decided(self) -> Membership:
        """With `slot` as the kernel decides it."""
        slot = self.own or self.tree or self.cgroup or self.node
        return self._replace(slot=0 if slot == SLOT_EXCLUDED else slot)


class Process(NamedTuple):
    """A process as the task iterator saw it."""

    key: ProcessKey
    parent: ProcessKey
    member: Membership
    flags: int

    @classmethod
    def unpack_all(cls, data: bytes) -> list[Process]:
        return [
            cls(ProcessKey(r[0], r[2]), ProcessKey(r[3], r[5]), Membership(*r[6:11]), r[11])
            for r in PROCESS_RECORD.iter_unpack(data)
        ]


class Thread(NamedTuple):
    """A followed thread. `entry_ns` is CLOCK_MONOTONIC, 0 where it is in no call."""

    tgid: int
    start_ns: int
    entry_ns: int
    tid: int
    slot: int
    code: int
    state: int

    @classmethod
    def unpack_all(cls, data: bytes) -> list[Thread]:
        return [cls(r[0], *r[2:]) for r in THREAD_RECORD.iter_unpack(data)]


class SlotState(NamedTuple):
    """The life of one tree's processes, and the room it has taken."""

    forks: int
    execs: int
    exits_ok: int
    exits_error: int
    exits_signal: int
    lost_processes: int
    other_id: int
    calls: int
    errors: int
    reserved: int

    @classmethod
    def unpack(cls, data: bytes) -> SlotState:
        return cls(*SLOT_STATE.unpack(data))

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

EVENT_CHANGED, EVENT_CGROUP, EVENT_CGROUP_GONE, EVENT_GROUP = range(4)
TEXT_BYTES = 1024
TEXT_END = 0xFF
CMDLINE_BYTES = 4096
MAX_RULES = 64
FIELD_NAMES = ("comm", "exe", "cmdline", "user")
GROUP_BY = ("", "comm", "exe")

#: Of lost_calls, by index: enum lost_reason.
LOST_REASONS = ("storage_refused", "process_limit", "call_limit", "incomplete_tree")

PROCESS_KEY = struct.Struct("<IIQ")
CGROUP_KEY = struct.Struct("<IIQ")
CALL_KEY = struct.Struct("<II")
ERROR_KEY = struct.Struct("<II")
MEMBERSHIP = struct.Struct("<8IQQ")
TREE = struct.Struct("<QIIII")
SLOT_STATE = struct.Struct("<5Q4I")
GROUP_KEY = struct.Struct("<IIQ")
USER_KEY = struct.Struct("<II")
ROW = struct.Struct("<Q512s")
RULES = struct.Struct("<4QQQQ64Q64I4III64I64I64I")
CONTROL = struct.Struct("<10Q")
EVENT = struct.Struct("<IIIIQII")  # before its text
PROCESS_RECORD = struct.Struct("<IIQIIQ8IQQII")
THREAD_RECORD = struct.Struct("<IIQQIIII")

# Of spans
MAX_SPAN_RULES = 65
ERROR_WORDS = 9
SPANS_PROCESSES, SPANS_ARGS, SPANS_ENVIRON = 1, 2, 4
MARK_RULE, MARK_CALLS, MARK_SESSION = 0xFFFF, 0x10000, 0x20000
AGGREGATE_MARK = 16  # where the mark is in an aggregate
ARGUMENT_PATH, ARGUMENT_FD, ARGUMENT_EXEC = 0x10, 0x20, 0x40
(
    SPAN_FORKED, SPAN_EXECED, SPAN_ARGUED, SPAN_ENVIRONED, SPAN_EXITED, SPAN_SESSION, SPAN_CALLED,
) = range(7)  # fmt: skip
SPAN_TEXT_BYTES = 4096
SPAN_PATH_BYTES = 256
SPAN_EVENT = struct.Struct("<IIIIQQ")
SPAN_FORK = struct.Struct("<IIIIQQIIQ")
SPAN_EXIT = struct.Struct("<IIIIQQIIQII16s")
SPAN_TEXT = struct.Struct("<IIIIQQII")  # before its text
SPAN_CALL = struct.Struct("<IIIIQQQqQQIIII")  # before its path


def span_rule_struct(call_words: int) -> struct.Struct:
    """slower_than_ns, interval_ns, burst_ns, next_ns, refused, sample, flags, errors, calls."""
    return struct.Struct(f"<5QII{ERROR_WORDS}Q{call_words}Q")


def aggregate_struct(scale: int) -> struct.Struct:
    """other_errors, untimed, mark, sum_ns, then the buckets."""
    return struct.Struct(f"<{4 + bucket_count(scale)}Q")


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

    @classmethod
    def unpack(cls, data: bytes) -> CgroupKey:
        hierarchy, _, id_ = CGROUP_KEY.unpack(data)
        return cls(hierarchy, id_)


class Membership(NamedTuple):
    """Why a process is followed; slots or 0, and bits of `exclude`. See struct membership, whose
    `sync` is the kernel's business."""

    own: int = 0
    tree: int = 0
    cgroup: int = 0
    match: int = 0
    alone: int = 0
    node: int = 0
    tree_slot: int = 0
    slot: int = 0
    excluded: int = 0

    def pack(self, sync: int) -> bytes:
        return MEMBERSHIP.pack(*self, sync)

    @classmethod
    def unpack(cls, data: bytes) -> Membership:
        return cls(*MEMBERSHIP.unpack(data)[:-1])


class TreeSettings(NamedTuple):
    """What the kernel must know of a tree beforehand. See struct tree."""

    excluded_by: int = 0
    order: int = 0
    group_by: int = 0
    spans: int = 0  # its target's rule; 0: none
    reserved: int = 0


class Process(NamedTuple):
    """A process as the task iterator saw it."""

    key: ProcessKey
    parent: ProcessKey
    member: Membership
    flags: int

    @classmethod
    def unpack_all(cls, data: bytes) -> list[Process]:
        return [
            cls(ProcessKey(r[0], r[2]), ProcessKey(r[3], r[5]), Membership(*r[6:15]), r[16])
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
    other_id: int
    calls: int
    errors: int
    groups: int

    @classmethod
    def unpack(cls, data: bytes) -> SlotState:
        return cls(*SLOT_STATE.unpack(data))

"""What the kernel tells of processes and calls, for spans. Times are CLOCK_MONOTONIC in ns.

Nothing here is counted in metrics: what the ring had no room for is in `Tracing.span_events_lost`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from exporter.kernel import records
from exporter.kernel.records import ProcessKey
from exporter.kernel.ring import Ring


class Forked(NamedTuple):
    """A process was made."""

    slot: int
    key: ProcessKey
    time_ns: int
    parent: ProcessKey


class Execed(NamedTuple):
    """A process runs another program: `path` as /proc/PID/exe has it, its end if it is long."""

    slot: int
    key: ProcessKey
    time_ns: int
    path: bytes


class Argued(NamedTuple):
    """The arguments of the program that a process has begun, NULs between; 4,095 bytes at most."""

    slot: int
    key: ProcessKey
    time_ns: int
    text: bytes


class Environed(NamedTuple):
    """What a new program's environment has as TRACEPARENT; of a longer value 56 bytes."""

    slot: int
    key: ProcessKey
    time_ns: int
    text: bytes


class Exited(NamedTuple):
    """A process ended; `parent` is who has it now, `status` as wait(2) has it."""

    slot: int
    key: ProcessKey
    time_ns: int
    parent: ProcessKey
    status: int
    comm: bytes


class SessionSet(NamedTuple):
    """setsid() succeeded."""

    slot: int
    key: ProcessKey
    time_ns: int


class GroupSet(NamedTuple):
    """setpgid(pid, pgid) succeeded; both as they were given, 0 is the caller."""

    slot: int
    key: ProcessKey
    time_ns: int
    pid: int
    pgid: int


class Called(NamedTuple):
    """A call that is to be a span. `code` is ABI << 28 | number; `path` b"" where none is known."""

    slot: int
    key: ProcessKey
    time_ns: int
    began_ns: int
    ret: int
    tid: int
    code: int
    path: bytes


#: By ABI and number; arm has i386's.
_SETSID = ((0, 112), (1, 66), (2, 112), (3, 157), (4, 66))

Record = Forked | Execed | Argued | Environed | Exited | SessionSet | GroupSet | Called


class SpanEvents:
    """The ring `events`."""

    def __init__(self, fd: int) -> None:
        self._ring = Ring(fd)
        self.wait, self.wake = self._ring.wait, self._ring.wake

    def take(self) -> Iterator[Record]:
        """All that was told since, in order."""
        for data in self._ring.take():
            yield self._decode(data)

    def _decode(self, data: bytes) -> Record:
        kind = data[0]
        if kind == records.SPAN_CALLED:
            (_, slot, tgid, _, start, time_ns, began, ret, _, _, tid, code, length, _) = (
                records.SPAN_CALL.unpack_from(data)
            )
            path = data[records.SPAN_CALL.size :][:length]
            return Called(slot, ProcessKey(tgid, start), time_ns, began, ret, tid, code, path)
        if kind == records.SPAN_FORKED:
            (_, slot, tgid, _, start, time_ns, parent, _, parent_start) = records.SPAN_FORK.unpack(
                data
            )
            return Forked(slot, ProcessKey(tgid, start), time_ns, ProcessKey(parent, parent_start))
        if kind == records.SPAN_EXITED:
            (_, slot, tgid, _, start, time_ns, parent, _, parent_start, status, _, comm) = (
                records.SPAN_EXIT.unpack(data)
            )
            return Exited(
                slot, ProcessKey(tgid, start), time_ns, ProcessKey(parent, parent_start), status,
                comm.partition(b"\0")[0],
            )  # fmt: skip
        if kind == records.SPAN_SESSION:
            (_, slot, tgid, _, start, time_ns, _, _, pid, group, _, code, _, _) = (
                records.SPAN_CALL.unpack_from(data)
            )
            key = ProcessKey(tgid, start)
            if (code >> records.CODE_ABI_SHIFT, code & records.CODE_NUMBER) in _SETSID:
                return SessionSet(slot, key, time_ns)
            return GroupSet(slot, key, time_ns, pid & 0xFFFFFFFF, group & 0xFFFFFFFF)
        _, slot, tgid, _, start, time_ns, length, _ = records.SPAN_TEXT.unpack_from(data)
        text = data[records.SPAN_TEXT.size :][:length]
        return _TEXTS[kind](slot, ProcessKey(tgid, start), time_ns, text)


_TEXTS: dict[int, type[Execed | Argued | Environed]] = {
    records.SPAN_EXECED: Execed,
    records.SPAN_ARGUED: Argued,
    records.SPAN_ENVIRONED: Environed,
}

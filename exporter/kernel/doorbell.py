"""The ring buffer by which the kernel wakes user space, and says what came or went.

What it says are hints: where the ring was full, `control.events_lost` grows, and a scan finds the
rest. Layout: kernel/bpf/ringbuf.c (a page with the consumer's position, ours to write; a page with
the producer's; the data, mapped twice in a row).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import struct
from typing import NamedTuple

from exporter.kernel import bpf, records
from exporter.kernel.records import EVENT_CHANGED, CgroupKey

_HEADER_BYTES = 8
_BUSY, _DISCARD = 1 << 31, 1 << 30
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class Event(NamedTuple):
    """What came or went; see enum event_kind in bpf/types.h."""

    kind: int
    slot: int
    cgroup: CgroupKey
    tree: int
    text: bytes


class Doorbell:
    """Waits for the kernel to ring, or for `wake`."""

    def __init__(self, fd: int) -> None:
        page = mmap.PAGESIZE
        self._size = bpf.map_info(fd)[2]
        self._ours = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self._theirs = mmap.mmap(
            fd, page + 2 * self._size, mmap.MAP_SHARED, mmap.PROT_READ, offset=page
        )
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll = select.epoll()
        self._epoll.register(fd, select.EPOLLIN)
        self._epoll.register(self._wake, select.EPOLLIN)

    def wait(self, seconds: float) -> bool:
        """True if it rang, or was woken, within so many seconds."""
        rang = bool(self._epoll.poll(seconds))
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        return rang

    def wake(self) -> None:
        os.eventfd_write(self._wake, 1)

    def take(self) -> list[Event]:
        """All that was said since, but for mere changes of membership."""
        events = []
        at = _U64.unpack_from(self._ours)[0]
        end = _U64.unpack_from(self._theirs)[0]
        while at < end:
            begin = mmap.PAGESIZE + at % self._size
            length = _U32.unpack_from(self._theirs, begin)[0]
            if length & _BUSY:
                break
            size = length & ~_DISCARD
            if not length & _DISCARD and size >= records.EVENT.size:
                begin += _HEADER_BYTES
                events.append(_event(self._theirs[begin : begin + size]))
            at += -(-(_HEADER_BYTES + size) // 8) * 8
        self._ours[:8] = _U64.pack(at)
        return [event for event in events if event.kind != EVENT_CHANGED]


def _event(data: bytes) -> Event:
    kind, slot, hierarchy, _, id_, tree, length = records.EVENT.unpack_from(data)
    text = data[records.EVENT.size :][:length]
    return Event(kind, slot, CgroupKey(hierarchy, id_), tree, text)

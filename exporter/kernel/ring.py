"""A BPF ring buffer, read in place.

Layout: kernel/bpf/ringbuf.c (a page with the consumer's position, ours to write; a page with the
producer's; the data, mapped twice in a row).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import struct
from collections.abc import Iterator

from exporter.kernel import bpf

_PART_BYTES = 1 << 18
_HEADER_BYTES = 8
_BUSY, _DISCARD = 1 << 31, 1 << 30
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class Ring:
    """Not for more than one thread at a time."""

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
        """True if there is a record, or somebody called `wake`, within so many seconds."""
        came = bool(self._epoll.poll(seconds))
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        return came

    def wake(self) -> None:
        """For any thread, and for signal handlers."""
        os.eventfd_write(self._wake, 1)

    def take(self) -> Iterator[bytes]:
        """All records since the last time, up to the first that is being written.

        In parts, so that there is room in the ring again while the first ones are looked at.
        """
        at = _U64.unpack_from(self._ours)[0]
        end = _U64.unpack_from(self._theirs)[0]
        while at < end:
            begin = mmap.PAGESIZE + at % self._size
            found, length = _split(self._theirs[begin : begin + min(end - at, _PART_BYTES)])
            if not length:
                return
            at += length
            self._ours[:8] = _U64.pack(at)
            yield from found


def _split(data: bytes) -> tuple[list[bytes], int]:
    """The records that are whole and written, and how many bytes they take."""
    found, at = [], 0
    while at < len(data):
        (length,) = _U32.unpack_from(data, at)
        size = length & ~_DISCARD
        begin = at + _HEADER_BYTES
        if length & _BUSY or begin + size > len(data):
            break
        if not length & _DISCARD:
            found.append(data[begin : begin + size])
        at = begin + -(-size // 8) * 8
    return found, at

"""The ring buffer that wakes user space when the kernel changed who is followed.

What it says is not read: that it rang is the message. Layout: kernel/bpf/ringbuf.c (a page with
the consumer's position, ours to write; a page with the producer's; the data).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select


class Doorbell:
    """Waits for the kernel to ring, or for `wake`."""

    def __init__(self, fd: int) -> None:
        page = mmap.PAGESIZE
        self._ours = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self._theirs = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll = select.epoll()
        self._epoll.register(fd, select.EPOLLIN)
        self._epoll.register(self._wake, select.EPOLLIN)

    def wait(self, seconds: float) -> bool:
        """True if it rang, or was woken, within so many seconds."""
        rang = bool(self._epoll.poll(seconds))
        self._ours[:8] = self._theirs[:8]  # all consumed
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        return rang

    def wake(self) -> None:
        os.eventfd_write(self._wake, 1)

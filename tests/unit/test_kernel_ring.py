"""A BPF ring buffer as the kernel lays it out (kernel/bpf/ringbuf.c), in a file in its place."""

from __future__ import annotations

import errno
import mmap
import os
import select
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.kernel import ring as ring_module
from exporter.kernel.ring import Ring
from tests.harness import PATIENCE_S

PAGE = mmap.PAGESIZE
SIZE = 1 << 20  # more than is taken in one part
BUSY, DISCARD = 1 << 31, 1 << 30
EPOLL = select.epoll


class Kernel:
    """Writes as bpf_ringbuf_reserve(), _submit() and _discard() do."""

    def __init__(self, size: int = SIZE) -> None:
        self.size, self.end = size, 0
        self.fd = os.memfd_create("ring")
        os.ftruncate(self.fd, 2 * PAGE + 2 * size)

    def write(self, data: bytes, flags: int = 0) -> int:
        """Where its header is."""
        at = self.end
        record = struct.pack("<II", len(data) | flags, 0) + data
        room = self.size - at % self.size
        self._put(at % self.size, record[:room])
        self._put(0, record[room:])
        self.end += 8 + -(-len(data) // 8) * 8
        assert self.end - self.begin() <= self.size, "the test writes what has no room"
        os.pwrite(self.fd, struct.pack("<Q", self.end), PAGE)
        return at

    def submit(self, at: int, data: bytes) -> None:
        """What was busy is written."""
        self._put(at % self.size, struct.pack("<II", len(data), 0))

    def begin(self) -> int:
        """Up to here it was taken."""
        return int(struct.unpack("<Q", os.pread(self.fd, 8, 0))[0])

    def _put(self, at: int, data: bytes) -> None:
        """The data are there twice in a row, so that none is in two places."""
        for copy in (0, self.size):
            os.pwrite(self.fd, data, 2 * PAGE + copy + at)


class Epoll:
    """A file cannot be waited for as a map can; all else can."""

    def __init__(self) -> None:
        self._real = EPOLL()
        self.poll = self._real.poll

    def register(self, fd: int, events: int) -> None:
        try:
            self._real.register(fd, events)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise


@pytest.fixture(autouse=True, scope="module")
def in_a_file() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring_module.select, "epoll", Epoll)
        patch.setattr(
            ring_module.bpf, "map_info", lambda fd: (0, 0, (os.fstat(fd).st_size - 2 * PAGE) // 2)
        )
        yield


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    it = Kernel()
    yield it
    os.close(it.fd)


def test_in_order_and_once(kernel: Kernel) -> None:
    """Records of any length; what was taken has room for others again."""
    ring = Ring(kernel.fd)
    assert list(ring.take()) == []
    records = [b"x" * length for length in (1, 7, 8, 9, 0, 4096)]
    for record in records:
        kernel.write(record)
    assert list(ring.take()) == records
    assert kernel.begin() == kernel.end
    assert list(ring.take()) == []


def test_what_is_being_written_holds_up_the_rest(kernel: Kernel) -> None:
    """So that the order stays; once it is there all come."""
    ring = Ring(kernel.fd)
    kernel.write(b"first")
    at = kernel.write(b"second", BUSY)
    kernel.write(b"third")
    assert list(ring.take()) == [b"first"]
    assert list(ring.take()) == []
    assert kernel.begin() == at
    kernel.submit(at, b"second")
    assert list(ring.take()) == [b"second", b"third"]


def test_what_was_discarded_is_left_out(kernel: Kernel) -> None:
    ring = Ring(kernel.fd)
    for data, flags in ((b"a", 0), (b"none", DISCARD), (b"b", 0), (b"none", DISCARD)):
        kernel.write(data, flags)
    assert list(ring.take()) == [b"a", b"b"]
    assert kernel.begin() == kernel.end


def test_there_is_room_while_the_first_are_looked_at(kernel: Kernel) -> None:
    """It is taken in parts; what comes meanwhile is for the next time."""
    ring = Ring(kernel.fd)
    number = SIZE // 1024
    for index in range(number):
        kernel.write(index.to_bytes(1016, "little"))
    taken = ring.take()
    found = [next(taken)]
    assert 0 < kernel.begin() < SIZE
    kernel.write(number.to_bytes(1016, "little"))
    found += taken
    assert [int.from_bytes(one, "little") for one in found] == list(range(number))
    assert [int.from_bytes(one, "little") for one in ring.take()] == [number]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 1500), st.booleans()), max_size=8), max_size=30))
def test_round_and_round(rounds: list[list[tuple[int, bool]]]) -> None:
    """Records that go on at the ring's begin are whole."""
    kernel = Kernel(4 * PAGE)
    ring = Ring(kernel.fd)
    number = 0
    for of_one in rounds:
        expected = []
        for length, discarded in of_one:
            number += 1
            data = bytes([number & 0xFF]) * length
            kernel.write(data, DISCARD if discarded else 0)
            expected += [] if discarded else [data]
        assert list(ring.take()) == expected
    os.close(kernel.fd)


def test_waking(kernel: Kernel) -> None:
    """Ends a wait in another thread; each call one, and one that comes before it, too."""
    ring = Ring(kernel.fd)
    assert not ring.wait(0)
    ring.wake()
    ring.wake()
    assert ring.wait(PATIENCE_S)
    assert not ring.wait(0)
    came: list[bool] = []
    thread = threading.Thread(target=lambda: came.append(ring.wait(2 * PATIENCE_S)))
    thread.start()
    ring.wake()
    thread.join(PATIENCE_S)
    assert came == [True]

"""Slots are numbers that are never used again; what belongs to them is."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from exporter.kernel import records, sizes
from exporter.kernel.bpf import Map
from exporter.kernel.records import TreeSettings
from exporter.kernel.slots import Slots

SIZES = replace(sizes.plan(3, 100, 0, 2), aggregates=3 * 4 + sizes.EXTRA_SLOTS + 1, shards=2)


class Table:
    """A hash or a queue, as exporter.kernel.bpf.Map is one."""

    def __init__(self) -> None:
        self.queue: deque[bytes] = deque()
        self.content: dict[bytes, bytes] = {}
        self.fd = -1

    def push(self, value: bytes) -> None:
        self.queue.append(value)

    def pop(self) -> bytes | None:
        return self.queue.popleft() if self.queue else None

    def set(self, key: bytes, value: bytes) -> None:
        self.content[key] = value

    def delete(self, key: bytes) -> bool:
        return self.content.pop(key, None) is not None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        yield from self.content.items()


class Kernel:
    """The maps that slots live in; the array of aggregates is a file."""

    def __init__(self) -> None:
        names = ("spare_slots", "free_ids", "slots", "trees", "groups", "call_ids", "call_errors")
        self.maps = {name: Table() for name in (*names, "syscall_aggregate")}
        self.aggregates = os.memfd_create("aggregates")
        self.maps["syscall_aggregate"].fd = self.aggregates
        os.ftruncate(self.aggregates, SIZES.aggregates * self.each)
        self.slots = Slots(cast(dict[str, Map], self.maps), SIZES)

    each = SIZES.aggregate_bytes * SIZES.shards

    def pop_slot(self) -> int:
        """As the kernel does for a new cgroup."""
        value = self.maps["spare_slots"].pop()
        assert value
        return int.from_bytes(value, "little")

    def call(self, slot: int, code: int) -> int:
        """A call of a slot, with an error: its aggregate."""
        value = self.maps["free_ids"].pop()
        assert value
        id_ = int.from_bytes(value, "little")
        self.maps["call_ids"].set(records.CALL_KEY.pack(slot, code), value)
        self.maps["call_errors"].set(records.ERROR_KEY.pack(id_, 2), bytes(8))
        os.pwrite(self.aggregates, b"x" * self.each, id_ * self.each)
        return id_

    def numbers(self, id_: int) -> bytes:
        return os.pread(self.aggregates, self.each, id_ * self.each)

    def fill(self) -> dict[str, int]:
        return {name: len(t.content) + len(t.queue) for name, t in self.maps.items()}


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    os.close(made.aggregates)


def test_there_are_as_many_as_the_limit(kernel: Kernel) -> None:
    """The kernel takes them from the same queue."""
    assert [kernel.slots.take(), kernel.pop_slot(), kernel.slots.take()] == [1, 2, 3]
    assert kernel.slots.take() is None
    assert (kernel.slots.used, kernel.slots.spare) == (2, 1)
    kernel.slots.adopt(2)
    assert (kernel.slots.used, kernel.slots.spare) == (3, 0)


def test_extra_slots_are_beyond_the_limit(kernel: Kernel) -> None:
    """They take no room of it, whoever says that the kernel gave them out."""
    extra = kernel.slots.take_extra()
    kernel.slots.adopt(extra)
    assert (kernel.slots.used, kernel.slots.spare) == (0, 3)
    assert [kernel.slots.take() for _ in range(4)] == [1, 2, 3, None]


def test_what_is_released_leaves_nothing(kernel: Kernel) -> None:
    """All that was taken for it is there again, and zero; others keep theirs."""
    before = kernel.fill()
    stays = kernel.slots.take()
    assert stays
    kept = kernel.call(stays, 39)
    numbers = kernel.numbers(kept)
    with_one = kernel.fill()
    for _ in range(50):
        gone = kernel.slots.take()
        assert gone
        kernel.slots.describe(gone, TreeSettings(1, 2, 3))
        ids = [kernel.call(gone, code) for code in (1, 2, 3)]
        kernel.maps["groups"].set(records.GROUP_KEY.pack(gone, 0, 7), stays.to_bytes(4, "little"))
        kernel.slots.release([gone])
        assert not kernel.slots.is_open(gone)
        assert all(kernel.numbers(id_) == bytes(kernel.each) for id_ in ids)
        assert kernel.fill() == with_one
    assert kernel.numbers(kept) == numbers
    kernel.slots.release([stays])
    assert kernel.fill() == before
    assert (kernel.slots.used, kernel.slots.spare) == (0, 3)


def test_numbers_are_never_used_again(kernel: Kernel) -> None:
    """Whatever still refers to one that is gone refers to nothing."""
    seen = []
    for _ in range(20):
        slot = kernel.slots.take()
        assert slot
        seen.append(slot)
        kernel.slots.release([slot])
    assert len(set(seen)) == 20


def test_a_program_goes_with_its_tree(kernel: Kernel) -> None:
    """And by itself: then the name is free for another slot."""
    tree, program = kernel.slots.take(), kernel.pop_slot()
    assert tree
    kernel.slots.adopt(program)
    kernel.maps["groups"].set(records.GROUP_KEY.pack(tree, 0, 7), program.to_bytes(4, "little"))
    assert kernel.slots.programs() == {program: tree}
    kernel.slots.release([program])
    assert kernel.slots.programs() == {}
    assert kernel.slots.used == 1

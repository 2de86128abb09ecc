"""Recent calls with a span find the bucket that they are counted in."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.records import CODE_ABI_SHIFT
from exporter.kernel.syscalls import OTHER, Abi
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.histogram import bucket_count, index_of
from exporter.model.snapshot import Call, Exemplar
from exporter.model.spans.exemplars import Exemplars, keep_newest
from exporter.model.spans.span import CallSpan
from exporter.model.target import Target
from tests.unit.account_samples import (
    COSTS,
    GETPID,
    GETPPID,
    PRICES,
    accounts,
    by_name,
    only,
    raw,
    reading,
)

SCALE = 2
NOW = 1_700_000_000_000_000_000
A = only("a")
TARGET = Target("a", "pid", pid=41)
MS = 10**6


def span(slot: int, syscall: str, duration_ns: int, end_ns: int, number: int = 1) -> CallSpan:
    return CallSpan(
        slot, number.to_bytes(16), number.to_bytes(8), b"p" * 8, 1, 1, syscall, "",
        end_ns - duration_ns, end_ns, "", "a",
    )  # fmt: skip


def exemplar(duration_ns: int, end_ns: int, number: int = 1) -> Exemplar:
    return Exemplar(duration_ns, end_ns, number.to_bytes(16), number.to_bytes(8))


def bucket(duration_ns: int) -> int:
    return index_of(duration_ns, SCALE)


@pytest.mark.parametrize("scale", range(4))
@given(st.data())
def test_a_call_is_in_the_kernels_bucket(scale: int, data: st.DataObject) -> None:
    """In integers, as the kernel compares; at the bounds above all."""
    store = Exemplars(scale)
    index = data.draw(st.integers(0, bucket_count(scale) - 2))
    low, high = 1, 2**63 - 1
    while low < high:  # the longest of this bucket
        middle = (low + high + 1) // 2
        low, high = (middle, high) if index_of(middle, scale) <= index else (low, middle - 1)
    for number, duration_ns in enumerate((low - 1, low, low + 1, data.draw(st.integers(1, 2**62)))):
        if duration_ns > 0:
            store.note(span(number, "read", duration_ns, NOW + 2**62))
            (key,) = store.by_slot()[number]
            assert key == ("read", index_of(duration_ns, scale))


def test_the_newest_wins() -> None:
    """For each slot, call and bucket."""
    store = Exemplars(SCALE)
    for number, (slot, syscall, duration_ns) in enumerate([
        (1, "read", 1000), (1, "read", 1001), (1, "read", 5000), (1, "write", 1000),
        (2, "read", 1000),
    ]):  # fmt: skip
        store.note(span(slot, syscall, duration_ns, NOW + number, number + 1))
    assert store.by_slot() == {
        1: {
            ("read", bucket(1000)): exemplar(1001, NOW + 1, 2),
            ("read", bucket(5000)): exemplar(5000, NOW + 2, 3),
            ("write", bucket(1000)): exemplar(1000, NOW + 3, 4),
        },
        2: {("read", bucket(1000)): exemplar(1000, NOW + 4, 5)},
    }


def test_what_is_kept_is_bounded() -> None:
    """Of a million different ones the last thousands; what comes again stays among them."""
    store = Exemplars(SCALE)
    for number in range(100_000):
        store.note(span(number, "read", 1000, NOW + number))
        if not number % 100:
            store.note(span(-1, "fsync", 1000, NOW + number))
    found = store.by_slot()
    assert 2048 <= len(found) <= 4096
    assert found[-1]["fsync", bucket(1000)].time_ns == NOW + 99_900
    assert set(found) - {-1} == set(range(100_001 - len(found), 100_000))


def test_one_thread_notes_while_another_reads() -> None:
    """Each reading is whole, whenever it is made."""
    store = Exemplars(SCALE)
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                for slot, recent in store.by_slot().items():
                    ((_, one),) = recent.items()
                    assert one.time_ns == NOW + slot
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(50_000):
        store.note(span(number, "read", 1000, NOW + number))
    done.set()
    for reader in readers:
        reader.join()
    assert failed == []


ONE = st.integers(0, 5).map(lambda time_ns: exemplar(1, time_ns))


@given(st.lists(st.dictionaries(st.integers(0, 3), ONE)))
def test_merging_keeps_the_newest(parts: list[dict[int, Exemplar]]) -> None:
    """Of each bucket, whatever the order."""
    found: dict[int, Exemplar] = {}
    for part in parts:
        keep_newest(found, part)
    times = {b: max(p[b].time_ns for p in parts if b in p) for p in parts for b in p}
    assert {b: one.time_ns for b, one in found.items()} == times


def timed(slot: int, code: int, *durations_ns: int) -> Any:
    buckets = [0] * bucket_count(SCALE)
    for duration_ns in durations_ns:
        buckets[bucket(duration_ns)] += 1
    return raw(slot, code, 0, tuple(buckets))


class Node:
    """Accounts of target `a`, with a store of exemplars."""

    def __init__(self, limit: int = 10**6) -> None:
        self.store = Exemplars(SCALE)
        self.accounts: Accounts = accounts(limit, TARGET, exemplars=self.store)

    def open(self, slot: int) -> None:
        self.accounts.open(slot, TARGET, A, TreeInfo(), 1)

    def note(self, slot: int, syscall: str, duration_ns: int, age: int = 0) -> None:
        self.store.note(span(slot, syscall, duration_ns, NOW - age))

    def calls(self, *calls: Any) -> dict[str, Call]:
        exposed = self.accounts.build(reading(list(calls)), {}, NOW)
        return {syscall: call for (_, syscall), call in by_name(exposed).items()}


def test_a_call_carries_its_exemplars() -> None:
    """By kernel bucket, in ascending order; of another call there are none."""
    node = Node()
    node.open(1)
    node.note(1, "getppid", 5 * MS)
    node.note(1, "getppid", 2 * MS, 7)
    found = node.calls(timed(1, GETPPID, 2 * MS, 5 * MS), timed(1, GETPID, 2 * MS))
    assert list(found["getppid"].exemplars.items()) == [
        (bucket(2 * MS), exemplar(2 * MS, NOW - 7)), (bucket(5 * MS), exemplar(5 * MS, NOW)),
    ]  # fmt: skip
    assert found["getpid"].exemplars == {}


def test_without_a_store_there_are_none() -> None:
    """As it is where no calls become spans."""
    made = accounts(10**6, TARGET)
    made.open(1, TARGET, A, TreeInfo(), 1)
    (call,) = made.build(reading([timed(1, GETPPID, MS)]), {}, NOW).calls
    assert call.exemplars == {}


def test_of_several_trees_the_newest_counts() -> None:
    """All trees of one label set, and all ABIs of one call, are one series."""
    node = Node()
    node.open(1)
    node.open(2)
    node.note(1, "getpid", MS, 2)
    node.note(2, "getpid", MS, 1)
    node.note(3, "getpid", MS, 0)  # nobody's
    i386 = Abi.I386 << CODE_ABI_SHIFT | 20
    found = node.calls(timed(1, GETPID, MS), timed(2, i386, MS))
    assert found["getpid"].exemplars == {bucket(MS): exemplar(MS, NOW - 1)}


def test_what_the_kernel_has_not_counted_yet_is_not_shown() -> None:
    """A span may be queued while the kernel is read: its bucket would be empty."""
    node = Node()
    node.open(1)
    node.note(1, "getpid", MS)
    node.note(1, "getppid", MS)
    assert node.calls(timed(1, GETPID, 9 * MS))["getpid"].exemplars == {}
    assert OTHER not in node.calls(timed(1, GETPID, 9 * MS))


def test_a_call_that_found_no_room_is_an_exemplar_of_other() -> None:
    """One that was never seen is not: it may find room yet."""
    node = Node(COSTS.target.most + PRICES.account.most)
    node.open(1)
    node.note(1, "getpid", MS)
    node.note(1, "read", 2 * MS)
    found = node.calls(timed(1, GETPID, MS, 2 * MS))
    assert found[OTHER].exemplars == {bucket(MS): exemplar(MS, NOW)}


def test_trees_that_are_gone_are_remembered_for_a_while() -> None:
    """The last eight of a label set: what ended between two scrapes is seen."""
    node = Node()
    for slot in range(1, 10):
        node.open(slot)
        node.note(slot, "getpid", MS << slot)
        node.accounts.close(slot, reading([timed(slot, GETPID, MS << slot)]), NOW)
    shown = node.calls()["getpid"].exemplars
    assert [one.duration_ns for one in shown.values()] == [MS << slot for slot in range(2, 10)]

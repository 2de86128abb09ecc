"""What was told of trees without a name waits for it, in order; what waits in vain is counted."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from exporter.kernel.records import ProcessKey
from exporter.kernel.span_events import SessionSet
from exporter.telemetry import waiting as waiting_module
from exporter.telemetry.waiting import Waiting

MOST_NS = 1000


def record(slot: int, number: int) -> SessionSet:
    return SessionSet(slot, ProcessKey(number, 1), number)


def test_what_waited_comes_first() -> None:
    """Then what came since, of whomever; each once."""
    known = {1}
    waiting = Waiting(known.__contains__, MOST_NS)
    told = [record(slot, number) for number, slot in enumerate((1, 2, 3, 2, 1))]
    assert list(waiting.sift(iter(told), 0)) == [told[0], told[4]]
    known.add(2)
    more = [record(1, 10), record(2, 11), record(3, 12)]
    assert list(waiting.sift(iter(more), 1)) == [told[1], told[3], more[0], more[1]]
    known.add(3)
    assert list(waiting.sift(iter(()), 2)) == [told[2], more[2]]
    assert list(waiting.sift(iter(()), 3)) == []
    assert waiting.lost == 0


def test_a_name_that_comes_while_records_are_taken() -> None:
    """What waits already stays in front of what comes then."""
    known: set[int] = set()
    waiting = Waiting(known.__contains__, MOST_NS)
    first, second = record(1, 1), record(1, 2)

    def told() -> Iterator[SessionSet]:
        known.add(1)
        yield second

    assert list(waiting.sift(iter([first]), 0)) == []
    assert list(waiting.sift(told(), 1)) == []
    assert list(waiting.sift(iter(()), 2)) == [first, second]


@pytest.mark.parametrize(("now_ns", "lost"), [(MOST_NS + 5, 0), (MOST_NS + 6, 2), (sys.maxsize, 2)])
def test_giving_up(now_ns: int, lost: int) -> None:
    """On a tree, when its first record has waited for too long; a later one may have a name."""
    known: set[int] = set()
    waiting = Waiting(known.__contains__, MOST_NS)
    assert list(waiting.sift(iter([record(1, 1)]), 5)) == []
    assert list(waiting.sift(iter([record(1, 2)]), 500)) == []
    waiting.give_up(now_ns)
    assert waiting.lost == lost
    known.add(1)
    assert len(list(waiting.sift(iter([record(1, 3)]), now_ns))) == 3 - lost


class WaitingMachine(RuleBasedStateMachine):
    """Each record is told of once, waits, or is lost; those of one tree in their order."""

    def __init__(self) -> None:
        super().__init__()
        waiting_module._MOST, self._before = 5, waiting_module._MOST
        self.known: set[int] = set()
        self.waiting = Waiting(self.known.__contains__, MOST_NS)
        self.now = self.told = 0
        self.found: dict[int, list[int]] = defaultdict(list)

    def teardown(self) -> None:
        self.waiting.give_up(sys.maxsize)
        assert sum(map(len, self.found.values())) + self.waiting.lost == self.told
        waiting_module._MOST = self._before

    @rule(slots=st.lists(st.integers(1, 4), max_size=6), ns=st.integers(0, 400))
    def tell(self, slots: list[int], ns: int) -> None:
        self.now += ns
        records = [record(slot, self.told + number) for number, slot in enumerate(slots)]
        self.told += len(records)
        for one in self.waiting.sift(iter(records), self.now):
            assert one.slot in self.known
            self.found[one.slot].append(one.time_ns)

    @rule(slot=st.integers(1, 4))
    def name(self, slot: int) -> None:
        self.known.add(slot)

    @rule(ns=st.integers(0, 2000))
    def give_up(self, ns: int) -> None:
        self.now += ns
        self.waiting.give_up(self.now)

    @invariant()
    def in_order(self) -> None:
        assert all(numbers == sorted(numbers) for numbers in self.found.values())
        assert 0 <= self.told - self.waiting.lost - sum(map(len, self.found.values())) <= 5


WaitingTest = WaitingMachine.TestCase
WaitingTest.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

"""The queue of spans: its limits, its batches, and that every span is in one place."""

from __future__ import annotations

import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from exporter.model.resource import Resource
from exporter.publish.otlp.outcome import Outcome
from exporter.publish.otlp.queue import DROPPED, Counts, SpanQueue
from tests.harness import PATIENCE_S
from tests.unit.otlp_delivery import WEB, items

TAKEN = Outcome(True)
REFUSED = Outcome(False, "bad_request")
GIVEN_UP = Outcome(False, "unavailable", retryable=True)


def counts(queue: SpanQueue) -> Counts:
    found = queue.counts()
    assert found.put == found.sent + sum(found.dropped.values()) + found.queued
    return found


def dropped(queue: SpanQueue) -> dict[str, int]:
    return {reason: number for reason, number in counts(queue).dropped.items() if number}


def test_from_the_start() -> None:
    """All reasons are there, with 0."""
    assert SpanQueue(8, 4).counts() == Counts(0, 0, dict.fromkeys(DROPPED, 0), 0)


def put(queue: SpanQueue, resource: Resource, span: bytes) -> bool:
    """Whether it is queued."""
    return queue.put_many([(resource, span)]) == 1


def test_in_order() -> None:
    queue = SpanQueue(10, 4)
    assert queue.put_many(items(9)) == 9
    assert put(queue, *items(1, first=9)[0])
    assert [len(queue.take(0)) for _ in range(2)] == [4, 4]
    assert queue.take(0) == items(2, first=8)
    assert queue.take(0) == []


def test_full() -> None:
    """The first ones are queued, the others are dropped; until there is room again."""
    queue = SpanQueue(5, 5)
    assert queue.put_many(items(3)) == 3
    assert queue.put_many(items(4, first=3)) == 2
    assert not put(queue, WEB, b"x")
    assert dropped(queue) == {"queue_full": 3}
    assert queue.take(0) == items(5)
    assert put(queue, WEB, b"x")
    assert dropped(queue) == {"queue_full": 3}


def test_full_of_bytes() -> None:
    """1 KiB for each on average: few large spans fill it, and a huge one never fits."""
    queue = SpanQueue(4, 4)
    assert queue.put_many([(WEB, b"x" * 1500)] * 4) == 2
    assert put(queue, WEB, b"x" * 1096)
    assert not put(queue, WEB, b"x")
    assert put(queue, WEB, b"")
    assert dropped(queue) == {"queue_full": 3}
    assert len(queue.take(0)) == 4
    assert not put(queue, WEB, b"x" * 4097)
    assert put(queue, WEB, b"x" * 4096)


def test_batch_of_bytes() -> None:
    """As many spans as backends take in one request; what is larger by itself goes alone."""
    queue = SpanQueue(10, 10, batch_bytes=100)
    for size in (60, 40, 1, 99, 101, 50, 51):
        assert put(queue, WEB, b"x" * size)
    batches = [[len(span) for _, span in queue.take(0)] for _ in range(5)]
    assert batches == [[60, 40], [1, 99], [101], [50], [51]]


@pytest.mark.parametrize(
    ("outcome", "sent", "reasons"),
    [
        (TAKEN, 3, {}),
        (Outcome(True, "partial", rejected=2), 1, {"rejected": 2}),
        (Outcome(True, "partial", rejected=2**63 - 1), 0, {"rejected": 3}),
        (Outcome(True, "bad_answer"), 3, {}),
        (REFUSED, 0, {"rejected": 3}),
        (GIVEN_UP, 0, {"gave_up": 3}),
    ],
)
def test_settle(outcome: Outcome, sent: int, reasons: dict[str, int]) -> None:
    """What a backend says of more spans than it got is cut."""
    queue = SpanQueue(10, 3)
    queue.put_many(items(5))
    queue.take(0)
    assert counts(queue).queued == 5
    queue.settle(outcome)
    found = counts(queue)
    assert (found.sent, found.queued, dropped(queue)) == (sent, 2, reasons)


def test_close() -> None:
    """What is queued can still be sent; what comes later, or finds no backend, is unsent."""
    queue = SpanQueue(10, 2)
    queue.put_many(items(5))
    queue.close()
    assert not put(queue, WEB, b"x")
    assert dropped(queue) == {"unsent": 1}
    for outcome in (TAKEN, GIVEN_UP):
        assert len(queue.take(PATIENCE_S)) == 2
        queue.settle(outcome)
    assert counts(queue).sent == 2
    assert dropped(queue) == {"unsent": 3}


def test_abandon() -> None:
    """What is on its way is unsent as well, whatever becomes of it."""
    queue = SpanQueue(10, 3)
    queue.put_many(items(5))
    queue.take(0)
    queue.close()
    assert (queue.abandon(), queue.abandon()) == (5, 0)
    queue.settle(TAKEN)
    assert (counts(queue).sent, dropped(queue)) == (0, {"unsent": 5})
    assert queue.take(PATIENCE_S) == []


@pytest.mark.parametrize("how", ["one", "many", "bytes", "close"])
def test_waiting(how: str) -> None:
    """Who waits for a batch is woken by the span that completes it, or by the end."""
    queue = SpanQueue(10, 4, batch_bytes=1000)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(len(queue.take(PATIENCE_S * 2))))
    thread.start()
    queue.put_many(items(2))
    if how == "one":
        queue.put_many(items(1))
        put(queue, WEB, b"x")
    elif how == "many":
        queue.put_many(items(7))
    elif how == "bytes":
        put(queue, WEB, b"x" * 990)
    else:
        queue.close()
    thread.join(PATIENCE_S)
    assert found == [{"one": 4, "many": 4, "bytes": 2, "close": 2}[how]]


def test_not_yet_a_batch() -> None:
    """After the delay what is there has to do."""
    queue = SpanQueue(10, 4)
    queue.put_many(items(3))
    assert queue.take(0.001) == items(3)


def test_crowd() -> None:
    """Threads that put, while another takes: no span is lost, none is there twice."""
    queue = SpanQueue(100, 30)
    total = 20_000
    refused: list[int] = []

    def put(first: int) -> None:
        for number in range(first, first + total, 4):
            refused.append(4 - queue.put_many(items(4, number)))

    threads = [threading.Thread(target=put, args=[n * total]) for n in range(3)]
    seen: list[bytes] = []

    def take() -> None:
        while batch := queue.take(PATIENCE_S):
            seen.extend(span for _, span in batch)
            queue.settle(TAKEN)

    taker = threading.Thread(target=take)
    for thread in (*threads, taker):
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counts(queue)
    queue.close()
    taker.join(PATIENCE_S)
    found = counts(queue)
    assert (found.put, found.queued) == (3 * total, 0)
    assert dropped(queue) == ({"queue_full": sum(refused)} if sum(refused) else {})
    assert len(seen) == len(set(seen)) == found.sent == 3 * total - sum(refused)


class QueueMachine(RuleBasedStateMachine):
    """Any order of calls: each span that was put is queued, sent or dropped, and once."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = SpanQueue(6, 3, batch_bytes=2500)
        self.put = self.queued = self.sent = 0
        self.out = 0
        self.settled = True

    @rule(sizes=st.lists(st.sampled_from([0, 1, 1000, 2000, 7000]), max_size=8))
    def puts(self, sizes: list[int]) -> None:
        self.put += len(sizes)
        fit = self.queue.put_many([(WEB, b"x" * size) for size in sizes])
        assert fit <= len(sizes)
        self.queued += fit

    @rule()
    def takes(self) -> None:
        if self.settled:
            self.out = len(self.queue.take(0))
            assert self.out <= 3
            assert (self.out > 0) == (self.queued > 0)
            self.settled = False

    @rule(outcome=st.sampled_from([TAKEN, REFUSED, GIVEN_UP, Outcome(True, rejected=2)]))
    def settles(self, outcome: Outcome) -> None:
        if not self.settled:
            self.queue.settle(outcome)
            self.sent += max(0, self.out - outcome.rejected) if outcome.taken else 0
            self.queued -= self.out
            self.settled, self.out = True, 0

    @rule()
    def closes(self) -> None:
        self.queue.close()

    @rule()
    def abandons(self) -> None:
        assert self.queue.abandon() == self.queued
        self.queued = self.out = 0

    @invariant()
    def adds_up(self) -> None:
        found = counts(self.queue)
        assert (found.put, found.sent, found.queued) == (self.put, self.sent, self.queued)
        assert found.queued <= 6 + 3


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

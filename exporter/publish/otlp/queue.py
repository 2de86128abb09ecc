"""Spans that wait to be sent, and where every one of them went.

Bounded twice: by number, as the standard's variables say, and by bytes, because a command line
can make one span as large as twenty. Whoever puts never waits for a backend: what does not fit is
dropped and counted.

Each span that was put is, at any moment, exactly one of: queued (on its way included), sent, or
dropped for one reason.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.model.losses import SPANS, TOKEN_BUCKET, UNSENT
from exporter.publish.otlp.batch import Item
from exporter.publish.otlp.outcome import Outcome

#: Why a span that was put is not sent: all, so that each is there from the start.
DROPPED = tuple(reason for reason in SPANS if reason != TOKEN_BUCKET)

#: Of one request: gRPC servers take 4 MiB, where nobody says more.
BATCH_BYTES = 3 << 20

_BYTES_PER_SPAN = 1 << 10  # of which the queue has room, on average


class Counts(NamedTuple):
    """put == sent + sum of dropped + queued."""

    put: int
    sent: int
    dropped: Mapping[str, int]
    queued: int


class SpanQueue:
    """Any thread puts, one takes; each batch that was taken is settled before the next."""

    def __init__(self, size: int, batch_size: int, batch_bytes: int = BATCH_BYTES) -> None:
        """`size` spans, with 1 KiB for each on average; `batch_size` of them in one request."""
        self._size, self._bytes_at_most = size, size * _BYTES_PER_SPAN
        self._batch_size, self._batch_bytes = min(batch_size, size), batch_bytes
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._taken = 0  # on its way
        self._put = self._sent = 0
        self._dropped = dict.fromkeys(DROPPED, 0)
        self._closed = False

    def put_many(self, items: Sequence[Item]) -> int:
        """How many are queued: the first ones, in their order. The others are dropped."""
        with self._lock:
            self._put += len(items)
            if self._closed:
                self._dropped[UNSENT] += len(items)
                return 0
            room = self._size - len(self._items)
            fit = items if len(items) <= room else items[:room]
            size = sum([len(span) for _, span in fit])
            if self._bytes + size > self._bytes_at_most:
                fit, size = self._fitting(fit)
            self._items.extend(fit)
            self._bytes += size
            self._dropped["queue_full"] += len(items) - len(fit)
            if self._is_full():
                self._ready.notify()
            return len(fit)

    def take(self, wait_s: float) -> list[Item]:
        """As soon as there is a whole batch, `wait_s` have passed or it is closed; or []."""
        with self._lock:
            self._ready.wait_for(lambda: self._closed or self._is_full(), wait_s)
            batch: list[Item] = []
            size = 0
            while self._items and len(batch) < self._batch_size:
                longer = size + len(self._items[0][1])
                if longer > self._batch_bytes and batch:
                    break
                batch.append(self._items.popleft())
                size = longer
            self._bytes -= size
            self._taken = len(batch)
            return batch

    def settle(self, outcome: Outcome) -> None:
        """What became of the batch that was taken last; nothing, once it was abandoned."""
        with self._lock:
            number, self._taken = self._taken, 0
            if outcome.taken:
                rejected = min(outcome.rejected, number)
                self._sent += number - rejected
                self._dropped["rejected"] += rejected
            elif not outcome.retryable:
                self._dropped["rejected"] += number
            else:
                self._dropped[UNSENT if self._closed else "gave_up"] += number

    def close(self) -> None:
        """What is put from now on is dropped; what is queued can still be taken, without a wait."""
        with self._lock:
            self._closed = True
            self._ready.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def abandon(self) -> int:
        """Drops what is queued, and what is on its way; how many that were."""
        with self._lock:
            left = len(self._items) + self._taken
            self._dropped[UNSENT] += left
            self._items.clear()
            self._bytes = self._taken = 0
            return left

    def counts(self) -> Counts:
        with self._lock:
            queued = len(self._items) + self._taken
            return Counts(self._put, self._sent, dict(self._dropped), queued)

    def _is_full(self) -> bool:
        return len(self._items) >= self._batch_size or self._bytes >= self._batch_bytes

    def _fitting(self, items: Sequence[Item]) -> tuple[Sequence[Item], int]:
        """As many as there is room for, in bytes, and how many bytes these are."""
        room, size = self._bytes_at_most - self._bytes, 0
        for number, (_, span) in enumerate(items):
            if size + len(span) > room:
                return items[:number], size
            size += len(span)
        return items, size

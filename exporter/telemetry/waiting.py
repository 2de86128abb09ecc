"""What the kernel told of trees that have no name yet: kept in order until they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exporter.kernel.span_events import Record

_MOST = 10_000  # records of all trees together


class Waiting:
    """`is_known`: whether a slot's tree has a name. `most_ns`: how long to wait for one."""

    def __init__(self, is_known: Callable[[int], bool], most_ns: int) -> None:
        self._is_known, self._most_ns = is_known, most_ns
        self._records: dict[int, list[Record]] = {}
        self._since_ns: dict[int, int] = {}
        self._number = 0
        self.lost = 0  # records of which nothing became, so far

    def sift(self, records: Iterator[Record], now_ns: int) -> Iterator[Record]:
        """What can be told of: first what has waited, then of `records` what need not."""
        for slot in [slot for slot in self._records if self._is_known(slot)]:
            yield from self._take(slot)
        for record in records:
            slot = record.slot
            if slot not in self._records and self._is_known(slot):
                yield record
            elif self._number < _MOST:
                self._records.setdefault(slot, []).append(record)
                self._since_ns.setdefault(slot, now_ns)
                self._number += 1
            else:
                self.lost += 1

    def give_up(self, now_ns: int) -> None:
        """On trees that nobody has named in time."""
        for slot, since_ns in list(self._since_ns.items()):
            if now_ns - since_ns > self._most_ns:
                self.lost += len(self._take(slot))

    def _take(self, slot: int) -> list[Record]:
        del self._since_ns[slot]
        records = self._records.pop(slot)
        self._number -= len(records)
        return records

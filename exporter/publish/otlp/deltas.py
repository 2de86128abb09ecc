"""Counters as differences, for backends that want them: since what was last acknowledged.

What was not acknowledged is in the next difference, so a failed export loses nothing, and all
differences of a series add up to its counter. A series that is gone is forgotten: if it comes
again it begins at 0 (see `exporter.model.accounts`), and its time of creation is another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from exporter.publish.digest import Head
from exporter.publish.otlp.histogram import Histogram

#: The metric, the values of its label set, those of its own labels.
Series = tuple[str, Head, tuple[str, ...]]
Number = TypeVar("Number", int | float, Histogram)


class Sent(NamedTuple):
    """What a backend knows of a series once it has taken a request."""

    number: int | float | Histogram
    created_ns: int
    time_ns: int


class Deltas:
    """Not for more than one thread at a time."""

    def __init__(self) -> None:
        self._known: dict[Series, Sent] = {}
        self._seen: dict[Series, Sent] = {}

    def begin(self) -> None:
        """A new reading: all its series follow."""
        self._seen = {}

    def difference(self, series: Series, number: Number, created_ns: int) -> tuple[Number, int]:
        """What has come since, and since when."""
        sent = self._known.get(series)
        if sent is None:
            return number, created_ns
        self._seen[series] = sent
        # That of classes may fall: it is the earliest of their calls'.
        if created_ns <= sent.created_ns:
            since = _minus(number, sent.number)
            if since is not None:
                return since, sent.time_ns
        return number, created_ns

    def end(self) -> None:
        """What was not in the reading is gone."""
        self._known = self._seen

    def acknowledge(self, numbers: Mapping[Series, Sent]) -> None:
        """The backend has these."""
        self._known.update(numbers)


def _minus(number: Number, before: int | float | Histogram) -> Number | None:
    """None where it is less than before: it began anew."""
    if isinstance(number, Histogram):
        return number.minus(before) if isinstance(before, Histogram) else None
    if isinstance(before, Histogram) or number < before:
        return None
    return number - before

"""Durations as an exponential histogram: the kernel's own buckets, empty ends cut off."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import compress
from operator import sub
from typing import NamedTuple

from exporter.publish.buckets import Distribution, plain


class Histogram(NamedTuple):
    """`counts` are those of the kernel's bucket `first` and of the next ones; they sum to `total`.

    Neither the first nor the last of them is 0; of an empty one there are none.
    """

    total: int
    sum_ns: int
    first: int
    counts: Sequence[int]

    def packed(self) -> Histogram:
        """The same in an eighth of the memory."""
        return self._replace(counts=array("Q", self.counts))

    def minus(self, before: Histogram) -> Histogram | None:
        """What has come since; None where something is less than before."""
        lead = before.first - self.first
        lag = len(self.counts) - lead - len(before.counts)
        if not before.counts:
            lead, lag = 0, len(self.counts)
        if lead < 0 or lag < 0 or self.sum_ns < before.sum_ns:
            return None
        earlier = (*(0,) * lead, *before.counts, *(0,) * lag)
        counts = list(map(sub, self.counts, earlier))
        if counts and min(counts) < 0:
            return None
        return _cut(self.total - before.total, self.sum_ns - before.sum_ns, self.first, counts)


def histogram(value: Distribution) -> Histogram:
    return _cut(value.cumulative[-1], value.sum_ns, 0, plain(value.buckets))


def _cut(total: int, sum_ns: int, first: int, counts: Sequence[int]) -> Histogram:
    used = list(compress(range(len(counts)), counts))
    if not used:
        return Histogram(total, sum_ns, 0, ())
    return Histogram(total, sum_ns, first + used[0], counts[used[0] : used[-1] + 1])

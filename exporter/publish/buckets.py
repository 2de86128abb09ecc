"""The durations of a call as a histogram: classic buckets and native ones, from the same numbers.

The kernel's buckets are Prometheus' native ones already; a classic bucket ends where one of them
ends. So both are sums of the same integers, and `+Inf`, `_count` and the buckets cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, compress
from typing import NamedTuple

from exporter.model.histogram import CLASSIC_LOG2, buckets_below, otel_offset, upper_bound
from exporter.model.snapshot import Exemplar

#: Breadth of the zero bucket, which stays empty: client_golang's default, so that histograms of
#: both merge without loss. Above zero it also tells an empty native histogram from a classic one.
ZERO_THRESHOLD = 2.0**-128


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Classic bounds: where in the kernel's buckets they lie and how they are written.

    There is one object for each set of bounds (`bounds_of`), so it is compared by identity.
    """

    les: tuple[str, ...]
    seconds: tuple[float, ...]
    parts: tuple[slice, ...]  # the kernel's buckets between two bounds, and those above the last


class Distribution(NamedTuple):
    """A histogram; `cumulative` has one number per bound and, last, that of all."""

    cumulative: Sequence[int]
    sum_ns: int
    bounds: Bounds
    buckets: Sequence[int]
    scale: int
    exemplars: Mapping[int, Exemplar] = {}  # by the kernel's bucket


def go_float(value: float) -> str:
    """As Prometheus writes the label `le`, whatever the format: Go's %g, with a point or exponent.

    Otherwise one bucket would be two series, depending on the format that was negotiated.
    """
    if not 1e6 <= value < 1e16:
        return repr(value)
    whole, fraction = repr(value).split(".")
    digits = (whole[1:] + fraction).rstrip("0")
    return f"{whole[0]}{'.' if digits else ''}{digits}e+{len(whole) - 1:02d}"


@lru_cache(maxsize=64)
def bounds_of(indexes: tuple[int, ...] | None, scale: int) -> Bounds:
    """The classic bounds at the upper ends of these kernel buckets; None: the default ones."""
    if indexes is None:
        indexes = tuple(buckets_below(log2, scale) - 1 for log2 in CLASSIC_LOG2)
    seconds = tuple(upper_bound(index, scale) for index in indexes)
    cuts = [0, *(index + 1 for index in indexes)]
    parts = (*map(slice, cuts, cuts[1:]), slice(cuts[-1], None))
    return Bounds(tuple(map(go_float, seconds)), seconds, parts)


def distribution(buckets: Sequence[int], sum_ns: int, bounds: Bounds, scale: int) -> Distribution:
    """Each of the kernel's buckets is added up once, here, and nowhere else."""
    numbers = plain(buckets)
    cumulative = list(accumulate([sum(numbers[part]) for part in bounds.parts]))
    return Distribution(cumulative, sum_ns, bounds, buckets, scale)


def native(buckets: Sequence[int], scale: int) -> tuple[list[tuple[int, int]], list[int]]:
    """(spans, deltas) of the positive buckets, as Prometheus counts them.

    A span is (offset to the end of the one before, or the first index; length). Prometheus names
    a bucket by its upper bound, OpenTelemetry by its lower: hence the 1.
    """
    numbers = plain(buckets)
    offsets: list[int] = []
    lengths: list[int] = []
    deltas: list[int] = []
    end = -(otel_offset(scale) + 1)
    before = 0
    for index in compress(range(len(numbers)), numbers):
        if lengths and index == end:
            lengths[-1] += 1
        else:
            offsets.append(index - end)
            lengths.append(1)
        end = index + 1
        deltas.append(numbers[index] - before)
        before = numbers[index]
    return list(zip(offsets, lengths, strict=True)), deltas


def plain(buckets: Sequence[int]) -> Sequence[int]:
    """As a list or tuple, in which slices and sums are several times faster than in the rest."""
    return buckets if isinstance(buckets, list | tuple) else list(buckets)

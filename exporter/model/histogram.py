"""The buckets of the kernel: base-2 exponential, 2**scale to the octave, exact.

Bucket `i` of `bucket_count(scale)` holds the durations in (bound(i - 1), bound(i)], where
bound(i) = 2**((i + 1) / 2**scale - 30) seconds. These are the bounds of OpenTelemetry's
exponential and of Prometheus' native histograms of that scale, so nothing is re-binned on the
way out: OpenTelemetry's index of bucket i is `i + otel_offset(scale)`, Prometheus' is one more
(it names a bucket by its upper bound, OpenTelemetry by its lower).

Source: https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponential-scale
"""

from __future__ import annotations

import math

from exporter.kernel.buckets import MAX_SCALE, OCTAVES, bucket_count

__all__ = [
    "CLASSIC_LOG2", "MAX_SCALE", "MIN_OCTAVE", "OCTAVES", "bucket_count", "buckets_below",
    "index_of", "otel_offset", "upper_bound",
]  # fmt: skip

MIN_OCTAVE = -30  # 2**-30 s < 1 ns; 64 octaves later, 2**34 s > 2**63 ns

#: Upper bounds of the classic buckets, log2 of a second: powers of four, 2**-20 to 2**4.
CLASSIC_LOG2 = tuple(range(-20, 5, 2))


def otel_offset(scale: int) -> int:
    """OpenTelemetry's index of our bucket 0."""
    return MIN_OCTAVE << scale


def upper_bound(index: int, scale: int) -> float:
    """The inclusive upper bound of bucket `index`, in seconds."""
    return math.pow(2.0, (index + 1) / (1 << scale) + MIN_OCTAVE)


def buckets_below(log2_bound: int, scale: int) -> int:
    """How many buckets lie wholly at or below 2**log2_bound seconds."""
    return (log2_bound - MIN_OCTAVE) << scale


def index_of(duration_ns: int, scale: int) -> int:
    """The bucket of a duration, in exact integer arithmetic: the oracle for what the kernel does.

    2**(k/n) seconds is compared by raising both sides to the n-th power: d**n > 10**(9n) * 2**k.
    """
    n = 1 << scale
    power = max(duration_ns, 1) ** n
    unit = 10 ** (9 * n)
    low, high = MIN_OCTAVE * n, (MIN_OCTAVE + OCTAVES) * n
    while low < high:  # the smallest k with d**n <= 10**(9n) * 2**k
        k = (low + high) // 2
        below = power << -k <= unit if k < 0 else power <= unit << k
        low, high = (low, k) if below else (k + 1, high)
    return low - 1 - MIN_OCTAVE * n


def index_of_bound(bound: float, scale: int) -> int:
    """The bucket that ends at `bound`, which must be one of the kernel's, in seconds."""
    return round((math.log2(bound) - MIN_OCTAVE) * (1 << scale)) - 1

"""The kernel's buckets: how many there are, and the bounds as the C program compares them.

What the buckets mean is in exporter/model/histogram.py; how one is found, in bpf/duration.h.
"""

from __future__ import annotations

OCTAVES = 64  # as many as a duration in ns has bits
MAX_SCALE = 3


def bucket_count(scale: int) -> int:
    """How many buckets the kernel keeps at `scale`."""
    return OCTAVES << scale


def shifted_bounds(scale: int) -> list[int]:
    """floor(10**9 * 2**(k / 2**scale)) ns, shifted so that bit 63 is the highest, for each k.

    In integers, by the n-th root: a bound is no fraction but for k = 0, so its floor decides
    every comparison with an integer right.
    """
    n = 1 << scale
    bounds = []
    for k in range(n):
        power = 10 ** (9 * n) << k
        while power < 1 << 63 * n:
            power <<= n
        low, high = 1 << 63, 1 << 64
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**n <= power else (low, middle)
        bounds.append(low)
    return bounds

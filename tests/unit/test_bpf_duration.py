"""bpf/duration.h, compiled on this machine, puts every duration where the exact oracle does."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from exporter.kernel.bcc_source import source_folder
from exporter.kernel.buckets import MAX_SCALE, bucket_count, shifted_bounds
from exporter.model.histogram import index_of, upper_bound

LONGEST = 10**9 << 34
PROGRAM = """
#include <inttypes.h>
#include <stdio.h>
typedef uint32_t u32;
typedef uint64_t u64;
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "duration.h"

int main(void)
{
	u64 ns;

	while (scanf("%" SCNu64, &ns) == 1)
		printf("%u\\n", bucket_of(ns));
	printf("%d\\n", BUCKETS);
	return 0;
}
"""


def compiled(folder: Path, scale: int) -> Path:
    source = folder / f"duration{scale}.c"
    source.write_text(PROGRAM)
    bounds = [f"-DBOUND_{k}={bound}ULL" for k, bound in enumerate(shifted_bounds(scale))]
    binary = source.with_suffix("")
    flags = ["-O1", "-Wall", "-Werror", f"-I{source_folder()}", f"-DSCALE={scale}", *bounds]
    subprocess.run(["gcc", *flags, str(source), "-o", str(binary)], check=True)
    return binary


def largest_below(index: int, scale: int) -> int:
    """The largest duration of a bucket, in whole ns, by search with the oracle."""
    low, high = 0, 1 << 64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if index_of(middle, scale) <= index else (low, middle)
    return low


def durations(scale: int) -> list[int]:
    """Zero, each bound and its neighbours, powers of two, and random ones of every size.

    Up to 2**34 s, where the last bucket ends: 544 years.
    """
    chosen = random.Random(scale)
    bounds = [largest_below(index, scale) for index in range(bucket_count(scale))]
    powers = [1 << bit for bit in range(64)]
    near = {n + d for n in bounds + powers for d in (-1, 0, 1)}
    scattered = {chosen.getrandbits(bits) for bits in range(1, 65) for _ in range(50)}
    return sorted(n for n in near | scattered if 0 <= n <= LONGEST)


@pytest.mark.parametrize("scale", range(MAX_SCALE + 1))
def test_every_duration_is_in_its_bucket(scale: int, tmp_path: Path) -> None:
    """Thousands of durations, all bounds and their neighbours among them, at each scale."""
    numbers = durations(scale)
    assert len(numbers) > 3000
    said = subprocess.run(
        [compiled(tmp_path, scale)], input="\n".join(map(str, numbers)),
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert int(said.pop()) == bucket_count(scale)
    assert [int(word) for word in said] == [index_of(number, scale) for number in numbers]


@pytest.mark.parametrize("scale", range(MAX_SCALE + 1))
def test_the_oracle_agrees_with_floating_point(scale: int) -> None:
    """Away from the bounds, where floats can tell, a duration lies between those of its bucket."""
    for number in durations(scale):
        index = index_of(number, scale)
        assert number / 1e9 <= upper_bound(index, scale) * (1 + 1e-12)
        if number > 1:
            assert number / 1e9 > upper_bound(index - 1, scale) * (1 - 1e-12)


@pytest.mark.parametrize("scale", range(MAX_SCALE + 1))
def test_bounds_are_inclusive(scale: int) -> None:
    """A second is in the bucket that ends at a second; a nanosecond more is in the next."""
    one_second = 30 * (1 << scale) - 1
    assert upper_bound(one_second, scale) == 1
    assert index_of(10**9, scale) == one_second
    assert index_of(10**9 + 1, scale) == one_second + 1

"""The kernel memory of the maps: bounded, worked out beforehand, and kept to the promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.sizes import (
    CALLS_PER_TREE,
    EXTRA_SLOTS,
    MAX_SHARDS,
    plan,
    possible_cpus,
)

TREES = st.integers(1, 4096)
PROCESSES = st.integers(1, 1 << 20)
SCALES = st.integers(0, 3)
CPUS = st.integers(1, 1024)


def test_the_promise_for_64_cpus() -> None:
    """100 trees of 60 calls on 64 CPUs stay under 64 MiB, at the default scale and limit."""
    size = plan(100, 32768, 2, 64)
    assert size.total_bytes() < 64 << 20
    assert size.aggregates >= 100 * 60
    assert CALLS_PER_TREE >= 60


def test_the_default_on_a_small_machine() -> None:
    """64 trees on 2 CPUs take about 32 MiB, with a shard for each CPU."""
    size = plan(64, 32768, 2, 2)
    assert size.total_bytes() < 33 << 20
    assert size.shards == 2


@given(TREES, PROCESSES, SCALES, CPUS)
def test_shards(trees: int, processes: int, scale: int, cpus: int) -> None:
    """A power of two, as the C program masks with it; one at least, and not more than CPUs."""
    shards = plan(trees, processes, scale, cpus).shards
    assert shards & (shards - 1) == 0
    assert 1 <= shards <= min(cpus, MAX_SHARDS)


@given(TREES, PROCESSES, SCALES, CPUS, st.integers(1, 100))
def test_more_needs_no_less(trees: int, processes: int, scale: int, cpus: int, more: int) -> None:
    """More processes, CPUs or trees never take less; with trees, shards may give way."""
    before = plan(trees, processes, scale, cpus)
    assert plan(trees, processes + more, scale, cpus).total_bytes() >= before.total_bytes()
    assert plan(trees, processes, scale, cpus + more).total_bytes() >= before.total_bytes()
    after = plan(trees + more, processes, scale, cpus)
    assert after.slots > before.slots
    assert after.aggregates > before.aggregates
    assert after.shards <= before.shards
    if after.shards == before.shards:
        assert after.total_bytes() > before.total_bytes()


@given(TREES, PROCESSES, SCALES, CPUS)
def test_every_tree_has_room(trees: int, processes: int, scale: int, cpus: int) -> None:
    """Id 0 means none; each tree has a slot, an `other` and its calls besides, and so have those
    beyond the limit, but for the calls."""
    size = plan(trees, processes, scale, cpus)
    assert size.slots == trees + EXTRA_SLOTS
    assert size.aggregates == 1 + trees * (1 + CALLS_PER_TREE) + EXTRA_SLOTS
    assert all(bytes_ > 0 for bytes_ in size.map_bytes().values())
    assert size.total_bytes() == sum(size.map_bytes().values())


def test_what_the_compiler_gets() -> None:
    """Every constant is a number, and is given once."""
    defines = [define.removeprefix("-D").split("=") for define in plan(3, 100, 2, 4).defines()]
    assert len({name for name, _ in defines}) == len(defines)
    assert all(value.isdecimal() for _, value in defines)
    assert dict(defines)["MAX_SLOTS"] == str(3 + EXTRA_SLOTS)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0\n", 1), ("0-1\n", 2), ("0-63\n", 64), ("0,2-5\n", 6), ("0-3,8\n", 9)]
)
def test_possible_cpus(text: str, cpus: int, tmp_path: Path) -> None:
    """Up to the last that may ever come, with gaps."""
    (tmp_path / "devices/system/cpu").mkdir(parents=True)
    (tmp_path / "devices/system/cpu/possible").write_text(text)
    assert possible_cpus(tmp_path) == cpus

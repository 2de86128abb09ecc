"""Reads `syscall_aggregate`: mapped, not copied, and without a system call per entry."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from operator import add

from exporter.kernel.sizes import Sizes
from exporter.kernel.source import Sums


def read(fd: int, sizes: Sizes, ids: Sequence[int]) -> Iterator[Sums]:
    """The sums of each id, in the order given.

    The map is mapped up to the highest id for just this reading: pages of a mapped BPF array count
    as resident.
    """
    if not ids:
        return
    words, shards = sizes.aggregate_bytes // 8, sizes.shards
    length = (max(ids) + 1) * shards * sizes.aggregate_bytes
    with (
        mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ) as mapped,
        memoryview(mapped) as raw,
        raw.cast("Q") as view,
    ):
        for id_ in ids:
            at = id_ * shards * words
            total = view[at : at + words].tolist()
            for shard in range(1, shards):
                begin = at + shard * words
                total = list(map(add, total, view[begin : begin + words].tolist()))
            yield Sums(total[0], total[1], total[2], total[3:])

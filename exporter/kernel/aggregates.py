"""Reads `syscall_aggregate`: mapped, not copied, and without a system call per entry."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence

from exporter.kernel import records
from exporter.kernel.sizes import Sizes
from exporter.kernel.source import Sums


def read(fd: int, sizes: Sizes, ids: Sequence[int]) -> Iterator[Sums]:
    """The sums of each id, in the order given.

    The map is mapped up to the highest id for just this reading: pages of a mapped BPF array count
    as resident.
    """
    if not ids:
        return
    size, shards = sizes.aggregate_bytes, sizes.shards
    layout = records.aggregate_struct(sizes.scale)
    nothing = bytes(size)
    with mmap.mmap(fd, (max(ids) + 1) * shards * size, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        for id_ in ids:
            begin = id_ * shards * size
            parts = [
                part
                for at in range(begin, begin + shards * size, size)
                if (part := mapped[at : at + size]) != nothing
            ] or [nothing]
            # As one long integer each: counters of 64 bits never wrap, so no lane overflows.
            whole = parts[0] if len(parts) == 1 else _sum(parts)
            other_errors, untimed, _, sum_ns, *buckets = layout.unpack(whole)
            yield Sums(untimed, sum_ns, other_errors, buckets)


def _sum(parts: list[bytes]) -> bytes:
    return sum(int.from_bytes(part, "little") for part in parts).to_bytes(len(parts[0]), "little")

"""What goes out as one call, and how it is kept when its tree is gone: in a few bytes.

Of 256 buckets a call uses a dozen, so only those in use are kept, packed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from operator import add
from struct import Struct
from typing import NamedTuple

from exporter.kernel.source import Sums

_BUCKET = Struct("<HQ")  # which, and how many


class Kept(NamedTuple):
    """A total at rest."""

    untimed: int
    sum_ns: int
    size: int  # how many buckets there are
    buckets: bytes  # those in use
    errors: tuple[tuple[str, int], ...]
    homeless: int

    @classmethod
    def without_duration(cls, calls: int, size: int) -> Kept:
        return cls(calls, 0, size, b"", (), 0)

    def as_sums(self) -> Sums:
        buckets = [0] * self.size
        for index, count in _BUCKET.iter_unpack(self.buckets):
            buckets[index] = count
        return Sums(self.untimed, self.sum_ns, 0, buckets)


@dataclass(slots=True)
class Total:
    """All parts of one call of a label set: of its trees, of several ABIs, of trees gone."""

    parts: list[Sums] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    homeless: int = 0  # errors that found no series

    def fail(self, errno: str | None, count: int) -> None:
        """So many of these calls failed; None: there is no series for such errors."""
        if errno is None:
            self.homeless += count
        else:
            self.errors[errno] = self.errors.get(errno, 0) + count

    def add(self, kept: Kept) -> None:
        self.parts.append(kept.as_sums())
        self.homeless += kept.homeless
        for errno, count in kept.errors:
            self.fail(errno, count)

    @property
    def untimed(self) -> int:
        return sum(part.untimed for part in self.parts)

    @property
    def sum_ns(self) -> int:
        return sum(part.sum_ns for part in self.parts)

    @property
    def buckets(self) -> list[int]:
        """Not a copy, where there is one part."""
        buckets = self.parts[0].buckets
        for part in self.parts[1:]:
            buckets = list(map(add, buckets, part.buckets))
        return buckets

    @property
    def count(self) -> int:
        return self.untimed + sum(self.buckets)

    def keep(self) -> Kept:
        buckets = self.buckets
        packed = b"".join(
            [_BUCKET.pack(i, buckets[i]) for i in compress(range(len(buckets)), buckets)]
        )
        errors = tuple(self.errors.items())
        return Kept(self.untimed, self.sum_ns, len(buckets), packed, errors, self.homeless)

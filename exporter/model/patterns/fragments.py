"""A tree's positions: which come first, which last, and which follow which."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from exporter.model.patterns.charset import Charset
from exporter.model.patterns.tree import Chars, Choice, Repeat, Sequence, Tree

#: Copies that repetitions make are counted too: a few characters can mean billions of them.
MAX_PARTS = 2048


class TooManyParts(Exception):
    """A pattern that is too long with repetitions written out; `at` is where the outermost is."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Fragment(NamedTuple):
    """A part of a pattern. `empty`: whether it matches the empty text."""

    first: int
    last: int
    empty: bool


_EMPTY = Fragment(0, 0, True)


class Fragments:
    """The positions of one pattern, as sets of bits."""

    def __init__(self) -> None:
        self.follow: list[int] = []
        self.charsets: dict[Charset, int] = {}
        self._parts = 0

    def of(self, tree: Tree) -> Fragment:
        """Add the tree's positions. Raise TooManyParts."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise TooManyParts(0)  # the repetition knows better: no text is so long
        match tree:
            case Chars(charset):
                here = 1 << len(self.follow)
                self.follow.append(0)
                self.charsets[charset] = self.charsets.get(charset, 0) | here
                return Fragment(here, here, False)
            case Sequence(parts):
                whole = _EMPTY
                for part in parts:
                    whole = self._then(whole, self.of(part))
                return whole
            case Choice(parts):
                ways = [self.of(part) for part in parts]
                return Fragment(
                    sum(way.first for way in ways),
                    sum(way.last for way in ways),
                    any(way.empty for way in ways),
                )
            case Repeat():
                return self._repeat(tree)

    def _then(self, left: Fragment, right: Fragment) -> Fragment:
        self._link(left.last, right.first)
        return Fragment(
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
            left.empty and right.empty,
        )

    def _link(self, lasts: int, firsts: int) -> None:
        while lasts:
            lowest = lasts & -lasts
            self.follow[lowest.bit_length() - 1] |= firsts
            lasts ^= lowest

    def _repeat(self, tree: Repeat) -> Fragment:
        """Copies in a row, each of which from `least` on can be the last one.

        What matches the empty text can be left out of any copy, so there `least` is 0: no copy has
        to be jumped over, and each is followed by the next one only.
        """
        copies = max(tree.least, 1) if tree.most is None else tree.most
        try:
            chain = [self.of(tree.part) for _ in range(copies)]
        except TooManyParts:
            raise TooManyParts(tree.at) from None
        if not chain:
            return _EMPTY
        for copy, following in pairwise(chain):
            self._link(copy.last, following.first)
        if tree.most is None:
            self._link(chain[-1].last, chain[-1].first)
        least = 0 if chain[0].empty else tree.least
        last = 0
        for copy in chain[max(least, 1) - 1 :]:
            last |= copy.last
        return Fragment(chain[0].first, last, least == 0)

"""The places in all patterns together where the next character can stand.

A position is one place of a pattern with its set of characters. Sets of positions are the bits of
an int. Each pattern's last position is its end, which matches no character. Source: V. M. Glushkov,
"The abstract theory of automata", 1961; with bits in parallel: G. Navarro and M. Raffinot,
"Flexible Pattern Matching in Strings", 2002, chapter 5.

After most positions comes the next one, or that and the same again (`loops`): these are moved all
at once, by a shift. Only the others have an entry in `jumps`.
"""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model.patterns.charset import ANY, Charset
from exporter.model.patterns.fragments import Fragments
from exporter.model.patterns.tree import Tree

#: No positions are here: room for the bits that patterns set.
BITS = 2**64 - 1


def members(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Positions:
    """The positions of as many patterns as are added."""

    def __init__(self) -> None:
        self.start = 0  # which can be the first
        self.charsets: dict[Charset, int] = {}  # which positions have this set
        self.loops = 0
        self.jumps: dict[int, int] = {}
        self.jumped = 0  # the positions that have an entry there
        self.ends = 0
        self.bits: dict[int, int] = {}  # of an end, the bit that its pattern sets, as a mask
        self.tails: dict[int, int] = {}  # of an end, the positions from which all matches
        self._size = BITS.bit_length()

    def add(self, tree: Tree, bit: int) -> None:
        """Add a pattern that sets this bit. Raise TooManyParts."""
        parts = Fragments()
        whole = parts.of(tree)
        end = len(parts.follow)
        for last in members(whole.last):
            parts.follow[last] |= 1 << end
        base = self._size
        self._size += end + 1
        self.start |= (whole.first | (whole.empty << end)) << base
        for charset, mask in parts.charsets.items():
            self.charsets[charset] = self.charsets.get(charset, 0) | mask << base
        self._add_follow(parts.follow, base)
        self.ends |= 1 << base + end
        self.bits[base + end] = 1 << bit
        self.tails[base + end] = _tail(parts, end) << base

    def _add_follow(self, follow: list[int], base: int) -> None:
        loops = jumped = 0
        for position, mask in enumerate(follow):
            here = 1 << position
            if mask & ~here != here << 1:
                self.jumps[base + position] = mask << base
                jumped |= here
            else:
                loops |= mask & here
        self.loops |= loops << base
        self.jumped |= jumped << base


def _tail(parts: Fragments, end: int) -> int:
    """The positions that match anything, any number of times, up to the end of the pattern."""
    tail = 0
    for position in members(parts.charsets.get(ANY, 0)):
        wanted = 1 << position | 1 << end
        if parts.follow[position] & wanted == wanted:
            tail |= 1 << position
    return tail

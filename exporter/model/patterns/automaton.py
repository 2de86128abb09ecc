"""The table of states, as the kernel has it too, and how it is run over a text."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """One state.

    `passes`: the bits of patterns that have matched once this state is reached, whatever follows;
    `ends`: those that match a text that ends here; `next`: for each byte, the next state.
    """

    passes: int
    ends: int
    next: array[int]


class Automaton:
    """States as rows: 0 is dead, 1 the start. Without any patterns, no rows."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = tuple(rows)
        # As the loop wants them: looking up a row's fields would double its time.
        self._next = [row.next for row in self.rows]
        self._passes = [row.passes for row in self.rows]

    def run(self, text: bytes) -> int:
        """The bits of all patterns that match; the kernel runs exactly this."""
        if not self.rows:
            return 0
        following, passes = self._next, self._passes
        state = 1
        bits = passes[1]
        for byte in text:
            state = following[state][byte]
            if not state:
                return bits
            bits |= passes[state]
        return bits | self.rows[state].ends

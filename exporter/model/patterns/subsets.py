"""The states: which sets of positions can be reached, byte by byte.

A state is what is known after some bytes: the positions where the next character can stand, the
beginning of a character that is not complete yet, and the bits that are set on the way in.

A pattern that has matched and ends in "anything" sets its bit and is forgotten: a state does not
remember which patterns have matched, or twenty `*word*` would make 2 ** 20 of them. Its positions
before that tail stay, because forgetting them would be remembering, too.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from exporter.model.patterns.alphabet import Alphabet
from exporter.model.patterns.automaton import Row
from exporter.model.patterns.positions import BITS, Positions, members
from exporter.model.patterns.utf8 import CONTINUATIONS, Node, Utf8


class TooManyStates(Exception):
    """More than the limit."""


class _State(NamedTuple):
    """`positions` has in its lowest bits, `BITS`, those of the patterns that can end here."""

    positions: int
    passes: int
    begun: Node | None = None


_DEAD = _State(0, 0)


class Subsets:
    """All states that can be reached from the start."""

    def __init__(self, positions: Positions, max_states: int) -> None:
        self._positions = positions
        self._max_states = max_states
        self._alphabet = Alphabet(positions.charsets)
        self._utf8 = Utf8(self._alphabet)
        self._steps: dict[int, _State] = {}

    def rows(self) -> list[Row]:
        """The dead state, the start, and what follows. Raise TooManyStates."""
        start = self._settle(self._positions.start)
        numbers = {_DEAD: 0, start: 1}
        states = [_DEAD, start]
        columns = self._utf8.columns()
        samples = sorted(set(columns))
        rows = []
        for state in states:  # which grows meanwhile
            ways = {}
            for byte, way in zip(samples, self._ways(state, samples), strict=True):
                number = numbers.setdefault(way, len(states))
                if number == len(states):
                    if number >= self._max_states:
                        raise TooManyStates
                    states.append(way)
                ways[byte] = number
            following = array("H", map(ways.__getitem__, columns))
            rows.append(Row(state.passes, self._ends(state), following))
        return rows

    def _ways(self, state: _State, samples: list[int]) -> list[_State]:
        """The states to which these bytes lead."""
        begun = state.begun
        fresh = self._give_up(state)
        labels, class_of = self._alphabet.labels, self._alphabet.of
        ways = []
        for byte in samples:
            if begun and byte in CONTINUATIONS:
                child = begun.next[byte - CONTINUATIONS.start]
                if isinstance(child, Node):
                    ways.append(self._begin(state.positions, child))
                    continue
                if child is not None:
                    ways.append(self._step(state.positions & labels[child]))
                    continue
            if byte < 0x80:
                way = self._step(fresh.positions & labels[class_of(byte)])
            elif lead := self._utf8.leads[byte]:
                way = self._begin(fresh.positions, lead)
            else:
                way = self._step(fresh.positions & self._alphabet.lone_bytes)
            if fresh.passes:
                way = way._replace(passes=way.passes | fresh.passes)
            ways.append(way)
        return ways

    def _give_up(self, state: _State) -> _State:
        """What the state is if the character that has begun does not go on: lone bytes.

        Its bits are only those that were set by them.
        """
        positions, passes = state.positions, 0
        for _ in range(state.begun.size if state.begun else 0):
            positions, more, _ = self._step(positions & self._alphabet.lone_bytes)
            passes |= more
        return _State(positions, passes)

    def _ends(self, state: _State) -> int:
        """The bits of the patterns that match if the text ends here."""
        final = self._give_up(state)
        return final.passes | final.positions & BITS

    def _begin(self, positions: int, begun: Node) -> _State:
        """A character begins, or goes on.

        Mostly all that it can become leads to one state, in which lone bytes change nothing: it can
        be entered at once. Else what cannot match is left out, so that equal states are equal.
        """
        if not positions & (begun.reach ^ begun.sure):
            after = self._step(positions & begun.sure)
            again = self._step(after.positions & self._alphabet.lone_bytes)
            if again.positions == after.positions and not again.passes & ~after.passes:
                return after
        return _State(positions & begun.reach, 0, begun)

    def _step(self, matched: int) -> _State:
        """The state after a character that these positions match."""
        state = self._steps.get(matched)
        if state is None:
            table = self._positions
            positions = (matched & ~table.jumped) << 1 | matched & table.loops
            for jump in members(matched & table.jumped):
                positions |= table.jumps[jump]
            state = self._steps[matched] = self._settle(positions)
        return state

    def _settle(self, positions: int) -> _State:
        """Put bits in the place of ends; forget the tails of patterns that match whatever comes."""
        table = self._positions
        passes = ends = 0
        for end in members(positions & table.ends):
            tail = table.tails[end]
            if positions & tail:
                passes |= table.bits[end]
                positions &= ~tail
            else:
                ends |= table.bits[end]
        return _State(positions & ~table.ends | ends, passes)

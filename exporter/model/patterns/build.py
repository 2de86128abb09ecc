"""Patterns to an automaton, within a limit of states."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.model.patterns import glob, regex
from exporter.model.patterns.automaton import Automaton
from exporter.model.patterns.error import PatternError
from exporter.model.patterns.fragments import MAX_PARTS, TooManyParts
from exporter.model.patterns.positions import Positions
from exporter.model.patterns.subsets import Subsets, TooManyStates
from exporter.model.patterns.tree import Tree
from exporter.model.target import Pattern

#: For one pattern alone.
MAX_STATES = 2048

_Parsed = list[tuple[Pattern, Tree, int]]


def check(pattern: Pattern, path: bool = False) -> None:
    """Raise PatternError if the pattern cannot be meant, or is too complex by itself."""
    build([(pattern, 0)], MAX_STATES, path)


def build(
    patterns: Sequence[tuple[Pattern, int]], max_states: int, path: bool = False
) -> Automaton:
    """The automaton that sets, for each pattern that matches, the bit of this number, 0 to 63.

    With `path`, globs are of paths: only `**` matches a slash. `max_states`, 65536 at most,
    counts all rows. Raise PatternError.
    """
    parsed: _Parsed = []
    for pattern, bit in patterns:
        tree = regex.parse(pattern) if pattern.regex else glob.parse(pattern, path)
        parsed.append((pattern, tree, bit))
    if not parsed:
        return Automaton()
    try:
        return _automaton(parsed, max_states)
    except TooManyStates:
        raise _too_many(parsed, max_states) from None


def _automaton(parsed: _Parsed, max_states: int) -> Automaton:
    positions = Positions()
    for pattern, tree, bit in parsed:
        try:
            positions.add(tree, bit)
        except TooManyParts as error:
            raise PatternError(
                pattern,
                error.at + 1,
                f"expected at most {MAX_PARTS} parts with all repetitions written out, found more",
                "repeat less",
            ) from None
    return Automaton(Subsets(positions, max_states).rows())


def _too_many(parsed: _Parsed, max_states: int) -> PatternError:
    """Find the pattern without which those before it still have room."""
    fits, fails = 0, len(parsed)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        try:
            _automaton(parsed[:middle], max_states)
            fits = middle
        except TooManyStates:
            fails = middle
    before = f", with the {fits} before it" if fits else ""
    return PatternError(
        parsed[fits][0],
        None,
        f"expected at most {max_states} states{before}, found more",
        "use fewer wildcards between other text, and repeat less",
    )

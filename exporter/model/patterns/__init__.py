"""Globs and regular expressions as one automaton, which Python and the kernel run alike.

    glob.py, regex.py   text to a tree (`tree.py`); a `PatternError` says what is wrong, and where
    positions.py        trees to positions: what may be the next character (Glushkov)
    alphabet.py         characters that no pattern tells apart are one class
    utf8.py             how bytes become characters
    subsets.py          sets of positions, byte by byte, are the states
    automaton.py        the table of states, and how it is run

Every pattern is compared with the whole text, in time linear in its length, whatever the pattern:
what could not be done so (backreferences, lookaround) does not exist here.

Patterns are characters and texts are bytes. What is not UTF-8 counts as Python's `surrogateescape`
reads it: each such byte is a character of its own, which `?`, `.` and negated classes match.
"""

from exporter.model.patterns.automaton import Automaton, Row
from exporter.model.patterns.build import build, check
from exporter.model.patterns.error import PatternError

__all__ = ["Automaton", "PatternError", "Row", "build", "check"]

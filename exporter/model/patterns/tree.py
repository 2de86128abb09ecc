"""What globs and regular expressions have in common: the tree of a pattern."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.model.patterns.charset import Charset, single


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    charset: Charset


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; without any, the empty text."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` times; without `most`, any number. `at` is its place in a regex."""

    part: Tree
    least: int
    most: int | None
    at: int = 0


Tree = Chars | Sequence | Choice | Repeat


def literal(character: str) -> Chars:
    return Chars(single(character))

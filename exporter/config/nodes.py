"""A YAML document as a tree of values that know where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from exporter.config.scalar import Value

_LONGEST_QUOTE = 60


class At(NamedTuple):
    """A place in the file, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. `text` is what was written, `value` what it means, by YAML 1.2."""

    at: At
    text: str
    plain: bool
    value: Value


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    at: At
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping. No key stands in it twice."""

    at: At
    pairs: tuple[tuple[Scalar, Node], ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Something already reported, of which nothing more is to be said."""

    at: At


Node = Scalar | Items | Entries | Refused


def quote(text: str) -> str:
    """Text of a file as it may stand in a message: on one line, printable, not too long."""
    short = _shorten(text)
    return f"'{short}'" if short.isprintable() else ascii(short)


def describe(node: Node) -> str:
    """What was found, for a message."""
    match node:
        case Items(nodes=()):
            return "an empty list"
        case Items():
            return "a list"
        case Entries():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=str()):
            return f"the text {quote(node.text)}"
        case Scalar(value=bool()):
            return node.text
        case Scalar():
            return f"the number {_shorten(node.text)}"
        case Refused():
            return "what was refused"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"

"""Rows of the result, and how they look in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `value` is None where it could not be measured; the note says why."""

    part: str
    what: str
    value: float | None
    unit: str
    ratio: float | None = None  # to the empty pair
    note: str = ""
    key: str = ""  # by which a goal finds it


def number(value: float | None) -> str:
    """Three or four digits that matter."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; the head gives the columns."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def results(rows: Iterable[Row]) -> str:
    """The one table of all figures."""
    head = ("part", "what", "figure", "× empty pair", "note")
    return markdown(head, [
        (
            row.part,
            row.what,
            f"{number(row.value)} {row.unit}" if row.value is not None else "cannot run",
            number(row.ratio) if row.ratio is not None else "",
            row.note.replace("|", "/"),
        )
        for row in rows
    ])  # fmt: skip

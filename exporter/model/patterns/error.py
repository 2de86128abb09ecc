"""What is wrong with a pattern, where, and how to mend it."""

from __future__ import annotations

from exporter.model.target import Pattern

_SHOWN = 60  # characters of a pattern that a message shows


class PatternError(ValueError):
    """A pattern that cannot be meant, or that needs too many states.

    `position` counts characters from 1; None where the pattern as a whole is meant.
    """

    def __init__(self, pattern: Pattern, position: int | None, wrong: str, mend: str) -> None:
        self.pattern = pattern
        self.position = position
        kind = "regular expression" if pattern.regex else "glob"
        where = "" if position is None else f", character {position}"
        super().__init__(f"{kind} {shown(pattern.text)}{where}: {wrong}; {mend}")


def shown(text: str) -> str:
    """The text in quotes, on one line, without its end where it is long."""
    visible = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text[:_SHOWN]
    )
    return f"'{visible}'" if len(text) <= _SHOWN >= len(visible) else f"'{visible[:_SHOWN]}…'"

"""A pattern's text, read from left to right."""

from __future__ import annotations

from exporter.model.patterns.error import PatternError
from exporter.model.target import Pattern

MAX_CHARACTERS = 1024


class Scanner:
    """Where we are in the text of a pattern, and how to complain about it."""

    def __init__(self, pattern: Pattern) -> None:
        """Raise PatternError for text that cannot be a pattern at all."""
        self.pattern = pattern
        self.text = pattern.text
        self.at = 0
        if len(self.text) > MAX_CHARACTERS:
            wrong = f"expected at most {MAX_CHARACTERS} characters, found {len(self.text)}"
            raise self.error(wrong, "shorten it", MAX_CHARACTERS)
        for at, character in enumerate(self.text):
            if character == "\0" or "\ud800" <= character <= "\udfff":
                wrong = f"U+{ord(character):04X} is in no text of the kernel's"
                raise self.error(wrong, "leave it out", at)

    @property
    def next(self) -> str:
        """The next character; "" at the end."""
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        character = self.next
        self.at += 1
        return character

    def accept(self, text: str) -> bool:
        """Go beyond `text`, if it comes next."""
        found = self.text.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    def error(self, wrong: str, mend: str, at: int | None = None) -> PatternError:
        """The error to raise, about the character at `at`, which counts from 0, or the next one."""
        return PatternError(self.pattern, (self.at if at is None else at) + 1, wrong, mend)

"""The variables OTEL_*, read as the specification has them, but for one thing: what cannot be meant
is refused, as in the config file, where an SDK would warn and go on with its default.

Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from exporter.errors import UsageError

#: The specification's of integers, and so of milliseconds.
MAX_INTEGER = 2**31 - 1

Word = TypeVar("Word", bound=str)

_MS = 1_000_000
_LONGEST_QUOTE = 60
_NOT_ENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Variable(NamedTuple):
    """A variable that is set, less blanks around its value, and not empty."""

    name: str
    value: str

    def refused(self, expected: str, found: str = "", mend: str = "") -> UsageError:
        """To be raised. `found` stands in for a value that may be a secret."""
        end = f"; {mend}" if mend else ""
        return UsageError(f"{self.name}: expected {expected}, found {found or self.quoted}{end}")

    @property
    def quoted(self) -> str:
        return ascii(self.value[:_LONGEST_QUOTE])

    @property
    def is_utf8(self) -> bool:
        """Python has other bytes of the environment as surrogates."""
        return not re.search("[\ud800-\udfff]", self.value)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """A list key1=value1,key2=value2, percent-encoded. Of equal keys the last one holds.

        No message has a value in it. Source: https://www.w3.org/TR/baggage/#header-content
        """
        found: dict[str, str] = {}
        if not self.is_utf8:
            raise self.refused("UTF-8, percent-encoded", "other bytes")
        for number, entry in enumerate(self.value.split(","), start=1):
            key, equals, text = (part.strip() for part in entry.partition("="))
            if entry.strip() and not (key and equals):
                raise self.refused("a list such as a=b,c=d", f"no '=' in the {number}. entry")
            if entry.strip():
                key = self._decoded(key, number)
                found.pop(key, None)
                found[key] = self._decoded(text, number)
        return tuple(found.items())

    def _decoded(self, text: str, number: int) -> str:
        where = f"in the {number}. entry"
        if _NOT_ENCODED.search(text):
            raise self.refused("percent-encoded text", f"a bare '%' {where}", "write %25")
        try:
            return unquote(text, errors="strict")
        except UnicodeDecodeError:
            raise self.refused("UTF-8, percent-encoded", f"other bytes {where}") from None


class Environment:
    """What is not set, or empty, is None; of several names the first that is set counts.

    Raises UsageError for what cannot be meant.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.warnings: list[str] = []

    def variable(self, *names: str) -> Variable | None:
        for name in names:
            if value := self._variables.get(name, "").strip():
                return Variable(name, value)
        return None

    def text(self, name: str) -> str | None:
        found = self.variable(name)
        if found and not found.is_utf8:
            raise found.refused("UTF-8")
        return found.value if found else None

    def flag(self, *names: str) -> bool:
        """Only "true" is true; what else is not "false" is false with a warning."""
        found = self.variable(*names)
        value = found.value.lower() if found else "false"
        if found and value not in ("true", "false"):
            told = f"{found.name}: expected true or false, found {found.quoted}"
            self.warnings.append(f"{told}: it is false, by the specification")
        return value == "true"

    def choice(self, words: Sequence[Word], *names: str) -> Word | None:
        """One of these words, which are in lower case; in whichever case it is written."""
        found = self.variable(*names)
        if not found:
            return None
        for word in words:
            if word == found.value.lower():
                return word
        raise found.refused(f"one of {', '.join(words)}")

    def number(self, *names: str, least: int, noun: str = "a whole number") -> int | None:
        found = self.variable(*names)
        if not found:
            return None
        number = int(found.value) if re.fullmatch("[0-9]{1,10}", found.value) else -1
        if not least <= number <= MAX_INTEGER:
            raise found.refused(f"{noun} from {least} to {MAX_INTEGER}")
        return number

    def duration_ns(self, *names: str, least_ns: int = 0) -> int | None:
        """Whole milliseconds, as ns."""
        noun = "a whole number of milliseconds"
        milliseconds = self.number(*names, least=least_ns // _MS, noun=noun)
        return None if milliseconds is None else milliseconds * _MS

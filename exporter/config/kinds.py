"""What the value of a key may be: how it is read from the file, how JSON Schema says the same.

`read` reports what is wrong and returns None then, so that reading can go on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from exporter.config.nodes import Items, Node, Scalar
from exporter.config.report import Report
from exporter.config.scalar import resolve
from exporter.config.suggest import did_you_mean

#: C0, DEL and C1, surrogates, line separators: nothing that a label or a log line may hold.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
MAX_NAME = 200


class Kind(Protocol):
    def read(self, key: str, node: Node, report: Report) -> Any | None: ...

    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    def read(self, key: str, node: Node, report: Report) -> bool | None:
        match node:
            case Scalar(value=bool() as value):
                return value
        report.unexpected(key, node, "true or false", unquoted(node, bool))
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Always:
    """A key that says all by being there: only `true` can be meant."""

    def read(self, key: str, node: Node, report: Report) -> bool | None:
        if isinstance(node, Scalar) and node.value is True:
            return True
        report.unexpected(key, node, "true", unquoted(node, bool) or "leave the key out")
        return None

    def schema(self) -> dict[str, Any]:
        return {"const": True}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int
    noun: str = "a whole number"

    @property
    def expected(self) -> str:
        return f"{self.noun} from {self.low} to {self.high}"

    def read(self, key: str, node: Node, report: Report) -> int | None:
        match node:
            case Scalar(value=bool()):
                pass
            case Scalar(value=int() as value) if self.low <= value <= self.high:
                return value
        report.unexpected(key, node, self.expected, mend_number(node))
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, key: str, node: Node, report: Report) -> str | None:
        match node:
            case Scalar(value=str() as value) if value in self.words:
                return value
            case Scalar(value=str() as value):
                mend = did_you_mean(value, self.words)
            case _:
                mend = ""
        report.unexpected(key, node, f"one of {', '.join(self.words)}", mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class FlagOr:
    """true, false, or one more word."""

    word: str

    def read(self, key: str, node: Node, report: Report) -> bool | str | None:
        if isinstance(node, Scalar) and (isinstance(node.value, bool) or node.value == self.word):
            return self.word if node.value == self.word else node.value is True
        mend = did_you_mean(node.text, (self.word,)) if isinstance(node, Scalar) else ""
        report.unexpected(key, node, f"true, false or {self.word}", unquoted(node, bool) or mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"enum": [True, False, self.word]}


@dataclass(frozen=True, slots=True)
class Name:
    """Text of one line, such as the value of a label."""

    longest: int = MAX_NAME

    def read(self, key: str, node: Node, report: Report) -> str | None:
        match node:
            case Scalar(value=str() as value) if not value.strip():
                report.unexpected(key, node, "text that is not blank", "leave the key out")
            case Scalar(value=str() as value) if CONTROL.search(value):
                report.unexpected(key, node, "text without control characters", "remove them")
            case Scalar(value=str() as value) if len(value) > self.longest:
                expected = f"at most {self.longest} characters"
                report.error(node.at, f"{key}: expected {expected}, found {len(value)}; shorten it")
            case Scalar(value=str() as value):
                return value
            case Scalar(value=value) if value is not None:
                report.unexpected(key, node, "text", f"quote it: '{node.text}'")
            case _:
                report.unexpected(key, node, "text")
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": self.longest, "pattern": r"\S"}


@dataclass(frozen=True, slots=True)
class TargetList:
    """A list of targets; its items are read one by one, by targets.py."""

    expected = "a list of targets"

    def read(self, key: str, node: Node, report: Report) -> tuple[Node, ...] | None:
        match node:
            case Items(nodes=nodes) if nodes:
                return nodes
            case Items():
                mend = "name a PID, a cgroup or 'all: true'"
            case Scalar(value=int() | str()) if not isinstance(node.value, bool):
                mend = "put it into brackets: [ ]"
            case _:
                mend = ""
        report.unexpected(key, node, self.expected, mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/$defs/targets"}


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping whose keys stand in the catalog under `name`; it is read by section.py.

    Where it is not written, it is read as an empty one, or with `optional` as None.
    """

    name: str
    optional: bool = False

    def read(self, key: str, node: Node, report: Report) -> None:
        report.unexpected(key, node, "a mapping", "give it keys or remove it")

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True, slots=True)
class Sections:
    """Such a mapping, or a list of them; read by section.py as a tuple."""

    name: str

    def read(self, key: str, node: Node, report: Report) -> None:
        report.unexpected(key, node, "a mapping or a list of mappings", "give it keys or remove it")

    def schema(self) -> dict[str, Any]:
        ref = {"$ref": f"#/$defs/{self.name}"}
        return {"anyOf": [ref, {"type": "array", "items": ref, "minItems": 1}]}


def unquoted(node: Node, *wanted: type) -> str:
    """The mend for a number or bool in quotes."""
    if isinstance(node, Scalar) and not node.plain and type(resolve(node.text)) in wanted:
        return "write it without quotes"
    return ""


def mend_number(node: Node) -> str:
    """The mend for text that was meant as a number."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    bare = node.text.replace("_", "").lstrip("0")
    if bare != node.text and node.plain and bare.isascii() and bare.isdigit() and len(bare) < 20:
        return f"write {bare}"
    return unquoted(node, int, float)

"""Lists: of words out of a few, of one kind of value; and where one value does for a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exporter.config.kinds import Choice, Kind
from exporter.config.nodes import At, Items, Node, Scalar, quote
from exporter.config.report import Report

#: Of one list; looking at each pattern takes time, and thousands cannot fit into the kernel.
MAX_VALUES = 256


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """A value, or a list of values, any of which will do. `shorten`: how a list gets shorter."""

    item: Kind
    shorten: str = "write patterns that match several"

    def read(self, key: str, node: Node, report: Report) -> tuple[Any, ...] | None:
        if isinstance(node, Items) and not node.nodes:
            report.unexpected(key, node, "a value or a list of values", "leave the key out")
            return None
        nodes = node.nodes if isinstance(node, Items) else (node,)
        if len(nodes) > MAX_VALUES:
            report.error(
                nodes[MAX_VALUES].at,
                f"{key}: expected at most {MAX_VALUES} values, found {len(nodes)}; {self.shorten}",
            )
            return None
        read = [self.item.read(key, item, report) for item in nodes]
        return tuple(value for value in read if value is not None)

    def schema(self) -> dict[str, Any]:
        item = self.item.schema()
        return {
            "anyOf": [item, {"type": "array", "items": item, "minItems": 1, "maxItems": MAX_VALUES}]
        }


@dataclass(frozen=True, slots=True)
class Distinct:
    """A list of texts, none of them twice, and where each stands. It may be empty."""

    item: Kind

    def read(self, key: str, node: Node, report: Report) -> dict[str, At] | None:
        if not isinstance(node, Items):
            plain = isinstance(node, Scalar) and isinstance(node.value, str)
            report.unexpected(key, node, "a list", "put it into brackets: [ ]" if plain else "")
            return None
        seen: dict[str, At] = {}
        for item in node.nodes:
            text = self.item.read(key, item, report)
            if text in seen:
                report.error(item.at, f"{key}: {quote(text)} is listed twice; remove one of them")
            elif text is not None:
                seen[text] = item.at
        return seen

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema(), "uniqueItems": True}


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words, bare or as the only item of a list."""

    words: tuple[str, ...]

    def read(self, key: str, node: Node, report: Report) -> str | None:
        match node:
            case Items(nodes=(item,)):
                return Choice(self.words).read(key, item, report)
            case Items(nodes=(_, second, *_)):
                found = f"expected one of {', '.join(self.words)}, found several"
                report.error(second.at, f"{key}: {found}; choose one")
                return None
        return Choice(self.words).read(key, node, report)

    def schema(self) -> dict[str, Any]:
        word = {"enum": list(self.words)}
        return {"anyOf": [word, {"type": "array", "items": word, "minItems": 1, "maxItems": 1}]}

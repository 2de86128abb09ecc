"""A length of time as Prometheus writes it: 5m, 1h30m, 500ms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from exporter.config.nodes import Node, Scalar
from exporter.config.report import Report

_UNITS_NS = {
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
}
# No duration of a config has ten digits in one unit; CPython refuses to read those of 4300.
_PATTERN = "^(?=[0-9])" + "".join(f"([0-9]{{1,9}}{unit})?" for unit in _UNITS_NS) + "$"
_PART = re.compile(r"([0-9]+)([a-z]+)")


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration from 0 to `longest`, read as nanoseconds. Each unit at most once, largest first.

    Source: https://prometheus.io/docs/prometheus/latest/configuration/configuration/
    """

    longest: str

    def read(self, key: str, node: Node, report: Report) -> int | None:
        expected, mend = "a duration such as 1h30m, 5m or 500ms", ""
        match node:
            case Scalar(value=bool()):
                pass
            case Scalar(value=int() as value) if value >= 0:
                mend = f"add a unit: {node.text}s, or {node.text}m if minutes are meant"
            case Scalar(value=int() | float()):
                mend = "write whole numbers with a unit"
            case Scalar(value=str() as text) if re.fullmatch(_PATTERN, text):
                if (ns := _nanoseconds(text)) <= _nanoseconds(self.longest):
                    return ns
                expected = f"at most {self.longest}"
            case Scalar(value=str()):
                mend = "write whole numbers with d, h, m, s or ms, the largest unit first"
        report.unexpected(key, node, expected, mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": _PATTERN}


def _nanoseconds(text: str) -> int:
    return sum(int(number) * _UNITS_NS[unit] for number, unit in _PART.findall(text))

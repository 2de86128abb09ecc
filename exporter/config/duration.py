"""A length of time as Prometheus writes it: 5m, 1h30m, 500ms; of calls also 500us."""

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
    "us": 1_000,
}
_PART = re.compile(r"([0-9]+)([a-z]+)")


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration from `least` to `longest`, read as nanoseconds. Each unit at most once, largest
    first; microseconds only with `fine`.

    Source: https://prometheus.io/docs/prometheus/latest/configuration/configuration/
    """

    longest: str
    least: str = "0s"
    fine: bool = False

    def read(self, key: str, node: Node, report: Report) -> int | None:
        such = "1s, 10ms or 500us" if self.fine else "1h30m, 5m or 500ms"
        expected, mend = f"a duration such as {such}", ""
        match node:
            case Scalar(value=bool()):
                pass
            case Scalar(value=int() as value) if value >= 0:
                other = "ms if milliseconds" if self.fine else "m if minutes"
                mend = f"add a unit: {node.text}s, or {node.text}{other} are meant"
            case Scalar(value=int() | float()):
                mend = "write whole numbers with a unit"
            case Scalar(value=str() as text) if re.fullmatch(self._pattern, text):
                ns, longest = _nanoseconds(text), _nanoseconds(self.longest)
                if _nanoseconds(self.least) <= ns <= longest:
                    return ns
                expected = f"at most {self.longest}" if ns > longest else f"at least {self.least}"
            case Scalar(value=str()):
                units = "d, h, m, s, ms or us" if self.fine else "d, h, m, s or ms"
                mend = f"write whole numbers with {units}, the largest unit first"
        report.unexpected(key, node, expected, mend)
        return None

    def schema(self) -> dict[str, Any]:
        above_zero = "(?=.*[1-9])" if _nanoseconds(self.least) else ""
        return {"type": "string", "pattern": f"^{above_zero}{self._pattern[1:]}"}

    @property
    def _pattern(self) -> str:
        # No duration of a config has ten digits in one unit; CPython refuses to read those of 4300.
        units = [unit for unit in _UNITS_NS if self.fine or unit != "us"]
        return "^(?=[0-9])" + "".join(f"([0-9]{{1,9}}{unit})?" for unit in units) + "$"


def _nanoseconds(text: str) -> int:
    return sum(int(number) * _UNITS_NS[unit] for number, unit in _PART.findall(text))

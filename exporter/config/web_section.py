"""One mapping of a web config as it was read: its values, and where to say what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exporter.config.nodes import At
from exporter.config.report import Report
from exporter.config.web_values import Found


@dataclass(frozen=True, slots=True)
class Section:
    """`name` is the key that it stands under, at `at`."""

    name: str
    found: Mapping[str, Found]
    at: At
    report: Report

    def value(self, key: str) -> Any:
        """None where it is not written, empty, or was refused."""
        return self.found[key].value if key in self.found else None

    def error(self, key: str, message: str) -> None:
        self.report.error(self._place(key), f"{self.name}.{key}: {message}")

    def warn(self, key: str, message: str) -> None:
        self.report.warn(self._place(key), f"{self.name}.{key}: {message}")

    def _place(self, key: str) -> At:
        return self.found[key].at if key in self.found else self.at

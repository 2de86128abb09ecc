"""Mistakes are collected, not raised: who mends a file wants to see all of them at once."""

from __future__ import annotations

from exporter.config.nodes import At, Node, Refused, describe
from exporter.errors import Problem


class Report:
    """The mistakes and warnings of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def error(self, at: At, message: str) -> None:
        self.errors.append(Problem(self.file, at.line, at.column, message))

    def warn(self, at: At, message: str) -> None:
        self.warnings.append(Problem(self.file, at.line, at.column, message))

    def unexpected(self, key: str, node: Node, expected: str, mend: str = "") -> None:
        """A value of the wrong kind; silent where the value was refused before."""
        if not isinstance(node, Refused):
            end = f"; {mend}" if mend else ""
            self.error(node.at, f"{key}: expected {expected}, found {describe(node)}{end}")

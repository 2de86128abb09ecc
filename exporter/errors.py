"""The tree of errors, all of it.

    ProctreeError              anything we say in one clear line instead of a traceback
    ├── UsageError             the command line cannot be meant            (exit status 2)
    ├── ConfigError            the config file cannot be meant             (exit status 2)
    ├── KernelError            the kernel or the permissions forbid it     (exit status 3)
    └── ServiceError           the job itself failed, e.g. a port in use   (exit status 1)

A message says what was expected, what was found and how to mend it. Exit statuses are given
out in one place only, the command line.
"""

from __future__ import annotations

from dataclasses import dataclass


class ProctreeError(Exception):
    """Something a person can mend; its text is one clear line."""


class UsageError(ProctreeError):
    """The command line is wrong, or a variable of the environment."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in a config file. Lines and columns count from 1, as editors do."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class ConfigError(ProctreeError):
    """A config file holds mistakes; `problems` has all of them, in the order of the file."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(map(str, self.problems)))


class KernelError(ProctreeError):
    """The kernel, its configuration or our permissions do not allow what is asked."""


class ServiceError(ProctreeError):
    """The job failed for a reason outside the kernel and the config."""

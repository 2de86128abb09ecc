"""Which series may be exposed: a ceiling, and decisions that are never taken back.

A series is admitted once, when it is first seen, or folded into `other` for good: an admitted one
never moves, so `other` only grows and sums stay exact. Room for each target's own metrics and its
`other` is set aside beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exporter.kernel.syscalls import OTHER


@dataclass(frozen=True, slots=True)
class Costs:
    """What things cost in exposed samples; the publishing floor knows."""

    target: int  # metrics of a target itself, its histograms by class included
    call: int  # a call's count, histogram and gauges
    error: int = 1

    @property
    def per_target(self) -> int:
        """What is set aside for each target: its own metrics and its `other`."""
        return self.target + self.call + self.error


class Admission:
    """Counts samples against the limit. `now_ns` is the time a series admitted now begins at."""

    def __init__(self, limit: int, costs: Costs) -> None:
        self.limit = limit
        self._costs = costs
        self._calls: dict[tuple[str, str], int] = {}  # admitted -> since when
        self._errors: set[tuple[str, str, str]] = set()
        self._folded_calls: set[tuple[str, str]] = set()
        self._folded_errors: set[tuple[str, str, str]] = set()
        self._targets: dict[str, int] = {}
        self.used = 0

    @property
    def folded(self) -> int:
        """How many samples went into `other` instead."""
        return (
            len(self._folded_calls) * self._costs.call
            + len(self._folded_errors) * self._costs.error
        )

    def room_for(self, names: Iterable[str]) -> bool:
        """Whether what must be set aside for these targets fits, besides all that is admitted."""
        new = sum(name not in self._targets for name in names)
        return self.used + new * self._costs.per_target <= self.limit

    def add_target(self, name: str, now_ns: int) -> None:
        """Sets room aside for a target: always, so check beforehand that all of them fit."""
        if name not in self._targets:
            self._targets[name] = now_ns
            self._calls[name, OTHER] = now_ns
            self.used += self._costs.per_target

    def since(self, target: str) -> int:
        return self._targets[target]

    def forget_target(self, name: str) -> None:
        """All series of a target are gone."""
        if self._targets.pop(name, None) is None:
            return
        calls = [key for key in self._calls if key[0] == name]
        errors = {key for key in self._errors if key[0] == name}
        for key in calls:
            del self._calls[key]
        self._errors -= errors
        self._folded_calls = {key for key in self._folded_calls if key[0] != name}
        self._folded_errors = {key for key in self._folded_errors if key[0] != name}
        self.used -= (
            self._costs.target
            + len(calls) * (self._costs.call + self._costs.error)
            + len(errors) * self._costs.error
        )

    def call(self, target: str, syscall: str, now_ns: int) -> tuple[str, int]:
        """The name under which a call is exposed, and since when."""
        key = (target, syscall)
        since = self._calls.get(key)
        if since is not None:
            return syscall, since
        cost = self._costs.call + self._costs.error  # room for its errors' `other`, too
        if key not in self._folded_calls and self.used + cost <= self.limit:
            self.used += cost
            self._calls[key] = now_ns
            return syscall, now_ns
        self._folded_calls.add(key)
        return OTHER, self._calls[target, OTHER]

    def error(self, target: str, syscall: str, errno: str) -> str:
        """The name under which an error of an admitted call is exposed."""
        key = (target, syscall, errno)
        if errno == OTHER or key in self._errors:
            return errno
        if key not in self._folded_errors and self.used + self._costs.error <= self.limit:
            self.used += self._costs.error
            self._errors.add(key)
            return errno
        self._folded_errors.add(key)
        return OTHER

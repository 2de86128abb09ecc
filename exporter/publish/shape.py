"""Which histograms are shown, and what a call costs in exposed samples because of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.model.histogram import CLASSIC_LOG2

SAMPLES_PER_ERROR = 1  # proctree_syscall_errors_total, for each errno of a call
SAMPLES_PER_IN_FLIGHT = 2  # how many and how old, for each call that is in flight
SAMPLES_PER_TARGET = 13  # up, trees, info, processes, forks, execs, 4 states, 3 outcomes


@dataclass(frozen=True, slots=True)
class Shape:
    """The setting `histograms`: by what, and in which form."""

    by: Literal["syscall", "class", "both"] = "syscall"
    classic: bool = True
    native: bool = True

    @property
    def by_syscall(self) -> bool:
        return self.by != "class"

    @property
    def by_class(self) -> bool:
        return self.by != "syscall"


def samples_per_histogram(shape: Shape, bounds: tuple[int, ...] | None = None) -> int:
    """A bucket per bound, +Inf, the sum and the count; without classic buckets the last three."""
    if not shape.classic:
        return 3
    return len(CLASSIC_LOG2 if bounds is None else bounds) + 3


def samples_per_call(shape: Shape, bounds: tuple[int, ...] | None = None) -> int:
    """What (target, syscall) adds whether or not it ever failed: its count and its histogram.

    It may add SAMPLES_PER_ERROR for each errno, and SAMPLES_PER_IN_FLIGHT while in flight.
    """
    return 1 + (samples_per_histogram(shape, bounds) if shape.by_syscall else 0)


def samples_per_class(shape: Shape, bounds: tuple[int, ...] | None = None) -> int:
    """What (target, class) adds when the first call of that class is seen."""
    return samples_per_histogram(shape, bounds) if shape.by_class else 0

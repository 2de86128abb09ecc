"""What a config file means: checked, complete, with the defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.errors import Problem
from exporter.model.target import Target

__all__ = ["Config", "Histograms", "Limits", "Target"]


@dataclass(frozen=True, slots=True)
class Histograms:
    """What is kept of the durations, and in which forms it goes out."""

    by: Literal["syscall", "class", "both"]
    classic: bool
    native: bool
    scale: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The ceilings: exposed samples, trees, processes."""

    series: int
    trees: int
    processes: int


@dataclass(frozen=True, slots=True)
class Config:
    """A whole config file. `warnings` are what is allowed and yet cannot be meant."""

    file: str
    targets: tuple[Target, ...]
    histograms: Histograms
    limits: Limits
    self_cost: bool
    warnings: tuple[Problem, ...]

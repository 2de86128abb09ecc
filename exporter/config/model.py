"""What a config file means: checked, complete, with the defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.errors import Problem
from exporter.model.otlp import Otlp
from exporter.model.target import Target, Words

__all__ = ["Config", "Histograms", "KubernetesApi", "Limits", "Otlp", "Target"]


@dataclass(frozen=True, slots=True)
class Histograms:
    """What is kept of the durations, and in which forms it goes out.

    `classic` is "class" where only histograms by class have classic buckets.
    """

    by: Literal["syscall", "class", "both"]
    classic: bool | Literal["class"]
    native: bool
    scale: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The ceilings: exposed samples, trees, processes, and programs that a tree is split into."""

    series: int
    trees: int
    processes: int
    comms: int


@dataclass(frozen=True, slots=True)
class KubernetesApi:
    """How to reach the API server; None: as any pod does, from its environment and files."""

    server: str | None
    token_file: str | None
    ca_file: str | None
    node: str | None


@dataclass(frozen=True, slots=True)
class Config:
    """A whole config file. `warnings` are what is allowed and yet cannot be meant.

    `labels` is None where they were not given. The top's `static_labels` and `histograms.buckets`
    are in the targets already.
    """

    file: str
    targets: tuple[Target, ...]
    exclude: tuple[Words, ...]
    labels: tuple[str, ...] | None
    pod_labels: tuple[str, ...]
    keep_gone_ns: int
    metadata_timeout_ns: int
    kubernetes: KubernetesApi
    histograms: Histograms
    limits: Limits
    otlp: Otlp | None
    self_cost: bool
    warnings: tuple[Problem, ...]

    @property
    def tells_of_events(self) -> bool:
        """Whether some target has spans of processes or of calls, and they are sent."""
        sent = self.otlp is not None and self.otlp.traces
        return sent and any(target.spans.from_events for target in self.targets)

"""What a config costs in exposed samples: where the config meets what is published."""

from __future__ import annotations

from exporter.config.model import Config
from exporter.errors import ConfigError, Problem
from exporter.model.admission import Costs
from exporter.model.classes import CLASSES
from exporter.model.histogram import CLASSIC_LOG2
from exporter.publish.shape import (
    SAMPLES_PER_IN_FLIGHT,
    SAMPLES_PER_TARGET,
    Shape,
    samples_per_call,
    samples_per_class,
)


def shape_of(config: Config) -> Shape:
    """Which histograms are shown."""
    histograms = config.histograms
    return Shape(histograms.by, histograms.classic, histograms.native)


def costs_of(config: Config) -> Costs:
    """The price of a target and of a call, for the one with the most buckets.

    Raises ConfigError where the targets alone, each with its `other`, do not fit the limit.
    """
    shape = shape_of(config)
    most = max(len(target.buckets or CLASSIC_LOG2) for target in config.targets)
    bounds = tuple(range(most))
    costs = Costs(
        target=SAMPLES_PER_TARGET + samples_per_class(shape, bounds) * (len(CLASSES) + 1),
        call=samples_per_call(shape, bounds) + SAMPLES_PER_IN_FLIGHT,
    )
    needed = len(config.targets) * costs.per_target
    if needed > config.limits.series:
        text = (
            f"limits.series is {config.limits.series}, but the {len(config.targets)} targets alone"
            f" need {needed}: raise it, list fewer targets, or choose histograms that cost less"
        )
        raise ConfigError([Problem(config.file, 1, 1, text)])
    return costs

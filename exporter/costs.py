"""What a config costs in exposed samples: where the config meets what is published."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from itertools import chain, cycle, islice

from exporter.config.model import Config
from exporter.errors import ConfigError, Problem
from exporter.model import typical
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.admission import NOTHING, Costs, Price
from exporter.publish.shape import Shape, costs


def shape_of(config: Config) -> Shape:
    """Which histograms are shown."""
    histograms = config.histograms
    return Shape(histograms.by, histograms.classic, histograms.native)


def costs_of(config: Config) -> Costs:
    """The price of a target, a label set and a call.

    Raises ConfigError where what must be set aside does not fit the limit.
    """
    found = costs(shape_of(config))
    needed = reserved(config, found).most
    if needed > config.limits.series:
        text = (
            f"limits.series is {config.limits.series}, but the {len(config.targets)} targets alone"
            f" need {needed}: raise it, list fewer targets, or choose histograms that cost less"
        )
        raise ConfigError([Problem(config.file, 1, 1, text)])
    return found


def reserved(config: Config, prices: Costs) -> Price:
    """What is set aside: for each target its own metrics and one label set with its `other`."""
    return sum((prices.reserved(target) for target in config.targets), NOTHING)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What so many trees would take of the limit, each as model/typical.py has it."""

    trees: int
    used: Price
    shared: int  # trees that find no room for a label set of their own
    folded: int  # samples that find none


def estimate(config: Config, trees: int) -> Estimate:
    """By admitting them. A target that is one tree takes one; patterns and the like, the rest."""
    prices = costs_of(config)
    many = [target for target in config.targets if target.many or target.group_by]
    single = [target for target in config.targets if target not in many]
    accounts = Accounts(
        config.limits.series, prices, scale=config.histograms.scale,
        keep_gone_ns=config.keep_gone_ns, tree_labels=config.labels,
    )  # fmt: skip
    accounts.configure(config.targets, 1)
    owners = islice(chain(single, cycle(many)), trees)
    slot = 0
    for slot, target in enumerate(owners, start=1):
        own = (("tree", str(slot)),) if target in many else ()
        labels = (("target", target.name), *own, *target.static_labels)
        accounts.open(slot, target, labels, TreeInfo(), 1)
    accounts.build(typical.reading(slot), {}, 1)
    return Estimate(slot, accounts.used, accounts.trees_folded, accounts.folded)


def most_trees(config: Config, trees: int) -> int:
    """So many of these trees, at most, and nothing would be folded."""
    return bisect(range(1, trees + 1), False, key=lambda n: estimate(config, n).folded > 0)

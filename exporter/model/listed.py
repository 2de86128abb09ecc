"""The targets on the list: what is set aside for each, and where its trees go that find no room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from exporter.model.admission import Costs, Price, Prices
from exporter.model.histogram import index_of_bound
from exporter.model.labels import DEFAULT_LABEL, FOLDED, LabelSet
from exporter.model.snapshot import TargetState
from exporter.model.target import Target


@dataclass(frozen=True, slots=True)
class Listed:
    """A target on the list, or one that was until `gone_ns`."""

    target: Target
    prices: Prices
    reserved: Price
    folded: LabelSet  # of all its trees that find no room for labels of their own
    gone_ns: int = 0

    def state(self, scale: int, trees: int, *, up: bool) -> TargetState:
        target, bounds = self.target, None
        if target.buckets is not None:
            bounds = tuple(index_of_bound(bound, scale) for bound in target.buckets)
        return TargetState(
            target.name, target.static_labels, up, trees, bounds, target.spans.intervals
        )


def relist(
    before: Mapping[str, Listed],
    targets: Iterable[Target],
    tree_labels: tuple[str, ...] | None,
    costs: Costs,
    now_ns: int,
) -> dict[str, Listed]:
    """These targets by name, and those that were on the list before, which are gone now."""
    listed = {
        target.name: Listed(
            target, costs.of(target), costs.reserved(target), _folded(target, tree_labels)
        )
        for target in targets
    }
    gone = {
        name: replace(one, gone_ns=one.gone_ns or now_ns)
        for name, one in before.items()
        if name not in listed
    }
    return listed | gone


def _folded(target: Target, tree_labels: tuple[str, ...] | None) -> LabelSet:
    if tree_labels is None:
        tree_labels = (DEFAULT_LABEL,) if target.many else ()
    programs = (target.group_by,) if target.group_by else ()
    return (
        ("target", target.name),
        *((name, FOLDED) for name in tree_labels),
        *target.static_labels,
        *((name, FOLDED) for name in programs),
    )

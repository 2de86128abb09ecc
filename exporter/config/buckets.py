"""Classic `le` bounds of a target: a choice among the kernel's own, so nothing is re-binned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exporter.config.kinds import unquoted
from exporter.config.nodes import Items, Node, Scalar, describe
from exporter.config.report import Report
from exporter.model.histogram import bucket_count, upper_bound

MAX_BOUNDS = 64
_TOLERANCE = 1e-6
_DIGITS = ".9g"  # what a message prints, typed in again, is well within the tolerance


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound as written, positive and finite, and where it stands."""

    node: Scalar
    seconds: float


@dataclass(frozen=True, slots=True)
class BoundList:
    """A list of positive numbers; which of them are bounds, `snap` decides: it needs the scale."""

    def read(self, key: str, node: Node, report: Report) -> tuple[Bound, ...] | None:
        if not isinstance(node, Items) or not node.nodes:
            report.unexpected(key, node, "a list of bounds in seconds", "leave it out for ours")
            return None
        if len(node.nodes) > MAX_BOUNDS:
            report.error(
                node.nodes[MAX_BOUNDS].at,
                f"{key}: expected at most {MAX_BOUNDS} bounds, found {len(node.nodes)}",
            )
            return None
        read = [_bound(key, item, report) for item in node.nodes]
        return tuple(bound for bound in read if bound)

    def schema(self) -> dict[str, Any]:
        number = {"type": "number", "exclusiveMinimum": 0}
        return {"type": "array", "items": number, "minItems": 1, "maxItems": MAX_BOUNDS}


def _bound(key: str, node: Node, report: Report) -> Bound | None:
    mend = unquoted(node, int, float)
    if isinstance(node, Scalar) and isinstance(node.value, int | float):
        if node.value == math.inf:
            mend = "leave it out: +Inf is always there"
        elif not isinstance(node.value, bool) and 0 < node.value < math.inf:
            return Bound(node, float(node.value))
    report.unexpected(key, node, "a bound in seconds, above 0", mend)
    return None


def snap(key: str, bounds: Sequence[Bound], scale: int, report: Report) -> tuple[float, ...]:
    """The kernel's bounds at `scale` that are meant, strictly increasing."""
    exact: list[float] = []
    for bound in bounds:
        seconds = _nearest(bound.seconds, scale)
        if abs(bound.seconds - seconds) > _TOLERANCE * seconds:
            report.error(bound.node.at, f"{key}: {_no_bound(bound, scale)}")
        elif exact and seconds <= exact[-1]:
            report.error(
                bound.node.at,
                f"{key}: expected bounds that increase, found {describe(bound.node)} after "
                f"{exact[-1]:{_DIGITS}}; sort them and remove doubles",
            )
        else:
            exact.append(seconds)
    return tuple(exact)


def _nearest(seconds: float, scale: int) -> float:
    index = round((math.log2(seconds) - math.log2(upper_bound(0, scale))) * (1 << scale))
    return upper_bound(min(max(index, 0), bucket_count(scale) - 1), scale)


def _no_bound(bound: Bound, scale: int) -> str:
    last = bucket_count(scale) - 1
    above = next((i for i in range(last + 1) if upper_bound(i, scale) > bound.seconds), last + 1)
    near = [upper_bound(i, scale) for i in (above - 1, above) if 0 <= i <= last]
    return (
        f"expected a bound of the kernel at scale {scale}, found {describe(bound.node)}; "
        f"the nearest: {' and '.join(format(value, _DIGITS) for value in near)}"
    )

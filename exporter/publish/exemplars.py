"""Which recent calls go out with which bucket of a histogram."""

from __future__ import annotations

from bisect import bisect_left

from exporter.model.snapshot import Exemplar
from exporter.publish.buckets import Distribution

#: Of a native histogram: as many as client_golang keeps by default.
MAX_NATIVE = 10


def of_classic(value: Distribution) -> dict[int, Exemplar]:
    """The newest of each classic bucket that has any, by its place; the last one is +Inf.

    Values go out as floats, and so do bounds: what rounding puts outside of its bucket stays here.
    """
    bounds = value.bounds
    last = [part.stop - 1 for part in bounds.parts[:-1]]  # kernel buckets that end at a bound
    edges = (float("-inf"), *bounds.seconds, float("inf"))
    found: dict[int, Exemplar] = {}
    for bucket, exemplar in value.exemplars.items():
        place = bisect_left(last, bucket)
        if place in found and found[place].time_ns >= exemplar.time_ns:
            continue
        if edges[place] < seconds(exemplar) <= edges[place + 1]:
            found[place] = exemplar
    return found


def of_native(value: Distribution) -> list[Exemplar]:
    """The newest, the oldest of them first, as Prometheus wants them."""
    by_time = sorted(value.exemplars.values(), key=lambda exemplar: exemplar.time_ns)
    return by_time[-MAX_NATIVE:]


def seconds(exemplar: Exemplar) -> float:
    """The value as it is published."""
    return exemplar.duration_ns / 10**9

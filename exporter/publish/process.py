"""The client library's own metrics about this process: `process_*` and `python_info`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

from exporter.publish.catalog import Kind, Metric
from exporter.publish.digest import Cleaner
from exporter.publish.families import Family

_KINDS: dict[str, Kind] = {"counter": "counter", "gauge": "gauge"}


def process_registry() -> CollectorRegistry:
    """The process and the platform collector, in a registry of our own."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry


def process_families(registry: CollectorRegistry) -> list[Family]:
    """What the collectors say now, as families like our own."""
    clean = Cleaner()
    families = []
    for metric in registry.collect():
        if metric.type not in _KINDS or not metric.samples:
            continue
        suffix = "_total" if metric.type == "counter" else ""
        labels = tuple(sorted(metric.samples[0].labels))
        points = {
            tuple(clean[sample.labels[label]] for label in labels): sample.value
            for sample in metric.samples
            if sample.name == metric.name + suffix
        }
        families.append(
            Family(
                Metric(metric.name + suffix, _KINDS[metric.type], metric.documentation, labels),
                (),
                labels,
                [((), values, _exact(points[values]), 0) for values in sorted(points)],
            )
        )
    return families


def _exact(value: float) -> int | float:
    """The library holds every number as a float; bytes and descriptors are whole ones."""
    return int(value) if float(value).is_integer() else value

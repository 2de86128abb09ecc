"""The client library's own metrics about this process: `process_*` and `python_info`.

Its two collectors cost 0.6 MiB resident. What `import prometheus_client` brings along besides
(ssl, http.server, urllib, wsgiref, asgi) costs 9.6 MiB more, a quarter of all we may use, and
is never called here. So the two modules are imported without running the package's `__init__`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

from exporter.publish.catalog import Kind, Metric
from exporter.publish.digest import Cleaner
from exporter.publish.families import Family

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

_PACKAGE = "prometheus_client"
_KINDS: dict[str, Kind] = {"counter": "counter", "gauge": "gauge"}


def collectors() -> tuple[Collector, ...]:
    """The process and the platform collector, in no registry but ours: this tuple."""
    if _PACKAGE in sys.modules:
        return _collectors()
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {_PACKAGE!r}", name=_PACKAGE)
    sys.modules[_PACKAGE] = module_from_spec(spec)  # has its path, and is not executed
    try:
        return _collectors()
    finally:  # whoever imports the library after us gets all of it
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]


def _collectors() -> tuple[Collector, ...]:
    process = import_module(f"{_PACKAGE}.process_collector")
    platform = import_module(f"{_PACKAGE}.platform_collector")
    return (process.ProcessCollector(registry=None), platform.PlatformCollector(registry=None))


def process_families(sources: Iterable[Collector]) -> list[Family]:
    """What the collectors say now, as families like our own."""
    clean = Cleaner()
    families = []
    for metric in (metric for source in sources for metric in source.collect()):
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
                labels,
                [(values, _exact(points[values]), 0) for values in sorted(points)],
            )
        )
    return families


def _exact(value: float) -> int | float:
    """The library holds every number as a float; bytes and descriptors are whole ones."""
    return int(value) if float(value).is_integer() else value

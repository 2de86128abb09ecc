"""A snapshot as ExportMetricsServiceRequests.

They are filled from the same digest and by the same readers as Prometheus' formats: names cleaned,
equal label sets summed, what the setting `histograms` leaves out left out. So both worlds tell the
same numbers by construction, and differ in what these are called and how they are told apart: what
a tree is stands in its Resource, and only what splits its numbers is an attribute of a point.

Source: https://opentelemetry.io/docs/specs/otel/metrics/data-model/
"""

from __future__ import annotations

from exporter.model.resource import Resource
from exporter.model.snapshot import Snapshot
from exporter.publish.digest import Cleaner, Head, digest
from exporter.publish.families import families
from exporter.publish.otlp.deltas import Deltas
from exporter.publish.otlp.names import BY_PROMETHEUS
from exporter.publish.otlp.points import Filling, Request, scope_of
from exporter.publish.shape import Shape

#: gRPC servers take 4 MiB in a message unless told otherwise; a point is 100 to 300 bytes, seldom
#: more than 700.
MAX_POINTS = 5000


class MetricsEncoder:
    """Snapshots to requests. `own` is the exporter's own Resource.

    With `delta`, counters and histograms go out as differences: each request that the backend took
    (in part, too: it will not take the rest later) is to be acknowledged before the next snapshot
    is encoded; what is not goes out again, in the next difference.
    """

    def __init__(
        self, own: Resource, version: str, *, delta: bool = False, max_points: int = MAX_POINTS
    ) -> None:
        self._own, self._max_points = own, max_points
        self._scope = scope_of(version)
        self._deltas = Deltas() if delta else None

    def encode(self, snapshot: Snapshot, shape: Shape) -> list[Request]:
        """`snapshot.resources` must have all its label sets. There is always a request."""
        found = families(digest(snapshot, shape))
        of_heads = _by_head(snapshot)
        twins = ((family, BY_PROMETHEUS.get(family.metric.name)) for family in found)
        filling = Filling(snapshot, self._scope, self._deltas, self._max_points)
        if self._deltas:
            self._deltas.begin()
        for family, twin in twins:
            if twin:
                filling.add(family, twin, of_heads if twin.about_trees else None, self._own)
        if self._deltas:
            self._deltas.end()
        return filling.requests()

    def acknowledge(self, request: Request) -> None:
        """The backend has it."""
        if self._deltas:
            self._deltas.acknowledge(request.numbers)


def _by_head(snapshot: Snapshot) -> dict[Head, Resource]:
    """As the digest merges label sets; of those that become one the first gives its Resource."""
    clean = Cleaner()
    found: dict[Head, Resource] = {}
    for labels, resource in snapshot.resources.items():
        values = dict(labels)
        head = tuple(clean[values.get(name, "")] for name in snapshot.label_names)
        found.setdefault(head, resource)
    return found

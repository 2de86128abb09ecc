"""A batch is the request that protobuf itself would have made of the same spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from exporter import __version__
from exporter.model.resource import Resource
from exporter.publish.otlp.attributes import resource_message
from exporter.publish.otlp.batch import Item, encode
from exporter.publish.otlp.names import SCHEMA_URL, SCOPE
from tests.unit.otlp_delivery import WEB, items, names, span

VALUES = st.text() | st.integers(-(2**63), 2**63 - 1) | st.tuples(st.text(), st.text())
RESOURCES = st.lists(st.tuples(st.text(), VALUES), max_size=3, unique_by=lambda it: it[0]).map(
    lambda it: tuple(sorted(it, key=lambda pair: pair[0]))
)


def by_protobuf(batch: list[Item]) -> bytes:
    request = ExportTraceServiceRequest()
    groups: dict[Resource, list[bytes]] = {}
    for resource, body in batch:
        groups.setdefault(resource, []).append(body)
    for resource, bodies in groups.items():
        of_resource = request.resource_spans.add(
            resource=resource_message(resource), schema_url=SCHEMA_URL
        )
        scope = of_resource.scope_spans.add(schema_url=SCHEMA_URL)
        scope.scope.name, scope.scope.version = SCOPE, __version__
        scope.spans.extend(Span.FromString(body) for body in bodies)
    return request.SerializeToString(deterministic=True)


@given(st.lists(RESOURCES, min_size=1, max_size=4, unique=True), st.data())
def test_same_bytes(resources: list[Resource], data: st.DataObject) -> None:
    """To the last byte, of however many spans, long and short."""
    count = data.draw(st.integers(0, 40))
    batch = [
        (
            data.draw(st.sampled_from(resources)),
            Span(name=data.draw(st.text(max_size=300))).SerializeToString(),
        )
        for _ in range(count)
    ]
    assert encode(batch) == by_protobuf(batch)


def test_large() -> None:
    """Lengths of up to four bytes."""
    batch = [
        (WEB, Span(name="x" * size).SerializeToString())
        for size in (0, 100, 127, 128, 16_380, 16_390, 2_097_150, 3_000_000)
    ]
    assert encode(batch) == by_protobuf(batch)


def test_equal_resources() -> None:
    """Equal ones are one, whether or not they are the same object."""
    twin: Resource = tuple(("service.name", text) for text in ["web"])
    other: Resource = (("service.name", "db"),)
    batch = [(WEB, span(0)), (other, span(1)), (twin, span(2)), (other, span(3)), (WEB, span(4))]
    request = ExportTraceServiceRequest.FromString(encode(batch))
    found = [names(it.scope_spans[0].spans) for it in request.resource_spans]
    # By identity first: of one Resource in two objects those of the one come before the other's.
    assert found == [["span-0", "span-4", "span-2"], ["span-1", "span-3"]]


def test_nothing() -> None:
    assert encode([]) == b""


def test_many_resources() -> None:
    """More than are kept encoded."""
    batch = [(((f"k{n}", n),), span(n)) for n in range(1000)]
    assert encode(batch) == by_protobuf(batch)
    assert encode(items(1)) == by_protobuf(items(1))

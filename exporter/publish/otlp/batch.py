"""Many encoded spans as one request: messages put into each other by their lengths.

A Span that is encoded already is copied and never parsed: ExportTraceServiceRequest, ResourceSpans
and ScopeSpans are nothing but a tag and a length before what they hold. Source of the field
numbers: opentelemetry/proto/collector/trace/v1/trace_service.proto and trace/v1/trace.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope

from exporter import __version__
from exporter.model.resource import Resource
from exporter.publish.otlp.attributes import resource_message
from exporter.publish.otlp.names import SCHEMA_URL, SCOPE
from exporter.publish.protobuf import varint

#: A span, `opentelemetry.proto.trace.v1.Span`, and whose it is.
Item = tuple[Resource, bytes]

# Tags: the field's number, and that a length follows.
_FIRST, _SECOND, _THIRD = b"\x0a", b"\x12", b"\x1a"


def encode(items: Iterable[Item]) -> bytes:
    """An ExportTraceServiceRequest, in which spans of equal Resources stand together."""
    groups: dict[int, tuple[Resource, list[bytes]]] = {}
    for resource, span in items:
        # By identity first: a Resource has a dozen attributes, and its hash is not kept.
        found = groups.get(id(resource))
        if found is None:
            groups[id(resource)] = found = (resource, [])
        found[1].append(span)
    merged: dict[Resource, list[bytes]] = {}
    for resource, spans in groups.values():
        merged.setdefault(resource, []).extend(spans)
    return b"".join(_resource_spans(resource, spans) for resource, spans in merged.items())


def _resource_spans(resource: Resource, spans: list[bytes]) -> bytes:
    parts = [_scope()]
    for span in spans:
        parts += _before_span(len(span)), span
    parts.append(_schema_url())
    scope_spans = b"".join(parts)
    body = b"".join(
        (_resource(resource), _SECOND, varint(len(scope_spans)), scope_spans, _schema_url())
    )
    return _FIRST + varint(len(body)) + body


@lru_cache(maxsize=4096)
def _before_span(size: int) -> bytes:
    """Of ScopeSpans.spans."""
    return _SECOND + varint(size)


@lru_cache(maxsize=256)
def _resource(resource: Resource) -> bytes:
    """ResourceSpans.resource, whole."""
    body = resource_message(resource).SerializeToString()
    return _FIRST + varint(len(body)) + body


@lru_cache(maxsize=1)
def _scope() -> bytes:
    """ScopeSpans.scope, whole."""
    body = InstrumentationScope(name=SCOPE, version=__version__).SerializeToString()
    return _FIRST + varint(len(body)) + body


@lru_cache(maxsize=1)
def _schema_url() -> bytes:
    """The field schema_url, which is the third of ResourceSpans and of ScopeSpans."""
    return _THIRD + varint(len(SCHEMA_URL)) + SCHEMA_URL.encode()

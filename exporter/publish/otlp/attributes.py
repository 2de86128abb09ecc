"""Attributes as OTLP has them. Text of any kind becomes valid UTF-8: protobuf takes no other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.resource.v1 import resource_pb2

from exporter.model.resource import Resource
from exporter.model.spans.span import Value


def clean(text: str) -> str:
    """What no encoder takes, lone surrogates, becomes U+FFFD, as everywhere else."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def any_value(value: Value) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=clean(value))
    if isinstance(value, bool):  # before int, of which it is one
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=map(any_value, value)))


def key_value(key: str, value: Value) -> KeyValue:
    return KeyValue(key=clean(key), value=any_value(value))


def key_values(pairs: Iterable[tuple[str, Value]]) -> list[KeyValue]:
    return [key_value(key, value) for key, value in pairs]


@lru_cache(maxsize=256)
def resource_message(resource: Resource) -> resource_pb2.Resource:
    """Shared by all who ask: not to be changed."""
    return resource_pb2.Resource(attributes=key_values(resource))

"""Hand-made requests of OTLP, and clients that have nothing of the exporter's."""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from tests.integration.kube.certificates import Pair

#: What an answer is if nothing was refused: empty, or a `partial_success` that is empty.
WHOLE = (b"", b"\x0a\0")


def wire(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case str():
            return AnyValue(string_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=map(wire, value)))
    return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))


def pairs(values: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=wire(value)) for key, value in values.items()]


def by_http(
    endpoint: str, request: Message, ca: Path | None = None, own: Pair | None = None
) -> None:
    trust = ssl.create_default_context(cafile=str(ca)) if ca else None
    if trust and own:
        trust.load_cert_chain(own.certificate, own.key)
    signal = "traces" if isinstance(request, ExportTraceServiceRequest) else "metrics"
    post(f"{endpoint}/v1/{signal}", request.SerializeToString(), trust)


def post(url: str, body: bytes, trust: ssl.SSLContext | None = None) -> None:
    """Bytes of a request; raises OSError if it is refused."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/x-protobuf"})
    with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
        assert answer.read() in WHOLE


def by_grpc(
    endpoint: str, request: Message, ca: Path | None = None, own: Pair | None = None
) -> None:
    address = endpoint.rpartition("/")[2]
    if ca:
        chain = (own.key.read_bytes(), own.certificate.read_bytes()) if own else (None, None)
        credentials = grpc.ssl_channel_credentials(ca.read_bytes(), *chain)
        channel = grpc.secure_channel(address, credentials)
    else:
        channel = grpc.insecure_channel(address)
    with channel:
        is_trace = isinstance(request, ExportTraceServiceRequest)
        stub = TraceServiceStub(channel) if is_trace else MetricsServiceStub(channel)
        answer = stub.Export(request, timeout=60)
    assert answer.SerializeToString() in WHOLE


SENDERS: dict[str, Callable[..., None]] = {"http": by_http, "grpc": by_grpc}

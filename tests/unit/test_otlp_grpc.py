"""What is sent over gRPC, and what each code means: taken, refused, or to be sent again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from exporter import __version__
from exporter.errors import ServiceError
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.grpc import GrpcTransport
from exporter.publish.otlp.outcome import Outcome
from exporter.publish.otlp.signals import Signal
from exporter.publish.otlp.transport import transport_for
from tests.harness import PATIENCE_S, free_port
from tests.unit.otlp_delivery import LONG_NS, SHORT_NS, request
from tests.unit.otlp_grpc_server import GrpcServer, abort, grpc_server, ok, ran, relayed, send
from tests.unit.otlp_server import deaf, otlp_server

SECOND = 10**9


@pytest.fixture
def server() -> Iterator[GrpcServer]:
    with grpc_server() as it:
        yield it


def test_asked(server: GrpcServer) -> None:
    """The bytes are those that were given, headers are metadata."""
    assert send(server.endpoint(headers=(("X-Api-Key", "k=1"),))) == Outcome(True)
    (got,) = server.got
    assert got.method == "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    assert got.body == request()
    assert ExportTraceServiceRequest.FromString(got.body).resource_spans
    assert got.metadata["x-api-key"] == "k=1"
    assert str(got.metadata["user-agent"]).startswith(f"proctree-exporter/{__version__} ")


def test_metrics(server: GrpcServer) -> None:
    transport = transport_for("metrics", Signal("grpc", server.endpoint()))
    assert transport.send(b"", LONG_NS) == Outcome(True)
    method = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
    assert [got.method for got in server.got] == [method]


def test_gzip(server: GrpcServer) -> None:
    assert send(server.endpoint(gzip=True)) == Outcome(True)
    (got,) = server.got
    assert got.body == request()  # the server has seen to it
    with relayed(server) as relay:
        send(Endpoint(relay.url, gzip=True))
        assert b"\x1f\x8b" in relay.sent


@pytest.mark.parametrize(
    ("code", "reason", "retryable"),
    [
        ("CANCELLED", "unavailable", True), ("UNKNOWN", "other", False),
        ("INVALID_ARGUMENT", "bad_request", False), ("DEADLINE_EXCEEDED", "timeout", True),
        ("NOT_FOUND", "bad_request", False), ("ALREADY_EXISTS", "other", False),
        ("PERMISSION_DENIED", "unauthorized", False), ("UNAUTHENTICATED", "unauthorized", False),
        ("RESOURCE_EXHAUSTED", "too_many_requests", False),
        ("FAILED_PRECONDITION", "bad_request", False), ("ABORTED", "unavailable", True),
        ("OUT_OF_RANGE", "bad_request", True), ("UNIMPLEMENTED", "bad_request", False),
        ("INTERNAL", "other", False), ("UNAVAILABLE", "unavailable", True),
        ("DATA_LOSS", "other", True),
    ],
)  # fmt: skip
def test_code(code: str, reason: str, retryable: bool, server: GrpcServer) -> None:
    """The specification's table of what is to be sent again."""
    server.will(abort(code, "because of this"))
    outcome = send(server.endpoint())
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, reason, retryable)
    assert (outcome.text, outcome.delay_ns) == (f"{code}: because of this", None)


@pytest.mark.parametrize("code", ["RESOURCE_EXHAUSTED", "UNAVAILABLE"])
@pytest.mark.parametrize("delay_s", [0, 1.5, 7])
def test_retry_info(code: str, delay_s: float, server: GrpcServer) -> None:
    """With it RESOURCE_EXHAUSTED is to be sent again, too."""
    server.will(abort(code, "later", delay_s))
    outcome = send(server.endpoint())
    assert outcome.retryable
    assert outcome.delay_ns == (int(delay_s * SECOND) or None)


def test_partial(server: GrpcServer) -> None:
    server.will(ok(rejected=3, message="too old"), ok(message="use gzip"))
    rejected = Outcome(True, "partial", rejected=3, message="too old")
    assert send(server.endpoint()) == rejected
    assert send(server.endpoint()) == Outcome(True, message="use gzip")


@pytest.mark.parametrize("body", [b"<html>", b"\xff" * 20, b"\x0a\x02\x08"])
def test_garbage(body: bytes, server: GrpcServer) -> None:
    """OK is taken, whatever comes with it."""
    server.will(lambda _: body)
    outcome = send(server.endpoint())
    assert (outcome.taken, outcome.reason) == (True, "bad_answer")


def test_large_answer(server: GrpcServer) -> None:
    server.will(lambda _: b"x" * (1 << 20))
    outcome = send(server.endpoint())
    assert (outcome.taken, outcome.reason) == (True, "bad_answer")


def test_hostile_words(server: GrpcServer) -> None:
    server.will(abort("INTERNAL", "a\x1b[31m\r\n" + "c" * 2000))
    text = send(server.endpoint()).text
    assert text.startswith("INTERNAL: a [31m ccc")
    assert (text.isprintable(), len(text)) == (True, 500)


def test_many(server: GrpcServer) -> None:
    """Over one connection."""
    with relayed(server) as relay:
        transport = GrpcTransport(Endpoint(relay.url), "traces")
        for _ in range(3):
            assert transport.send(request(), LONG_NS) == Outcome(True)
        transport.hang_up()
        assert (relay.connections, len(server.got)) == (1, 3)


def test_refused() -> None:
    outcome = send(Endpoint(f"http://127.0.0.1:{free_port()}"))
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "unreachable", True)


def test_no_such_host() -> None:
    outcome = send(Endpoint("http://does-not-exist.invalid:4317"))
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "unreachable", True)


def test_back(server: GrpcServer) -> None:
    """A backend that was away is asked anew at each try, not when grpcio's backoff has passed."""
    port = free_port()
    transport = GrpcTransport(Endpoint(f"http://127.0.0.1:{port}"), "traces")
    for _ in range(5):
        assert transport.send(request(), LONG_NS).reason == "unreachable"
    with relayed(server, port):
        assert transport.send(request(), LONG_NS) == Outcome(True)
        transport.hang_up()


def test_black_hole() -> None:
    with deaf() as (port, _):
        outcome = send(Endpoint(f"http://127.0.0.1:{port}"), SHORT_NS)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "timeout", True)


def test_silent(server: GrpcServer) -> None:
    """A call that is taken and not answered."""
    server.will(lambda _: (server.over.wait(), b"")[1])
    outcome = send(server.endpoint(), SHORT_NS)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "timeout", True)


def test_http_1() -> None:
    """A backend that speaks only HTTP/1.1 on this port."""
    with otlp_server() as server:
        outcome = send(server.endpoint(path=""))
        assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "unreachable", True)
        assert server.got == []


def test_hang_up(server: GrpcServer) -> None:
    """The call ends at once, and so do all later ones."""
    server.will(lambda _: (server.over.wait(), b"")[1])
    transport = GrpcTransport(server.endpoint(), "traces")
    found: list[Outcome] = []
    thread = threading.Thread(target=lambda: found.append(transport.send(request(), LONG_NS)))
    thread.start()
    server.wait()
    transport.hang_up()
    thread.join(PATIENCE_S / 2)
    found.append(transport.send(request(), LONG_NS))
    assert [(it.taken, it.reason) for it in found] == [(False, "unreachable")] * 2
    assert len(server.got) == 1


def test_no_grpcio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed, how to install it is said."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ServiceError, match="proctree-exporter\\[grpc\\]"):
        transport_for("traces", Signal("grpc", Endpoint("http://localhost:4317")))


def test_lazy() -> None:
    """HTTP loads nothing of grpcio."""
    with otlp_server() as server:
        assert ran("http/protobuf", server.endpoint().url, "") == (b" False\n", b"")

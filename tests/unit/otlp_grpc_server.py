"""A backend on loopback for OTLP/gRPC, that answers what a test tells it to."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import grpc
from google.protobuf import any_pb2, duration_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.grpc import GrpcTransport
from exporter.publish.otlp.outcome import REASONS, Outcome
from tests.harness import PATIENCE_S
from tests.integration.kube.certificates import Pair
from tests.unit.otlp_delivery import LONG_NS, request

Answer = Callable[[grpc.ServicerContext], bytes]


class GotCall(NamedTuple):
    """A call as it came."""

    method: str
    metadata: dict[str, str | bytes]
    body: bytes


class GrpcServer(grpc.GenericRpcHandler):
    """Gives its answers one after the other; when there are none left, all is taken."""

    def __init__(self) -> None:
        self.port, self.scheme = 0, "http"
        self.got: list[GotCall] = []
        self.over = threading.Event()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._came = threading.Semaphore(0)

    def will(self, *answers: Answer) -> None:
        for answer in answers:
            self._answers.put(answer)

    def endpoint(self, **others: Any) -> Endpoint:
        return Endpoint(f"{self.scheme}://127.0.0.1:{self.port}", **others)

    def wait(self) -> None:
        """For one more call."""
        assert self._came.acquire(timeout=PATIENCE_S)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        def export(body: bytes, context: grpc.ServicerContext) -> bytes:
            metadata = {it.key: it.value for it in context.invocation_metadata()}
            self.got.append(GotCall(details.method, metadata, body))
            self._came.release()
            with suppress(queue.Empty):
                return self._answers.get_nowait()(context)
            return b""

        return grpc.unary_unary_rpc_method_handler(export)


@contextmanager
def grpc_server(pair: Pair | None = None, clients: Pair | None = None) -> Iterator[GrpcServer]:
    """One that runs; with a certificate it speaks TLS, and wants one that `clients` signed."""
    it = GrpcServer()
    with futures.ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, handlers=(it,))
        if pair:
            it.scheme = "https"
            credentials = grpc.ssl_server_credentials(
                [(pair.key.read_bytes(), pair.certificate.read_bytes())],
                clients.certificate.read_bytes() if clients else None,
                clients is not None,
            )
            it.port = server.add_secure_port("127.0.0.1:0", credentials)
        else:
            it.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield it
        finally:
            it.over.set()
            server.stop(None).wait()


def ok(rejected: int = 0, message: str = "") -> Answer:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = rejected
    response.partial_success.error_message = message
    return lambda _: response.SerializeToString()


def abort(code: str, message: str = "", delay_s: float | None = None) -> Answer:
    """With RetryInfo, where there is a delay: as google.rpc.Status, among its details."""

    def answer(context: grpc.ServicerContext) -> bytes:
        if delay_s is not None:
            delay = duration_pb2.Duration(
                seconds=int(delay_s), nanos=round(delay_s % 1 * 1e9)
            ).SerializeToString()
            detail = any_pb2.Any(
                type_url="type.googleapis.com/google.rpc.RetryInfo",
                value=b"\x0a%c%s" % (len(delay), delay),
            ).SerializeToString()
            status = b"\x08\x08\x1a%c%s" % (len(detail), detail)
            context.set_trailing_metadata((("grpc-status-details-bin", status),))
        context.abort(grpc.StatusCode[code], message)

    return answer


class Relay:
    """What goes through: bytes from the client, and how many connections there were."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.sent = bytearray()
        self.connections = 0


@contextmanager
def relayed(server: GrpcServer, port: int = 0) -> Iterator[Relay]:
    """Another port for the same backend, by which one sees what the server's library hides."""
    listener = socket.create_server(("127.0.0.1", port))
    relay = Relay(listener.getsockname()[1])

    def pump(one: socket.socket, other: socket.socket, record: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if record:
                    relay.sent += data
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                here, _ = listener.accept()
                relay.connections += 1
                there = socket.create_connection(("127.0.0.1", server.port))
                for ends in ((here, there, True), (there, here, False)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def send(endpoint: Endpoint, limit_ns: int = LONG_NS) -> Outcome:
    """One request, over a channel of its own."""
    transport = GrpcTransport(endpoint, "traces")
    outcome = transport.send(request(), limit_ns)
    transport.hang_up()
    assert outcome.reason in ("", *REASONS)
    return outcome


_PROGRAM = """
import sys
from exporter.publish.otlp import worker
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.signals import Signal
from exporter.publish.otlp.transport import transport_for
endpoint = Endpoint(sys.argv[2], certificate=sys.argv[3])
transport = transport_for("traces", Signal(sys.argv[1], endpoint))
print(transport.send(b"", 10**10).reason, "grpc" in sys.modules)
"""


def ran(protocol: str, url: str, certificate: str) -> tuple[bytes, bytes]:
    """What a process of its own writes to stdout and stderr: the reason, and if it has grpcio."""
    command = [sys.executable, "-c", _PROGRAM, protocol, url, certificate]
    clean = {name: text for name, text in os.environ.items() if name != "GRPC_VERBOSITY"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S, env=clean)
    return done.stdout, done.stderr

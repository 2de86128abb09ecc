"""A backend on loopback for OTLP/HTTP, that answers what a test tells it to."""

from __future__ import annotations

import gzip
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from exporter.publish.otlp.endpoint import Endpoint
from tests.harness import PATIENCE_S
from tests.integration.kube.certificates import Pair

Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


class Got:
    """A request as it came: `headers` by lower-case names, `body` without compression."""

    def __init__(self, path: str, headers: Mapping[str, str], raw: bytes) -> None:
        self.path, self.raw = path, raw
        self.headers = {name.lower(): value for name, value in headers.items()}
        packed = self.headers.get("content-encoding") == "gzip"
        self.body = gzip.decompress(raw) if packed else raw

    @property
    def traces(self) -> ExportTraceServiceRequest:
        return ExportTraceServiceRequest.FromString(self.body)

    @property
    def metrics(self) -> ExportMetricsServiceRequest:
        return ExportMetricsServiceRequest.FromString(self.body)

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for of_resource in self.traces.resource_spans
            for of_scope in of_resource.scope_spans
            for span in of_scope.spans
        ]


class OtlpServer:
    """Gives its answers one after the other; when there are none left, `otherwise`."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port, self._scheme = port, scheme
        self.got: list[Got] = []
        self.connections = 0
        self.reads = True  # whether it reads what is sent before it answers
        self.otherwise: Answer = ok()
        self.over = threading.Event()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._came = threading.Condition()

    def will(self, *answers: Answer) -> None:
        for answer in answers:
            self._answers.put(answer)

    def endpoint(self, path: str = "/v1/traces", **others: Any) -> Endpoint:
        return Endpoint(f"{self._scheme}://127.0.0.1:{self.port}{path}", **others)

    def wait_for(self, requests: int) -> list[Got]:
        """Once so many have come, those that have."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.got) >= requests, PATIENCE_S)
            return list(self.got)

    def take(self, got: Got) -> Answer:
        with self._came:
            self.got.append(got)
            self._came.notify_all()
        with suppress(queue.Empty):
            return self._answers.get_nowait()
        return self.otherwise


@contextmanager
def otlp_server(
    pair: Pair | None = None, clients: Pair | None = None, port: int = 0
) -> Iterator[OtlpServer]:
    """One that runs; with a certificate it speaks TLS, and wants one that `clients` signed."""

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            it.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])) if it.reads else b""
            answer = it.take(Got(self.path, dict(self.headers), body))
            with suppress(OSError):  # who asked has gone
                answer(self)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = _Server(("127.0.0.1", port), Request)
    if pair:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        if clients:
            context.load_verify_locations(clients.certificate)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    it = OtlpServer(server.server_address[1], "https" if pair else "http")
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield it
    finally:
        it.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def ok(rejected: int = 0, message: str = "") -> Answer:
    """All taken, or all but some."""
    response = ExportTraceServiceResponse()
    if rejected or message:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = message
    return raw(response.SerializeToString())


def status(code: int, message: str = "", **headers: str) -> Answer:
    """As OTLP explains itself: google.rpc.Status, whose message is field 2."""
    text = message.encode()
    assert len(text) < 0x80
    return raw(b"\x12%c%s" % (len(text), text) if text else b"", code, **headers)


def raw(body: bytes, code: int = 200, length: int | None = None, **headers: str) -> Answer:
    """Just these bytes; a length that is not theirs ends the connection."""

    def answer(to: Handler) -> None:
        to.send_response(code)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), value)
        to.send_header("Content-Length", str(len(body) if length is None else length))
        to.end_headers()
        to.wfile.write(body)
        to.close_connection = to.close_connection or length is not None

    return answer


def text(*parts: bytes, then: Callable[[], object] | None = None) -> Answer:
    """No HTTP but these bytes; then what is to be done, and the end of the connection."""

    def answer(to: Handler) -> None:
        to.close_connection = True
        for part in parts:
            to.wfile.write(part)
            to.wfile.flush()
        if then:
            then()

    return answer


def hang_up(to: Handler) -> None:
    """The connection ends without an answer."""
    to.close_connection = True


@contextmanager
def deaf() -> Iterator[tuple[int, threading.Event]]:
    """Takes connections and never reads or says anything: its port, and that somebody has come."""
    came, held = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    held.append(listener.accept()[0])
                    came.set()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], came
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


@contextmanager
def full() -> Iterator[int]:
    """A port where connections are not even refused: nobody takes those that came first."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        where = listener.getsockname()
        waiting = []
        for _ in range(8):
            it = socket.socket()
            it.setblocking(False)
            it.connect_ex(where)
            waiting.append(it)
        yield where[1]
        for it in waiting:
            it.close()

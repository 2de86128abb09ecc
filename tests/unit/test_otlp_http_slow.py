"""Backends that are slow, or silent: one limit for all of a try, and an end from outside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import Outcome
from tests.harness import PATIENCE_S
from tests.unit.otlp_delivery import LONG_NS, SHORT_NS, request
from tests.unit.otlp_server import Handler, OtlpServer, deaf, full, hang_up, otlp_server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


def to(port: int, scheme: str = "http") -> HttpTransport:
    return HttpTransport(Endpoint(f"{scheme}://127.0.0.1:{port}/v1/traces"), {})


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("size", [1, 64 << 20])
def test_black_hole(scheme: str, size: int) -> None:
    """It takes connections and says nothing; of what is large it does not even take all."""
    with deaf() as (port, _):
        outcome = to(port, scheme).send(b"x" * size, SHORT_NS)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "timeout", True)


def test_no_answer_to_a_connection() -> None:
    with full() as port:
        outcome = to(port).send(request(), SHORT_NS)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "timeout", True)


@pytest.mark.parametrize(
    ("begin", "taken", "reason"),
    [(b"HTTP/1.1 ", False, "timeout"), (b"HTTP/1.1 200 OK\r\n", False, "timeout"),
     (HEAD, True, "bad_answer"), (HEAD.replace(b"200", b"503"), False, "unavailable")],
)  # fmt: skip
def test_drip(begin: bytes, taken: bool, reason: str, server: OtlpServer) -> None:
    """A byte now and then is no reason to wait for longer; a status is one."""

    def drip(to: Handler) -> None:
        to.wfile.write(begin)
        while not server.over.wait(0.01):
            to.wfile.write(b"0")

    server.will(drip)
    outcome = to(server.port).send(request(), SHORT_NS)
    assert (outcome.taken, outcome.reason) == (taken, reason)


def test_slow_reader(server: OtlpServer) -> None:
    """A backend that takes a part now and then, of what is large: it does not get it all."""
    parts: list[int] = []
    over = threading.Event()

    def sip(to: Handler) -> None:
        with suppress(OSError):  # the connection is reset
            while part := to.rfile.read(1 << 16):
                parts.append(len(part))
                server.over.wait(0.01)
        over.set()

    server.reads = False
    server.will(sip)
    assert to(server.port).send(b"x" * (64 << 20), SHORT_NS).reason == "timeout"
    assert over.wait(PATIENCE_S)
    assert 0 < sum(parts) < 64 << 20


def test_slow(server: OtlpServer) -> None:
    """What comes within the limit is an answer."""

    def slow(to: Handler) -> None:
        for byte in b"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n\x12\x00":
            to.wfile.write(bytes((byte,)))
            server.over.wait(0.001)

    server.will(slow)
    outcome = to(server.port).send(request(), LONG_NS)
    assert (outcome.reason, outcome.delay_ns) == ("unavailable", 7 * 10**9)


def test_late_answer(server: OtlpServer) -> None:
    """It is not taken for that to the next request."""
    ask = threading.Event()

    def late(to: Handler) -> None:
        ask.wait(PATIENCE_S)
        to.wfile.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    transport = to(server.port)
    server.will(late)
    assert transport.send(request(), SHORT_NS).reason == "timeout"
    ask.set()
    assert transport.send(request(), LONG_NS) == Outcome(True)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("size", [1, 64 << 20])
def test_hang_up(scheme: str, size: int) -> None:
    """Whatever it waits for, an answer, a handshake or to send, the try ends at once."""
    with deaf() as (port, came):
        transport = to(port, scheme)
        found: list[Outcome] = []
        send = lambda: found.append(transport.send(b"x" * size, LONG_NS))  # noqa: E731
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        assert came.wait(PATIENCE_S)
        transport.hang_up()
        thread.join(PATIENCE_S / 2)
    assert [(it.taken, it.reason) for it in found] == [(False, "unreachable")]


def test_hang_up_while_connecting() -> None:
    with full() as port:
        transport = to(port)
        found: list[Outcome] = []
        send = lambda: found.append(transport.send(request(), LONG_NS))  # noqa: E731
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        thread.join(SHORT_NS / 1e9)
        assert found == []
        transport.hang_up()
        thread.join(PATIENCE_S / 2)
    assert [(it.taken, it.reason) for it in found] == [(False, "unreachable")]


def test_hung_up(server: OtlpServer) -> None:
    """So do all later ones, and nothing is sent; not on a kept connection either."""
    transport = to(server.port)
    assert transport.send(request(), LONG_NS) == Outcome(True)
    transport.hang_up()
    for _ in range(2):
        outcome = transport.send(request(), LONG_NS)
        assert (outcome.taken, outcome.reason) == (False, "unreachable")
    assert len(server.got) == 1


def test_second_address(server: OtlpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name's addresses the first that answers is taken; a silent one has its share only."""
    with full() as silent:
        import socket

        found = [
            info
            for port in (silent, server.port)
            for info in socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        endpoint = Endpoint("http://backend.invalid/v1/traces")
        assert HttpTransport(endpoint, {}).send(request(), 4 * SHORT_NS) == Outcome(True)
        server.will(hang_up)

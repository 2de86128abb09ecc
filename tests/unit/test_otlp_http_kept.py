"""One connection for many requests, and what becomes of a request where it ends in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import Outcome
from tests.unit.otlp_delivery import LONG_NS, request, until
from tests.unit.otlp_server import OtlpServer, hang_up, ok, otlp_server, status, text


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


def test_kept(server: OtlpServer) -> None:
    """One connection for one request after the other, whatever is answered."""
    transport = HttpTransport(server.endpoint(), {})
    server.will(ok(), status(503, "later"), status(400), ok(rejected=1))
    for reason in ("", "unavailable", "bad_request", "partial"):
        assert transport.send(request(), LONG_NS).reason == reason
    assert (len(server.got), server.connections) == (4, 1)


@pytest.mark.parametrize(
    "close", ["HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n"]
)
def test_not_kept(close: str, server: OtlpServer) -> None:
    transport = HttpTransport(server.endpoint(), {})
    server.will(text(close.encode() + b"Content-Length: 0\r\n\r\n"))
    for _ in range(2):
        assert transport.send(request(), LONG_NS) == Outcome(True)
    assert server.connections == 2


def test_closed_meanwhile(server: OtlpServer) -> None:
    """A connection that the backend has closed is not used: nothing is lost, nothing doubled."""
    transport = HttpTransport(server.endpoint(), {})
    server.will(lambda to: (ok()(to), hang_up(to))[0])
    assert transport.send(request(), LONG_NS) == Outcome(True)
    line = transport._line
    assert line
    until(line.stale)  # the end of the connection has come through
    assert transport.send(request(), LONG_NS) == Outcome(True)
    assert (len(server.got), server.connections) == (2, 2)


def test_closed_at_the_wrong_moment(server: OtlpServer) -> None:
    """It closes a kept connection while we send: that is a failure, to be sent again at once.

    Whether the backend has it nobody can tell (here it has): by OTLP it may come twice.
    """
    transport = HttpTransport(server.endpoint(), {})
    server.will(ok(), hang_up, hang_up)
    assert transport.send(request(), LONG_NS) == Outcome(True)
    outcome = transport.send(request(), LONG_NS)
    assert (outcome.reason, outcome.retryable, outcome.delay_ns) == ("unreachable", True, 0)
    # On a new connection it is a failure as any other.
    outcome = transport.send(request(), LONG_NS)
    assert (outcome.reason, outcome.retryable, outcome.delay_ns) == ("unreachable", True, None)
    assert transport.send(request(), LONG_NS) == Outcome(True)
    assert (len(server.got), server.connections) == (4, 3)


def test_early_answer(server: OtlpServer) -> None:
    """It says that a request is too large before it has read it, and hangs up."""
    server.reads = False
    server.will(lambda to: (status(413, "too large")(to), hang_up(to))[0])
    outcome = HttpTransport(server.endpoint(), {}).send(b"x" * (64 << 20), LONG_NS)
    assert (outcome.reason, outcome.retryable) == ("bad_request", False)


def test_length_lies(server: OtlpServer) -> None:
    """More than was announced is nobody's answer: the next request gets its own."""
    transport = HttpTransport(server.endpoint(), {})
    both = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 400 Bad\r\n\r\n"
    server.will(lambda to: (to.wfile.write(both), None)[1])
    assert transport.send(request(), LONG_NS) == Outcome(True)
    server.will(ok(rejected=1))
    assert transport.send(request(), LONG_NS).rejected == 1

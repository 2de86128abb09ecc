"""Whatever clients do to the real server, the next scrape still answers, and counts exactly."""

from __future__ import annotations

import socket
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.caller import Caller, caller, until
from tests.harness import Exporter, exporter

Pair = tuple[Exporter, Caller]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]") as running:
        yield running, it


def connect(running: Exporter) -> socket.socket:
    host, _, port = running.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def sent(running: Exporter, data: bytes) -> socket.socket:
    """A connection that has sent `data`, or as much of it as the server took."""
    connection = connect(running)
    with suppress(ConnectionError):
        connection.sendall(data)
    return connection


def still_answers(pair: Pair) -> bool:
    """The next scrape is right to the last call."""
    running, it = pair
    before = running.scrape().calls("it", "getppid")
    it.call(1009)
    after = running.scrape().calls("it", "getppid")
    assert running.process.poll() is None
    assert "Traceback" not in running.log
    return after - before == 1009


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    chunks = []
    with suppress(ConnectionError):
        while chunk := connection.recv(1 << 16):
            chunks.append(chunk)
    return b"".join(chunks)


HUGE = {
    "one header of 10 MB": b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10_000_000,
    "100,000 headers": b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
    "a path of 10 MB": b"GET /" + b"x" * 10_000_000,
    "10 MB of nothing": b"\0" * 10_000_000,
    "10 MB of empty lines": b"\r\n" * 5_000_000,
}


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE)
def test_huge_requests(data: bytes, pair: Pair) -> None:
    """They are cut off: the server closes before all of it is there, and goes on."""
    with sent(pair[0], data) as connection:
        assert still_answers(pair)
        said = answer(connection)
        assert not said or said.startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))
    assert still_answers(pair)


@pytest.mark.parametrize(
    "data", [b"", b"G", b"GET /metrics", b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: tex"]
)
def test_half_a_request(data: bytes, pair: Pair) -> None:
    """It waits alone; others are served meanwhile, and after it went away."""
    with sent(pair[0], data):
        assert still_answers(pair)
    assert still_answers(pair)


def test_two_hundred_idle_connections(pair: Pair) -> None:
    """Open, with nothing said, and with half a request said."""
    begin: Callable[[int], bytes] = lambda i: (b"", b"GET /metr")[i % 2]  # noqa: E731
    with ExitStack() as stack:
        for i in range(200):
            stack.enter_context(sent(pair[0], begin(i)))
        assert still_answers(pair)
    assert still_answers(pair)


def scraped(running: Exporter) -> bool:
    """Whether a scrape is answered; amid a flood it may be told to come again (503)."""
    with suppress(urllib.error.HTTPError):
        running.scrape()
        return True
    return False


def test_two_hundred_that_ask_and_do_not_read(pair: Pair) -> None:
    """Four thousand scrapes at once: one more gets its turn, while nobody takes the others."""
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(sent(pair[0], request * 20))
        until(lambda: scraped(pair[0]), "a scrape is answered")
    until(lambda: scraped(pair[0]), "the flood is over")
    assert still_answers(pair)


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"GET //x:y:z HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nAccept: " + b"*/*;q=," * 2000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_nonsense(data: bytes, pair: Pair) -> None:
    """Whatever it gets for an answer, the next one gets a scrape."""
    with sent(pair[0], data):
        assert still_answers(pair)
    assert still_answers(pair)

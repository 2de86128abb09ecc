"""What is sent over HTTP, and what each answer means: taken, refused, or to be sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from exporter import __version__
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import REASONS, Outcome
from exporter.publish.protobuf import varint
from tests.harness import free_port
from tests.unit.otlp_delivery import LONG_NS, names, request
from tests.unit.otlp_server import (
    Answer,
    Handler,
    OtlpServer,
    hang_up,
    ok,
    otlp_server,
    raw,
    status,
    text,
)

SECOND = 10**9
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


def send(server: OtlpServer, **others: object) -> Outcome:
    outcome = HttpTransport(server.endpoint(**others), {}).send(request(), LONG_NS)
    assert outcome.reason in ("", *REASONS)
    return outcome


def test_asked(server: OtlpServer) -> None:
    """Path, headers and spans are those that were given."""
    assert send(server, path="/x/v1/traces", headers=(("X-Api-Key", "k=1"),)) == Outcome(True)
    (got,) = server.got
    assert (got.path, names(got.spans)) == ("/x/v1/traces", ["span-0"])
    assert got.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": f"proctree-exporter/{__version__}",
        "content-type": "application/x-protobuf",
        "content-length": str(len(got.body)),
        "x-api-key": "k=1",
    }


def test_gzip(server: OtlpServer) -> None:
    assert send(server, gzip=True) == Outcome(True)
    (got,) = server.got
    assert got.headers["content-encoding"] == "gzip"
    assert (got.raw[:2], int(got.headers["content-length"])) == (b"\x1f\x8b", len(got.raw))
    assert names(got.spans) == ["span-0"]


def test_no_path(server: OtlpServer) -> None:
    assert send(server, path="").taken
    assert server.got[0].path == "/"


@pytest.mark.parametrize(
    ("code", "reason", "retryable"),
    [
        (400, "bad_request", False), (401, "unauthorized", False), (403, "unauthorized", False),
        (404, "bad_request", False), (408, "bad_request", False), (413, "bad_request", False),
        (415, "bad_request", False), (429, "too_many_requests", True), (500, "other", False),
        (501, "other", False), (502, "unavailable", True), (503, "unavailable", True),
        (504, "unavailable", True), (101, "bad_answer", False), (304, "bad_answer", False),
        (600, "bad_answer", False),
    ],
)  # fmt: skip
def test_status(code: int, reason: str, retryable: bool, server: OtlpServer) -> None:
    """The specification's: these four are to be sent again, no other; its words are told."""
    server.will(status(code, "because of this"))
    outcome = send(server)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, reason, retryable)
    assert f"HTTP {code}" in outcome.text
    if code >= 400:
        assert "because of this" in outcome.text


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_redirect(code: int, server: OtlpServer) -> None:
    """Where spans go, the config says, and no answer."""
    with otlp_server() as other:
        server.will(status(code, Location=f"http://127.0.0.1:{other.port}/v1/traces"))
        assert send(server).reason == "bad_answer"
        assert (len(server.got), other.got) == (1, [])


@pytest.mark.parametrize("code", [200, 202, 204])
def test_taken(code: int, server: OtlpServer) -> None:
    """Any 2xx, with or without a body."""
    server.will(raw(b"", code))
    assert send(server) == Outcome(True)


def test_partial(server: OtlpServer) -> None:
    server.will(ok(rejected=3, message="too old"), ok(message="use gzip"), ok(rejected=1))
    assert send(server) == Outcome(True, "partial", rejected=3, message="too old")
    assert send(server) == Outcome(True, message="use gzip")
    assert send(server) == Outcome(True, "partial", rejected=1, message="no reason is given")


@pytest.mark.parametrize(
    "body", [b"<html>all is well</html>", b"{}", b"ok", b"\x0a\xff", b"\x0a\x02\x08", b"\xff" * 20]
)
def test_garbage(body: bytes, server: OtlpServer) -> None:
    """A 2xx is taken, and never sent again; that its answer is none is told."""
    server.will(raw(body))
    outcome = send(server)
    assert (outcome.taken, outcome.reason, outcome.rejected) == (True, "bad_answer", 0)


@pytest.mark.parametrize(
    ("answer", "taken", "reason"),
    [
        (raw(b"\x0a\x02\x08", length=100), True, "bad_answer"),
        (raw(b"", length=100), True, "bad_answer"),
        (raw(b"half", 503, length=100), False, "unavailable"),
        (raw(b"half", 400, length=100), False, "bad_request"),
        (raw(b"", length=-5), True, ""),
        (text(CHUNKED + b"9\r\nhalf"), True, "bad_answer"),
        (text(CHUNKED + b"no\r\n"), True, "bad_answer"),
        (text(b"HTTP/1.1 200 OK\r\n\r\n"), True, ""),
        (text(b"HTTP/1.1 200 OK\r\nContent-Le"), True, ""),
        (text(b"HTTP/1.1 2"), False, "bad_answer"),
        (text(b"HTTP/1.1"), False, "bad_answer"),
        (text(b"HTTP/2 200\r\n\r\n"), False, "bad_answer"),
        (text(b"SSH-2.0-OpenSSH_9.2\r\n"), False, "bad_answer"),
        (text(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), False, "bad_answer"),
        (text(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000), False, "bad_answer"),
        (text(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000), False, "bad_answer"),
        (hang_up, False, "unreachable"),
    ],
)  # fmt: skip
def test_half(answer: Answer, taken: bool, reason: str, server: OtlpServer) -> None:
    """What has a status is what that says; what has none is sent again."""
    server.will(answer)
    outcome = send(server)
    assert (outcome.taken, outcome.reason) == (taken, reason)
    retryable = reason in ("unreachable", "unavailable") or (reason == "bad_answer" and not taken)
    assert outcome.retryable == retryable


def test_endless(server: OtlpServer) -> None:
    """A body is not read to its end, wherever that is."""

    def endless(to: Handler) -> None:
        raw(b"", length=1 << 40)(to)
        while not server.over.is_set():
            to.wfile.write(b" " * 65536)

    server.will(endless)
    outcome = send(server)
    assert (outcome.taken, outcome.reason) == (True, "bad_answer")
    assert "more than 65536 bytes" in outcome.text


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7), (" 7 ", 7), ("0", None), ("-1", None), ("1.5", None), ("soon", None), ("", None),
        ("9" * 400, 999_999_999_999), ("Wed, 21 Oct 2015 07:28:00 GMT", None), ("٣", None),
        ("Mon, 99 Foo 99999 99:99:99 GMT", None), ("Wed, 21 Oct 99999999 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after(header: str, seconds: int | None, server: OtlpServer) -> None:
    server.will(status(429, Retry_After=header.encode().decode("latin-1")))
    assert send(server).delay_ns == (seconds and seconds * SECOND)


def test_retry_after_date(server: OtlpServer) -> None:
    began = time.time()
    server.will(status(503, Retry_After=formatdate(int(began) + 100, usegmt=True)))
    delay_ns = send(server).delay_ns
    took = time.time() - began
    assert delay_ns
    assert 99 - took <= delay_ns / SECOND <= 100


def test_words(server: OtlpServer) -> None:
    """What a backend says is one line without control characters, and not too long."""
    hostile = b"a\x1b[31m\r\n\x00b\xff" + b"c" * 5000
    as_status = b"\x12" + varint(len(hostile)) + hostile
    for body in (hostile, as_status):
        server.will(raw(body, 400))
        words = send(server).text
        assert words.startswith("HTTP 400 Bad Request: a [31m b\ufffdccc")
        assert words.isprintable()
        assert len(words) == 500


def test_refused() -> None:
    endpoint = Endpoint(f"http://127.0.0.1:{free_port()}/v1/traces")
    outcome = HttpTransport(endpoint, {}).send(request(), LONG_NS)
    assert (outcome.reason, outcome.retryable) == ("unreachable", True)
    assert "Connection refused" in outcome.text


@pytest.mark.parametrize("host", ["does-not-exist.invalid", "a" * 64 + ".invalid", "a..b"])
def test_no_such_host(host: str) -> None:
    outcome = HttpTransport(Endpoint(f"http://{host}/v1/traces"), {}).send(request(), LONG_NS)
    assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "unreachable", True)

"""What is sent to an API server, what each wrong answer is counted as, and how requests end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from exporter.metadata.kubernetes import client
from exporter.metadata.kubernetes.client import Client
from exporter.metadata.kubernetes.failure import REASONS, Failure
from exporter.metadata.kubernetes.settings import Server
from tests.harness import free_port
from tests.unit.kube_server import Answer, Handler, KubeServer, kube_server, raw, status


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with kube_server() as it:
        yield it


def get(it: Client, idle_s: float = 60, whole_s: float = 60) -> bytes:
    with it.pods({"limit": "1"}, idle_s=idle_s, whole_s=whole_s) as answer:
        return answer.read()


def failure(it: Client, idle_s: float = 60, whole_s: float = 60) -> Failure:
    with pytest.raises(Failure) as caught:
        get(it, idle_s, whole_s)
    assert caught.value.reason in REASONS
    return caught.value


def test_asked(server: KubeServer) -> None:
    server.will(raw(b"answer", length=6))
    assert get(Client(server.where())) == b"answer"
    (asked,) = server.asked
    assert (asked.path, asked.query) == ("/api/v1/pods", {"limit": "1"})
    assert asked.headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (401, "unauthorized"), (403, "forbidden"), (404, "bad_answer"), (410, "gone"),
        (429, "throttled"), (302, "bad_answer"), (500, "server_error"), (504, "server_error"),
    ],
)  # fmt: skip
def test_status(code: int, reason: str, server: KubeServer) -> None:
    """The server's own words are told."""
    server.will(status(code, "because of this"))
    found = failure(Client(server.where()))
    assert (found.reason, found.retry_after_s) == (reason, 0)
    assert f"HTTP {code}" in str(found)
    assert "because of this" in str(found)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("100000", 300), ("-1", 0), ("nan", 0), ("Wed, 21 Oct 2099 07:28:00 GMT", 0)],
)
def test_retry_after(text: str, seconds: float, server: KubeServer) -> None:
    server.will(status(429, "later", Retry_After=text))
    assert failure(Client(server.where())).retry_after_s == seconds


@pytest.mark.parametrize("body", [b"<html>", b"[[" * 2000, b'{"message": 1}', b"\xff\xfe\x00"])
def test_odd_refusal(body: bytes, server: KubeServer) -> None:
    server.will(raw(body, 403, len(body)))
    assert failure(Client(server.where())).reason == "forbidden"


def test_unreachable() -> None:
    nobody = Server("127.0.0.1", free_port(), "", False, None, None, "n")
    assert failure(Client(nobody)).reason == "unreachable"


def _broken_chunk(to: Handler) -> None:
    to.send_response(200)
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    to.wfile.write(b"100\r\nhalf")


def _nothing(to: Handler) -> None:
    """The connection ends without an answer."""


def _no_http(to: Handler) -> None:
    to.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")


def _endless_header(to: Handler) -> None:
    to.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_broken_chunk, "unreachable"),
        (raw(b"half", length=100), "unreachable"),
        (_nothing, "unreachable"),
        (_no_http, "bad_answer"),
        (_endless_header, "bad_answer"),
    ],
)
def test_broken(answer: Answer, reason: str, server: KubeServer) -> None:
    server.will(answer)
    assert failure(Client(server.where())).reason == reason


def test_slow(server: KubeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that has begun may pause for longer than one that has not."""
    monkeypatch.setattr(client, "ANSWER_S", 0.1)

    def slow(to: Handler) -> None:
        raw(b"", length=4)(to)
        server.over.wait(0.3)
        to.wfile.write(b"late")

    server.will(slow)
    assert get(Client(server.where())) == b"late"


def test_silent(server: KubeServer) -> None:
    """An answer that begins and does not go on is waited for, but not for ever."""
    server.will(lambda to: (raw(b"half", length=100)(to), server.over.wait())[0])
    assert failure(Client(server.where()), idle_s=0.1).reason == "timeout"


def test_dripping(server: KubeServer) -> None:
    """Nor is one that never stops and never ends, a byte at a time."""

    def drip(to: Handler) -> None:
        raw(b"", length=1 << 30)(to)
        while not server.over.wait(0.01):
            to.wfile.write(b" ")

    server.will(drip)
    found = failure(Client(server.where()), whole_s=0.3)
    assert (found.reason, str(found)) == ("timeout", "the answer took more than 0 s")


@contextmanager
def deaf() -> Iterator[tuple[int, threading.Event]]:
    """Takes a connection and never says anything: its port, and that somebody has come."""
    came, held = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            held.append(listener.accept())
            held[0][0].recv(1)
            came.set()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], came
        thread.join()
        held[0][0].close()


@pytest.mark.parametrize("tls", [False, True])
def test_hang_up(tls: bool) -> None:
    """Whatever it waits for (here: an answer, a handshake), the request ends at once."""
    with deaf() as (port, came):
        it = Client(Server("127.0.0.1", port, "", tls, None, None, "n"))
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(failure(it).reason), daemon=True)
        thread.start()
        assert came.wait(60)
        it.hang_up()
        thread.join(10)  # a third of what it would wait by itself
        assert found == ["unreachable"]


def test_hung_up(server: KubeServer) -> None:
    """So do all later ones."""
    it = Client(server.where())
    it.hang_up()
    assert failure(it).reason == "unreachable"

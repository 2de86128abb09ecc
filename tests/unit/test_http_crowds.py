"""Clients without manners: half requests, crowds, slow readers; the next scrape still answers."""

from __future__ import annotations

import errno
import os
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.snapshot import Snapshot
from exporter.publish.connection import Limits
from exporter.publish.flags import Flags
from tests.unit import http_client
from tests.unit.http_client import Client, Serve, get
from tests.unit.publish_samples import call, snapshot

serve = http_client.serve


def test_requests_that_are_none(serve: Serve) -> None:
    """400, 414, 431, 501, 505: answered, closed, and the client can read the answer to its end."""
    server, _ = serve()
    get_, end = b"GET /metrics HTTP/1.1\r\n", b"\r\n\r\n"
    for data, status in (
        (b"\x16\x03\x01\x02\x00\x01\n\n", 400),
        (get_ + b"no colon" + end, 400),
        (get_ + b"A : 1" + end, 400),
        (b"GET / HTTX" + end, 400),
        (b"GET /" + b"x" * 300_000, 414),
        (get_ + b"X: " + b"x" * 300_000 + end, 431),
        (get_ + b"X: x\r\n" * 300 + end, 431),
        (get_ + (b"X: " + b"x" * 900 + b"\r\n") * 20 + end, 431),
        (b"BREW / HTTP/1.1" + end, 501),
        (b"GET / HTTP/3.0" + end, 505),
    ):
        client = Client(server.address)
        client.send(data)
        answer = client.answer()
        assert answer.status == status, data[:40]
        assert answer.headers["connection"] == "close"
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert client.closed()


def test_who_we_are_is_said_and_no_more(serve: Serve) -> None:
    """The name, and not which Python; in errors as well."""
    server, _ = serve()
    for path in ("/", "/nothing", "/" + "x" * 70_000):
        answer = get(server, path)
        assert answer.headers["server"] == "proctree-exporter"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert b"ython" not in answer.body


@pytest.mark.parametrize(
    ("request_line", "kept"),
    [("GET http://h:1/metrics?x HTTP/1.1", True), ("GET /metrics?a=http://[ HTTP/1.1", True),
     ("GET //metrics HTTP/1.1", True), ("GET /metrics HTTP/1.0", False),
     ("GET /metrics HTTP/1.1\r\nConnection: Close", False)],
)  # fmt: skip
def test_requests_that_are_unusual(serve: Serve, request_line: str, kept: bool) -> None:
    """As a proxy sends them, with a query, without keep-alive: `/metrics` all the same."""
    server, _ = serve()
    client = Client(server.address)
    client.send(request_line.encode() + b"\r\n\r\n")
    answer = client.answer()
    assert answer.status == 200
    assert b"\nproctree_syscalls_total{" in answer.body
    assert ("connection" not in answer.headers) is kept
    if kept:
        assert client.get("/-/healthy").status == 200
    else:
        assert client.closed()


def test_no_bytes_break_the_server(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is sent, there is an answer or an end, and nothing in the log."""
    server, _ = serve()

    @given(st.binary(max_size=200))
    def send(data: bytes) -> None:
        client = Client(server.address)
        client.send(data)
        client.sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while client.sock.recv(1 << 16):
                pass
        client.sock.close()

    send()
    assert get(server, "/-/healthy").status == 200
    assert not caplog.records


def test_a_body_is_not_taken_for_a_request(serve: Serve) -> None:
    """It is left unread, and the connection ends."""
    server, exporter = serve(Flags(lifecycle=True))
    client = Client(server.address)
    body = b"GET /nothing HTTP/1.1\r\n\r\n"
    client.send(b"POST /-/reload HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert client.answer().status == 200
    assert client.closed()
    assert exporter.reloads == 1


def test_half_a_request_ends(serve: Serve) -> None:
    """After head_s without another byte of it."""
    server, _ = serve(limits=Limits(head_s=0.3))
    for half in (b"GET /metrics HTT", b"GET /metrics HTTP/1.1\r\nX: "):
        client = Client(server.address)
        begin = time.monotonic()
        client.send(half)
        assert client.closed()
        assert 0.3 <= time.monotonic() - begin < 2


def test_idle_connections_are_closed_in_time(serve: Serve) -> None:
    """After idle_s without a request; those in use stay."""
    server, _ = serve(limits=Limits(idle_s=0.3))
    idle, used = Client(server.address), Client(server.address)
    idle.get("/-/healthy")
    for _ in range(5):
        used.get("/-/healthy")
        time.sleep(0.1)
    assert idle.closed()
    assert used.get("/-/healthy").status == 200


def test_many_idle_connections_and_half_requests(serve: Serve) -> None:
    """With 600 of them open the next scrape still answers; threads and descriptors are bounded."""
    server, _ = serve(limits=Limits(connections=128))
    before = threading.active_count()
    crowd = []
    for number in range(600):
        client = Client(server.address)
        if number % 3 == 0:
            client.send(b"GET /metrics HTTP/1.1\r\nX: ")
        crowd.append(client)
    assert get(server, "/metrics").status == 200
    assert crowd[0].closed()  # the one longest idle
    time.sleep(0.1)
    assert 120 < threading.active_count() - before <= 128
    crowd[-1].send(b"GET /-/healthy HTTP/1.1\r\n\r\n")
    assert crowd[-1].answer().status == 200


def big_snapshot() -> Snapshot:
    calls = [call(f"t{n}", f"call{m}", 5) for n in range(100) for m in range(60)]
    return Snapshot(1, 1, 2, calls, [], [], [], {})


def test_slow_readers_hold_up_nobody(serve: Serve) -> None:
    """Ten ask for 10 MB each and read nothing: the next scrape answers, memory is bounded."""
    big = [big_snapshot()] * 10
    server, _ = serve(
        limits=Limits(unsent_bytes=20 << 20), says=lambda: big.pop() if big else snapshot()
    )
    slow = []
    for _ in range(10):
        client = Client(server.address)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send(b"GET /metrics HTTP/1.1\r\n\r\n")
        slow.append(client)
    assert get(server, "/-/healthy").status == 200
    while big:
        time.sleep(0.01)
    assert get(server, "/metrics").status == 200
    assert 6 <= sum(is_reset(client) for client in slow) <= 8


def is_reset(client: Client) -> bool:
    """Without reading anything, which would let more of it be sent."""
    return client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


def test_a_slow_reader_that_reads_gets_it_all(serve: Serve) -> None:
    """10 MB through a small window, whole."""
    server, _ = serve(says=big_snapshot)
    client = Client(server.address)
    client.send(b"GET /metrics HTTP/1.1\r\n\r\n")
    time.sleep(0.5)
    answer = client.answer()
    assert len(answer.body) > 5_000_000
    assert answer.body.count(b"proctree_syscalls_total{") == 6000


def test_who_does_not_read_is_cut_off(serve: Serve) -> None:
    """After write_s, and the connection is gone for good."""
    server, _ = serve(limits=Limits(write_s=0.3), says=big_snapshot)
    client = Client(server.address)
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.send(b"GET /metrics HTTP/1.1\r\n\r\n")
    time.sleep(1.5)
    begin = time.monotonic()
    with pytest.raises((EOFError, ConnectionResetError)):
        client.answer()
    assert time.monotonic() - begin < 1  # a reset: the kernel keeps nothing for it either


def test_clients_that_leave_are_no_news(
    serve: Serve, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before, amid and after the response: nothing in the log, nothing on stderr."""
    server, exporter = serve(says=big_snapshot)
    linger_0 = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # close with a reset
    for data in (b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        for reset in (True, False):
            client = Client(server.address)
            client.send(data)
            if reset:
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_0)
            client.sock.close()
    exporter.says = snapshot
    assert get(server, "/metrics").status == 200
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_scrapes_do_not_hold_up_the_rest(serve: Serve) -> None:
    """While a snapshot takes its time, health and readiness answer, and so does a reload."""
    go = threading.Event()

    def late() -> Snapshot:
        go.wait(5)
        return snapshot()

    server, exporter = serve(Flags(lifecycle=True), says=late)
    scraper = Client(server.address)
    scraper.send(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert get(server, "/-/healthy").status == 200
    assert get(server, "/-/ready").status == 200
    assert get(server, "/-/reload", "POST").status == 200
    assert exporter.reloads == 1
    go.set()
    assert scraper.answer().status == 200


def test_one_scrape_at_a_time_and_few_wait(serve: Serve) -> None:
    """Those who come together are served one by one, a crowd is told so, health is not affected."""
    go = threading.Event()
    at_once = [0, 0]  # now, most

    def late() -> Snapshot:
        at_once[0] += 1
        at_once[1] = max(at_once)
        go.wait(5)
        at_once[0] -= 1
        return snapshot()

    server, _ = serve(says=late)
    clients = [Client(server.address) for _ in range(40)]
    for client in clients:
        client.send(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert get(server, "/-/healthy").status == 200
    time.sleep(0.3)
    go.set()
    assert Counter(client.answer().status for client in clients) == {200: 16, 503: 24}
    assert at_once == [0, 1]
    assert get(server, "/metrics").status == 200


@pytest.fixture
def no_more_descriptors() -> Iterator[Callable[[], None]]:
    """Leaves this process one descriptor: for the client, and then none for the server."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def leave_one() -> None:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, before[1]))

    yield leave_one
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_without_a_descriptor_the_longest_idle_goes(
    serve: Serve, no_more_descriptors: Callable[[], None]
) -> None:
    """EMFILE: one of our own connections makes room for the new one."""
    server, _ = serve()
    idle = Client(server.address)
    idle.get("/-/healthy")
    no_more_descriptors()
    assert get(server, "/-/healthy").status == 200
    assert idle.closed()


def test_without_a_descriptor_or_a_connection_it_waits(
    serve: Serve, no_more_descriptors: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    """One warning a second instead of a loop that burns a CPU; then it accepts again."""
    server, _ = serve()
    no_more_descriptors()
    cpu = time.process_time()
    client = Client(server.address)
    time.sleep(0.3)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft + 1, hard))
    assert client.get("/-/healthy").status == 200
    assert time.process_time() - cpu < 0.2
    assert len(caplog.records) == 1


def test_without_a_thread_the_longest_idle_goes(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none can be started one client is turned away, in one line, and the next is not."""
    server, _ = serve()
    idle = Client(server.address)
    idle.get("/-/healthy")
    start = threading.Thread.start

    def no_more(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_more)
    assert Client(server.address).closed()
    assert idle.closed()
    assert get(server, "/-/healthy").status == 200
    assert [r.getMessage() for r in caplog.records] == [
        "a connection failed: RuntimeError: can't start new thread"
    ]

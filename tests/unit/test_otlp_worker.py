"""From the queue to a backend: batches, and what becomes of each span."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from exporter.publish.otlp.batch import Item
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.retry import Policy
from tests.harness import free_port
from tests.unit.otlp_delivery import LONG_NS, SHORT_NS, WEB, items, until
from tests.unit.otlp_exporting import Exporting, exporting, received, span_names
from tests.unit.otlp_server import OtlpServer, deaf, hang_up, ok, otlp_server, raw, status, text


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


def test_all_sent(server: OtlpServer) -> None:
    """In their order, in batches, the last of which is not full."""
    with exporting(server.endpoint()) as it:
        assert it.queue.put_many(items(95)) == 95
        it.settled(95)
    assert received(server) == span_names(95)
    assert max(len(got.spans) for got in server.got) == 10
    assert (it.counts().sent, it.dropped(), it.failed()) == (95, {}, {})


def test_whole_batches(server: OtlpServer) -> None:
    """While it has not been for long, only whole batches are sent."""
    it = Exporting(server.endpoint(), delay_ns=2 * LONG_NS)
    it.worker.start()
    it.queue.put_many(items(35))
    server.wait_for(3)
    it.settled(30)
    assert [len(got.spans) for got in server.got] == [10, 10, 10]
    it.close()
    assert received(server) == span_names(35)


def test_outcomes(server: OtlpServer) -> None:
    """Each batch has its own, and the next one is not held up by it."""
    it = Exporting(server.endpoint(), Policy(1, 1))
    server.will(
        ok(), status(400), ok(rejected=3, message="old"), status(503), ok(), raw(b"<html>"),
        hang_up, text(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), status(401),
    )  # fmt: skip
    it.queue.put_many(items(70))
    it.worker.start()
    it.settled(70)
    it.close()
    assert it.counts().sent == 70 - 10 - 3 - 10
    assert it.dropped() == {"rejected": 23}
    assert it.failed() == {
        "bad_request": 1, "partial": 1, "unavailable": 1, "bad_answer": 2, "unreachable": 1,
        "unauthorized": 1,
    }  # fmt: skip
    assert len(server.got) == 9


def test_gave_up(server: OtlpServer) -> None:
    """A backend that is away for too long costs what was to be sent then, and no more."""
    server.otherwise = status(503)
    with exporting(server.endpoint(), Policy(1, 1, total_ns=3 * SHORT_NS)) as it:
        it.queue.put_many(items(10))
        until(it.dropped)
        assert it.dropped() == {"gave_up": 10}
        server.otherwise = ok()
        it.queue.put_many(items(10))
        until(lambda: it.counts().sent)
        assert (it.counts().sent, it.dropped()) == (10, {"gave_up": 10})


def test_away_and_back() -> None:
    """What was queued while nobody was there arrives when somebody is: all of it, once."""
    port = free_port()
    with exporting(Endpoint(f"http://127.0.0.1:{port}/v1/traces")) as it:
        it.queue.put_many(items(50))
        until(lambda: it.failed().get("unreachable", 0) >= 3)
        with otlp_server(port=port) as server:
            it.settled(50)
            assert received(server) == span_names(50)
        assert (it.counts().sent, it.dropped()) == (50, {})
        assert set(it.failed()) == {"unreachable"}


@pytest.mark.parametrize("backend", ["refused", "silent", "busy", "throttling"])
def test_put_never_waits(backend: str, server: OtlpServer) -> None:
    """Whatever the backend does: what does not fit is dropped at once, and counted."""
    server.otherwise = status(429, Retry_After="100") if backend == "throttling" else status(503)
    with deaf() as (silent, _):
        port = {"refused": free_port(), "silent": silent}.get(backend, server.port)
        with exporting(Endpoint(f"http://127.0.0.1:{port}/v1/traces")) as it:
            queued = sum(it.queue.put_many([(WEB, b"x")]) for _ in range(5000))
            found = it.counts()
            assert 100 <= found.queued <= 110  # a batch may be on its way, beside a full queue
            assert (found.put, found.sent) == (5000, 0)
            assert found.dropped["queue_full"] == 5000 - queued == 5000 - found.queued
            it.close(0)
            assert it.dropped() == {"queue_full": 5000 - queued, "unsent": queued}


def test_our_own_error(server: OtlpServer) -> None:
    """A batch that we cannot encode is dropped and counted; the thread goes on."""

    def broken(batch: Sequence[Item]) -> bytes:
        if batch[0] == items(1)[0]:
            raise ValueError("no")
        return b""

    it = Exporting(server.endpoint(), encode=broken)
    it.queue.put_many(items(20))
    it.worker.start()
    it.settled(20)
    it.close()
    assert (it.counts().sent, it.dropped(), it.failed()) == (10, {"gave_up": 10}, {"other": 1})


def test_crowd(server: OtlpServer) -> None:
    """Many threads put, the backend has its moods, and in the end it all adds up."""
    server.will(*[status(503), ok(), hang_up, ok(rejected=1), status(400), raw(b"?")] * 20)
    with exporting(server.endpoint(), Policy(1, 1)) as it:

        def put(first: int) -> None:
            for number in range(first, first + 2000, 5):
                it.queue.put_many(items(5, number))

        threads = [threading.Thread(target=put, args=[n * 2000]) for n in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            it.counts()
        for thread in threads:
            thread.join()
        it.settled(8000)
        found = it.counts()
        assert (found.put, found.queued) == (8000, 0)
        assert found.dropped["unsent"] == found.dropped["gave_up"] == 0

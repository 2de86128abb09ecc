"""The end: what is queued has its last chance, and nobody waits for longer than was said."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from exporter.publish.otlp.endpoint import Endpoint
from tests.harness import PATIENCE_S
from tests.unit.otlp_delivery import LONG_NS, SHORT_NS, WEB, items, until
from tests.unit.otlp_exporting import Exporting, exporting, received, span_names
from tests.unit.otlp_server import OtlpServer, deaf, otlp_server, status


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


def test_close_sends(server: OtlpServer) -> None:
    """What is queued has its last chance."""
    it = Exporting(server.endpoint())
    it.queue.put_many(items(100))
    it.worker.start()
    it.close()
    assert received(server) == span_names(100)
    assert (it.counts().sent, it.dropped()) == (100, {})
    assert not it.queue.put_many([(WEB, b"x")])
    assert it.dropped() == {"unsent": 1}


def test_close_tries_once(server: OtlpServer) -> None:
    """A backend that cannot take them now has each batch once; all are counted."""
    it = Exporting(server.endpoint())
    server.otherwise = status(503, Retry_After="100")
    it.queue.put_many(items(100))
    it.queue.close()
    it.delivery.end_by(time.monotonic_ns() + LONG_NS)
    it.worker.start()
    it.close()
    assert sorted(received(server)) == sorted(span_names(100))
    assert it.dropped() == {"unsent": 100}
    assert it.failed() == {"unavailable": 10}


def test_close_in_backoff(server: OtlpServer) -> None:
    """Who waits is woken: what was refused for now is tried once more, and so is the rest."""
    it = Exporting(server.endpoint())
    server.will(status(503, Retry_After="100"))
    it.queue.put_many(items(100))
    it.worker.start()
    until(it.failed)
    it.close()
    assert received(server) == span_names(10) + span_names(100)
    assert (it.counts().sent, it.dropped(), it.failed()) == (100, {}, {"unavailable": 1})


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_close_on_a_black_hole(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is over when the time is over, though the try could go on."""
    with deaf() as (port, came):
        it = Exporting(Endpoint(f"{scheme}://127.0.0.1:{port}/", timeout_ns=100 * LONG_NS))
        it.queue.put_many(items(50))
        it.worker.start()
        assert came.wait(PATIENCE_S)
        it.close(SHORT_NS)
        assert it.dropped() == {"unsent": 50}
        assert it.counts().queued == 0
        it.worker._thread.join(PATIENCE_S)
        assert not it.worker._thread.is_alive()
        assert it.dropped() == {"unsent": 50}
        assert caplog.text == ""


def test_close_when_names_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up of a name cannot be ended by anybody. Nobody waits for it."""
    asked, over = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> Sequence[object]:
        asked.set()
        over.wait(PATIENCE_S)
        return []

    monkeypatch.setattr("socket.getaddrinfo", hang)
    it = Exporting(Endpoint("http://collector.example/"))
    it.queue.put_many(items(50))
    it.worker.start()
    assert asked.wait(PATIENCE_S)
    it.close(SHORT_NS)
    assert it.dropped() == {"unsent": 50}
    over.set()
    it.worker._thread.join(PATIENCE_S)
    assert it.dropped() == {"unsent": 50}


def test_close_again(server: OtlpServer) -> None:
    it = Exporting(server.endpoint())
    it.queue.put_many(items(5))
    it.worker.start()
    for _ in range(3):
        it.close()
    assert (it.counts().sent, len(server.got)) == (5, 1)


def test_close_before_start(server: OtlpServer) -> None:
    it = Exporting(server.endpoint())
    it.queue.put_many(items(5))
    it.close()
    assert (server.got, it.dropped()) == ([], {"unsent": 5})


def test_close_without_spans(server: OtlpServer, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is sent, nothing is said."""
    with caplog.at_level(logging.INFO), exporting(server.endpoint()) as it:
        it.close()
    assert (server.got, caplog.text) == ([], "")

"""What the log hears of a backend: the beginning and the end of a trouble, and no secrets."""

from __future__ import annotations

import logging

import pytest

from exporter.publish.otlp.delivery import Delivery, Failures
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.health import MESSAGES, QUIET_NS, Health
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import Outcome
from tests.harness import free_port
from tests.unit.otlp_delivery import HASTY, LONG_NS, request
from tests.unit.otlp_server import hang_up, ok, otlp_server, status

WHERE = "http://127.0.0.1:4318/v1/traces"
TAKEN = Outcome(True)
AWAY = Outcome(False, "unreachable", "Connection refused", retryable=True)
REFUSED = Outcome(False, "unauthorized", "HTTP 401 Unauthorized")


class Told:
    """A health by a clock that stands until it is moved, and the lines since they were read."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self.now_ns = 5
        self._health = Health("spans", WHERE, lambda: self.now_ns)

    def __call__(self, *outcomes: Outcome) -> list[tuple[str, str]]:
        for outcome in outcomes:
            self._health.note(outcome)
        lines = [(it.levelname, it.getMessage()) for it in self._caplog.records]
        self._caplog.clear()
        return lines


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    return Told(caplog)


def test_away_and_back(told: Told) -> None:
    """One line when it begins, one when it is over, none in between, nor when all is well."""
    assert told(TAKEN, TAKEN) == []
    ((level, line),) = told(AWAY, AWAY, AWAY)
    assert (level, line.startswith(f"OTLP: spans to {WHERE}: unreachable: Connection")) == (
        "WARNING", True,
    )  # fmt: skip
    assert "are sent again" in line
    told.now_ns += QUIET_NS
    assert told(AWAY) == []
    assert told(TAKEN) == [("INFO", f"OTLP: spans to {WHERE} are taken again")]
    assert told(TAKEN) == []


def test_another_trouble(told: Told) -> None:
    """Which follows on the first is told, though not more than one a minute."""
    assert len(told(AWAY)) == 1
    assert told(REFUSED, AWAY, REFUSED) == []
    told.now_ns += QUIET_NS
    ((_, line),) = told(REFUSED, REFUSED)
    assert "unauthorized: HTTP 401 Unauthorized; what it refuses is dropped" in line


def test_flapping(told: Told) -> None:
    """A backend that is back and away again all the time has a line or two a minute."""
    assert len(told(*[AWAY, TAKEN] * 1000)) == 2
    told.now_ns += QUIET_NS
    assert len(told(*[AWAY, TAKEN] * 1000)) == 2


def test_wrong_answer(told: Told) -> None:
    """Something says 200 to everything: it must be told, though nothing is known to be lost."""
    ((level, line),) = told(*[Outcome(True, "bad_answer", "HTTP 200 with '<html>'")] * 3)
    assert (level, "HTTP 200 with '<html>'" in line) == ("WARNING", True)
    assert "see that this is the endpoint of an OTLP backend" in line


def test_stale_connection(told: Told) -> None:
    """What is sent again at once is no trouble."""
    assert told(Outcome(False, "unreachable", "stale", retryable=True, delay_ns=0), TAKEN) == []


def test_partial(told: Told) -> None:
    """A message is told once; another one, too, a minute later."""
    old = Outcome(True, "partial", rejected=3, message="too old")
    ((level, line),) = told(old, old, TAKEN, old)
    assert (level, line) == (
        "WARNING",
        f"OTLP: spans to {WHERE}: the backend says, 3 rejected: too old (told once)",
    )
    other = Outcome(True, message="use gzip")
    assert told(other, other) == []
    told.now_ns += QUIET_NS
    assert len(told(old, other, other)) == 1
    told.now_ns += QUIET_NS
    assert told(old, other) == []


def test_many_messages(told: Told) -> None:
    """A backend that never says the same twice fills neither log nor memory."""
    for number in range(2 * MESSAGES):
        assert len(told(Outcome(True, message=f"no. {number}"))) == 1
        assert told(Outcome(True, message=f"also no. {number}")) == []
        told.now_ns += QUIET_NS
    assert len(told._health._messages) == MESSAGES


def test_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """Headers are not in the log, whatever goes wrong; nor is a proxy's password."""
    caplog.set_level(logging.DEBUG)
    secret, password = "k3y-0f-4-c0mp4ny", "p4ssw0rd"

    def deliver(endpoint: Endpoint, variables: dict[str, str]) -> None:
        for _ in range(2):
            transport = HttpTransport(endpoint, variables)
            delivery = Delivery("spans", transport, Failures(), LONG_NS, HASTY)
            for _ in range(2):
                delivery.deliver(request(), 10**8)

    headers = (("authorization", f"Bearer {secret}"), ("x-api-key", secret))
    deliver(Endpoint(f"http://127.0.0.1:{free_port()}/v1/traces", headers), {})
    proxy = {"http_proxy": f"http://u:{password}@127.0.0.1:{free_port()}"}
    deliver(Endpoint("http://collector.example/v1/traces", headers), proxy)
    with otlp_server() as server:
        server.will(status(401), ok(), hang_up, status(503), ok(rejected=1, message="x"))
        deliver(server.endpoint(headers=headers), {})
    assert len(caplog.records) > 4
    assert secret not in caplog.text
    assert password not in caplog.text

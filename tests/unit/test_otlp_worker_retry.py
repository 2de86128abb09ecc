"""When a request is sent again: the arithmetic, and what a delivery makes of outcomes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.publish.otlp.delivery import Delivery, Failures
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import REASONS, Outcome
from exporter.publish.otlp.retry import POLICY, Policy, delay_ns, retry_after_ns
from exporter.publish.otlp.signals import Signal
from exporter.publish.otlp.transport import delivery_for
from tests.harness import PATIENCE_S
from tests.unit.otlp_delivery import HASTY, LONG_NS, SHORT_NS, request, until
from tests.unit.otlp_server import OtlpServer, deaf, hang_up, ok, otlp_server, status

SECOND = 10**9
CHANCE = st.floats(0, 1, exclude_max=True)


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as it:
        yield it


class Sending:
    """A delivery of spans to a server, its failures, and the time now."""

    def __init__(self, server: OtlpServer, policy: Policy = HASTY, chance: float = 1.0) -> None:
        self.failures = Failures()
        self.it = Delivery(
            "spans", HttpTransport(server.endpoint(), {}), self.failures, LONG_NS, policy,
            lambda: chance,
        )  # fmt: skip

    def failed(self) -> dict[str, int]:
        return {reason: number for reason, number in self.failures.numbers().items() if number}


@given(st.integers(1, 10**6), st.none() | st.integers(1, 10**15), CHANCE)
def test_delay(in_a_row: int, asked: int | None, chance: float) -> None:
    """Never less than was asked for, up to the most that may be; jitter on top, to a limit."""
    least = min(asked or 0, POLICY.asked_at_most_ns)
    delay = delay_ns(POLICY, in_a_row, asked, chance)
    assert (
        least
        <= delay
        <= least + min(POLICY.longest_ns, POLICY.first_ns * 2 ** min(in_a_row - 1, 9))
    )


def test_doubles() -> None:
    """1 s at most after the first failure, then 2, 4, …, 30; all of it is jitter."""
    most = [delay_ns(POLICY, number, None, 1.0) for number in range(1, 8)]
    assert most == [it * SECOND for it in (1, 2, 4, 8, 16, 30, 30)]
    assert delay_ns(POLICY, 5, None, 0.0) == 0
    assert delay_ns(POLICY, 5, None, 0.5) == 8 * SECOND
    assert delay_ns(POLICY, 5, 0, 1.0) == 0  # at once


@given(st.text())
def test_any_retry_after(text: str) -> None:
    assert (retry_after_ns(text, 0) or 1) > 0


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.integers(0, 10**10))
def test_retry_after_date(date: datetime, ahead_s: int) -> None:
    """Whole seconds; in every spelling of UTC."""
    date = date.replace(microsecond=0, tzinfo=UTC)
    now_ns = (int(date.timestamp()) - ahead_s) * SECOND
    expected = ahead_s * SECOND or None
    for text in (format_datetime(date, usegmt=True), date.strftime("%d %b %Y %H:%M:%S -0000")):
        assert retry_after_ns(text, now_ns) == expected


def test_again(server: OtlpServer) -> None:
    """Until it is taken. Every try that failed is counted; the others stand at 0."""
    server.will(status(503), hang_up, status(429), status(502), ok())
    sending = Sending(server)
    assert sending.it.deliver(request()) == Outcome(True)
    assert len(server.got) == 5
    assert sending.failed() == {"unavailable": 2, "unreachable": 1, "too_many_requests": 1}
    assert set(sending.failures.numbers()) == set(REASONS)


def test_same_bytes(server: OtlpServer) -> None:
    server.will(status(503), status(503))
    Sending(server).it.deliver(request(3))
    assert [got.body for got in server.got] == [request(3)] * 3


@pytest.mark.parametrize("code", [400, 401, 404, 413, 500])
def test_final(code: int, server: OtlpServer) -> None:
    """Once, and not again."""
    server.will(status(code))
    sending = Sending(server)
    outcome = sending.it.deliver(request())
    assert (outcome.taken, outcome.retryable, len(server.got)) == (False, False, 1)
    assert sum(sending.failed().values()) == 1


def test_partial(server: OtlpServer) -> None:
    """It was taken: never again. What it says as a warning is no failure."""
    server.will(ok(rejected=2), ok(message="all is well"))
    sending = Sending(server)
    assert sending.it.deliver(request()).rejected == 2
    assert sending.it.deliver(request()).taken
    assert (len(server.got), sending.failed()) == (2, {"partial": 1})


def test_given_up(server: OtlpServer) -> None:
    """After the total limit the last outcome is what became of it."""
    server.otherwise = status(503)
    sending = Sending(server, Policy(10**6, 10**6, total_ns=3 * SHORT_NS))
    outcome = sending.it.deliver(request())
    assert (outcome.taken, outcome.retryable, outcome.reason) == (False, True, "unavailable")
    assert sending.failed() == {"unavailable": len(server.got)}
    assert len(server.got) > 1


def test_no_use_waiting(server: OtlpServer) -> None:
    """A wait that would end after the limit is not begun; it holds for the next request, too."""
    server.will(status(503, Retry_After="3600"))
    sending = Sending(server)
    assert sending.it.deliver(request(), SECOND).reason == "unavailable"
    outcome = sending.it.deliver(request(), SECOND)
    assert (outcome.taken, outcome.retryable, outcome.reason) == (False, True, "")
    assert (len(server.got), sending.failed()) == (1, {"unavailable": 1})


def test_retry_after(server: OtlpServer) -> None:
    """Not before what the backend asked for."""
    server.will(status(429, Retry_After="1"))
    began = time.monotonic_ns()
    assert Sending(server, chance=0.0).it.deliver(request()).taken
    assert time.monotonic_ns() - began >= SECOND


def test_retry_after_is_cut(server: OtlpServer) -> None:
    """A backend cannot ask for silence for ever."""
    server.will(status(429, Retry_After="3600"))
    policy = Policy(first_ns=1, longest_ns=1, asked_at_most_ns=10**6)
    assert Sending(server, policy).it.deliver(request()).taken
    assert len(server.got) == 2


def test_backoff(server: OtlpServer) -> None:
    """Each wait is twice as long as the one before, until something is taken."""
    server.will(*[status(503)] * 4)
    sending = Sending(server, Policy(first_ns=10**7, longest_ns=LONG_NS))
    began = time.monotonic_ns()
    assert sending.it.deliver(request()).taken
    assert time.monotonic_ns() - began >= (1 + 2 + 4 + 8) * 10**7
    server.will(status(503, Retry_After="3600"))
    for _ in range(2):  # the second one finds that there is no use in waiting
        sending.it.deliver(request(), SECOND)
        assert sending.it._in_a_row == 1


def test_kept_connection(server: OtlpServer) -> None:
    """Closed while a request goes over it: sent again at once, and counted."""
    server.will(ok(), hang_up)
    sending = Sending(server, Policy(LONG_NS, LONG_NS))
    for _ in range(2):
        assert sending.it.deliver(request()).taken
    assert (len(server.got), sending.failed()) == (3, {"unreachable": 1})


def test_end_in_backoff(server: OtlpServer) -> None:
    """Whoever waits is woken, has one last try, and no more."""
    server.otherwise = status(503, Retry_After="100")
    sending = Sending(server)
    found: list[Outcome] = []
    thread = threading.Thread(target=lambda: found.append(sending.it.deliver(request())))
    thread.start()
    until(lambda: sending.it._not_before_ns)
    time.sleep(0.05)  # it is most likely waiting now; if not, the rest holds all the same
    sending.it.end_by(time.monotonic_ns() + LONG_NS)
    thread.join(PATIENCE_S)
    assert [it.reason for it in found] == ["unavailable"]
    assert len(server.got) == 2
    # So do those that come later.
    assert sending.it.deliver(request()).reason == "unavailable"
    assert len(server.got) == 3


def test_end_with_a_kept_connection(server: OtlpServer) -> None:
    """The last try may be the one that finds it closed: that costs no span."""
    server.will(ok(), hang_up)
    sending = Sending(server)
    assert sending.it.deliver(request()).taken
    sending.it.end_by(time.monotonic_ns() + LONG_NS)
    assert sending.it.deliver(request()).taken
    assert len(server.got) == 3


def test_limit() -> None:
    """What has less time than the timeout ends when that is over."""
    with deaf() as (port, _):
        failures = Failures()
        transport = HttpTransport(Endpoint(f"http://127.0.0.1:{port}/"), {})
        it = Delivery("metrics", transport, failures, 100 * LONG_NS)
        found: list[Outcome] = []
        deliver = lambda: found.append(it.deliver(request(), SHORT_NS))  # noqa: E731
        thread = threading.Thread(target=deliver, daemon=True)
        thread.start()
        thread.join(PATIENCE_S)
        assert [outcome.reason for outcome in found] == ["timeout"]
        it.hang_up()


def test_end_is_past(server: OtlpServer) -> None:
    sending = Sending(server)
    sending.it.end_by(time.monotonic_ns() - 1)
    assert not sending.it.deliver(request()).taken
    assert server.got == []


def test_end_in_a_try() -> None:
    """A backend that says nothing: the try is ended from outside, and it is the last."""
    with deaf() as (port, came):
        failures = Failures()
        transport = HttpTransport(Endpoint(f"http://127.0.0.1:{port}/"), {})
        it = Delivery("spans", transport, failures, LONG_NS)
        found: list[Outcome] = []
        thread = threading.Thread(target=lambda: found.append(it.deliver(request())), daemon=True)
        thread.start()
        assert came.wait(PATIENCE_S)
        it.hang_up()
        thread.join(PATIENCE_S / 2)
        assert [outcome.taken for outcome in found] == [False]
        assert sum(failures.numbers().values()) == 0  # none of the backend


def test_settings(server: OtlpServer) -> None:
    """What settings ask for: the endpoint, its timeout, and one counter for all signals."""
    failures = Failures()
    for name in ("traces", "metrics"):
        signal = Signal("http/protobuf", server.endpoint(f"/{name}", timeout_ns=SHORT_NS))
        server.will(lambda _: server.over.wait(), ok())
        assert delivery_for(name, signal, failures).deliver(request()).taken
    assert {got.path for got in server.got} == {"/traces", "/metrics"}
    assert failures.numbers()["timeout"] == len(server.got) - 2 >= 2


def test_one_try_has_its_limit() -> None:
    """The timeout is for one try; the next is another."""
    with deaf() as (port, _):
        failures = Failures()
        transport = HttpTransport(Endpoint(f"http://127.0.0.1:{port}/"), {})
        policy = Policy(1, 1, total_ns=SHORT_NS)
        outcome = Delivery("spans", transport, failures, SHORT_NS // 10, policy).deliver(request())
        assert (outcome.reason, outcome.retryable) == ("timeout", True)
        assert failures.numbers()["timeout"] > 1

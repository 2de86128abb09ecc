"""Brings requests to a backend, one at a time, each until it is taken, refused or too late."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping

from exporter.publish.otlp.health import Health
from exporter.publish.otlp.outcome import REASONS, Outcome, Transport
from exporter.publish.otlp.retry import POLICY, Policy, delay_ns

_CANNOT_WAIT = Outcome(False, "", "the backend asked us to stay away for longer", retryable=True)


class Failures:
    """How many tries failed, by reason; for all signals, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = dict.fromkeys(REASONS, 0)

    def count(self, reason: str) -> None:
        with self._lock:
            self._numbers[reason] += 1

    def numbers(self) -> Mapping[str, int]:
        """All reasons, from the start."""
        with self._lock:
            return dict(self._numbers)


class Delivery:
    """Of one signal. `deliver` is for one thread, all else for any; no signal handler calls it.

    What the backend asked for, and how often it has failed in a row, holds for the next request,
    too: one that is given up does not make the next one come sooner.
    """

    def __init__(
        self,
        what: str,
        transport: Transport,
        failures: Failures,
        timeout_ns: int,
        policy: Policy = POLICY,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`what` is a plural, for the log: spans, metrics. `timeout_ns` is for one try."""
        self._transport, self._failures, self._chance = transport, failures, chance
        self._timeout_ns, self._policy = timeout_ns, policy
        self._health = Health(what, transport.where)
        self._in_a_row = 0
        self._not_before_ns = 0
        self._ending = threading.Event()
        self._end_ns: int | None = None
        self._hung_up = False

    def deliver(self, request: bytes, limit_ns: int | None = None) -> Outcome:
        """The last outcome; it is retryable where the request was given up.

        Each try that was not taken, or not as it should be, is counted. It is over within
        `limit_ns`, or the policy's total limit. A wait that would not end by then is not begun.
        """
        total_ns = self._policy.total_ns
        give_up_ns = time.monotonic_ns() + min(total_ns if limit_ns is None else limit_ns, total_ns)
        outcome = _CANNOT_WAIT
        while self._wait(give_up_ns):
            last = self._ending.is_set()
            left_ns = self._end(give_up_ns) - time.monotonic_ns()
            if left_ns <= 0:
                break
            outcome = self._transport.send(request, min(self._timeout_ns, left_ns))
            if self._hung_up and not outcome.taken:
                break  # by us: no failure of the backend
            self._note(outcome)
            if outcome.taken or not outcome.retryable or (last and outcome.delay_ns != 0):
                break
        return outcome

    def count(self, reason: str) -> None:
        """A failure before there was a request."""
        self._failures.count(reason)

    def end_by(self, deadline_ns: int) -> None:
        """No more waiting: from now on each request gets one try, until then (monotonic).

        A try that is under way goes on with the time it has; `hang_up` ends it.
        """
        self._end_ns = deadline_ns
        self._ending.set()

    def hang_up(self) -> None:
        """Ends what is under way, and all that would come."""
        self._hung_up = True
        self.end_by(0)
        self._transport.hang_up()

    def _wait(self, give_up_ns: int) -> bool:
        """Until it may be sent; False: that is too late."""
        if self._ending.is_set():
            return True
        wait_ns = self._not_before_ns - time.monotonic_ns()
        if wait_ns <= 0:
            return True
        if self._not_before_ns >= give_up_ns:
            return False
        self._ending.wait(wait_ns / 1e9)
        return True

    def _end(self, give_up_ns: int) -> int:
        return give_up_ns if self._end_ns is None else min(self._end_ns, give_up_ns)

    def _note(self, outcome: Outcome) -> None:
        if outcome.reason:
            self._failures.count(outcome.reason)
        self._health.note(outcome)
        if not outcome.retryable:
            self._in_a_row = self._not_before_ns = 0
            return
        self._in_a_row += 1
        delay = delay_ns(self._policy, self._in_a_row, outcome.delay_ns, self._chance())
        self._not_before_ns = time.monotonic_ns() + delay

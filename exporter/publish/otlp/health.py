"""What the log hears of a backend: that it fails, that it is back, and what it has to say."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from exporter.publish.otlp.outcome import Outcome

#: Between two lines that say that something is wrong; what it is meanwhile, the counters tell.
QUIET_NS = 60 * 10**9
#: Different messages that are remembered, so that each is told once.
MESSAGES = 64

log = logging.getLogger(__name__)


class Health:
    """Of one backend and signal; for one thread."""

    def __init__(self, what: str, where: str, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._what, self._where, self._clock = what, where, clock
        self._told = ""  # the reason that was told, until it is back
        self._failure_at: int | None = None
        self._message_at: int | None = None
        self._messages: dict[str, None] = {}

    def note(self, outcome: Outcome) -> None:
        """Says what is new, and nothing twice; a failure of another kind only after a while."""
        if outcome.reason and outcome.reason != "partial":
            self._failed(outcome)
        elif self._told:
            log.info("OTLP: %s to %s are taken again", self._what, self._where)
            self._told = ""
        if outcome.message:
            self._say(outcome)

    def _failed(self, outcome: Outcome) -> None:
        if outcome.delay_ns == 0:  # it is being mended as we speak
            log.debug("OTLP: %s to %s: %s", self._what, self._where, outcome.text)
            return
        if outcome.reason == self._told or not self._is_time(self._failure_at):
            return
        self._failure_at = self._clock()
        self._told = outcome.reason
        then = "they wait and are sent again" if outcome.retryable else "what it refuses is dropped"
        if outcome.taken:
            then = "they count as taken: see that this is the endpoint of an OTLP backend"
        log.warning(
            "OTLP: %s to %s: %s: %s; %s; all failures are counted, and told once",
            self._what, self._where, outcome.reason, outcome.text, then,
        )  # fmt: skip

    def _say(self, outcome: Outcome) -> None:
        message = outcome.message
        if message in self._messages or not self._is_time(self._message_at):
            return
        self._message_at = self._clock()
        if len(self._messages) >= MESSAGES:
            del self._messages[next(iter(self._messages))]
        self._messages[message] = None
        log.warning(
            "OTLP: %s to %s: the backend says, %d rejected: %s (told once)",
            self._what, self._where, outcome.rejected, message,
        )  # fmt: skip

    def _is_time(self, last_ns: int | None) -> bool:
        return last_ns is None or self._clock() - last_ns >= QUIET_NS

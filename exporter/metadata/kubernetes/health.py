"""How well the store keeps up with the server: what failed, since when, how long to wait."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping

from exporter.metadata.kubernetes.failure import REASONS, Failure

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 30.0

log = logging.getLogger(__name__)


class Health:
    """Written by the thread that asks, read by any."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock, self._chance = clock, chance
        self._failures = dict.fromkeys(REASONS, 0)
        self._in_step_at: float | None = None
        self._in_a_row = 0
        self._told = ""
        self._failing = False

    def failures(self) -> Mapping[str, int]:
        return dict(self._failures)

    def age_seconds(self) -> float | None:
        return None if self._in_step_at is None else self._clock() - self._in_step_at

    def failing(self) -> bool:
        """Whether the last that was heard of the server is that it failed."""
        return self._failing

    def count(self, reason: str) -> None:
        self._failures[reason] += 1

    def in_step(self, since_s: float = 0.0) -> None:
        """The store is what the server has; or was, so many seconds ago."""
        self._failing = False
        self._in_step_at = max(self._in_step_at or 0.0, self._clock() - since_s)

    def went_well(self) -> None:
        """A watch said something. A list that works, before a watch that does not, is no end."""
        self._in_a_row = 0
        if self._told:
            log.info("Kubernetes: in step with the API server again")
            self._told = ""

    def failed(self, failure: Failure) -> float:
        """Counts it; how long to wait, in seconds."""
        self.count(failure.reason)
        self._failing = True
        if failure.reason != self._told and failure.reason != "gone":
            log.warning(
                "Kubernetes: %s; what is known of pods stays in use, and we go on asking", failure
            )
            self._told = failure.reason
        delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0**self._in_a_row)
        self._in_a_row = min(self._in_a_row + 1, 16)
        return max(delay * (0.5 + self._chance() / 2), failure.retry_after_s)

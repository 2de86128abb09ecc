"""How many requests there may be: one each interval, and some at once after a pause."""

from __future__ import annotations

import time
from threading import Lock

from exporter.model.web import Rate


class Bucket:
    """A token bucket, kept as the moment when it will be full again."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._full_at_ns = 0
        self._lock = Lock()

    def take(self) -> bool:
        """False: it is empty."""
        with self._lock:
            now_ns = time.monotonic_ns()
            full_at_ns = max(self._full_at_ns, now_ns) + self.rate.interval_ns
            if full_at_ns - now_ns > self.rate.burst * self.rate.interval_ns:
                return False
            self._full_at_ns = full_at_ns
            return True

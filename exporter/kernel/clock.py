"""From CLOCK_MONOTONIC to the time of day: by the offset that held at that moment.

Both clocks run at one rate, NTP's slewing included, so their offset changes only where the time of
day is set, by a person, NTP or a leap second, and where the machine was suspended, which
CLOCK_MONOTONIC does not count and CLOCK_BOOTTIME does. See clock_gettime(2) and the kernel's
Documentation/core-api/timekeeping.rst.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

_TRIES = 5  # readings of the clocks, of which the tightest counts
_TOLERANCE_NS = 100_000  # by so much an offset may be wrong: less is no change
#: As many changes as there are seconds in the 15 minutes that a span may last.
_MAX_CHANGES = 900


class _Offsets(NamedTuple):
    """What to add to CLOCK_MONOTONIC from `since_ns` on (of that clock)."""

    since_ns: int
    wall_ns: int
    boot_ns: int

    @property
    def since_boot_ns(self) -> int:
        return self.since_ns + self.boot_ns


def _boottime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Clock:
    """All times in ns. One thread calls `tick`; any may ask, at any time.

    A change is noticed by the next `tick`, and dated at the one before, which had not seen it.
    What is older than the history has the oldest offset of it.
    """

    def __init__(
        self,
        monotonic: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] = time.time_ns,
        boot: Callable[[], int] = _boottime_ns,
    ) -> None:
        self._monotonic, self._wall, self._boot = monotonic, wall, boot
        first, _ = self._sample()
        self._seen_ns = first.since_ns  # up to here the last offsets held
        #: Replaced, never changed: readers need no lock.
        self._history: tuple[_Offsets, ...] = (first,)
        self._last = first

    def tick(self) -> None:
        """Looks whether the offsets changed: about every second, and before times are converted."""
        now, doubt_ns = self._sample()
        last = self._last
        change = max(abs(now.wall_ns - last.wall_ns), abs(now.boot_ns - last.boot_ns))
        if change > _TOLERANCE_NS + doubt_ns:
            new = now._replace(since_ns=self._seen_ns)
            self._history = (*self._history, new)[-_MAX_CHANGES:]
            self._last = new
        self._seen_ns = now.since_ns

    def wall_ns(self, monotonic_ns: int) -> int:
        """The time of day, since the epoch, when CLOCK_MONOTONIC was `monotonic_ns`."""
        last = self._last
        if monotonic_ns >= last.since_ns:
            return monotonic_ns + last.wall_ns
        history = self._history
        index = bisect_right(history, monotonic_ns, key=attrgetter("since_ns"))
        return monotonic_ns + history[max(index - 1, 0)].wall_ns

    def boot_to_monotonic(self, boot_ns: int) -> int:
        """Of a time since boot with the machine's suspensions, as processes' start times are.

        Before the history it may be off by what was suspended then. `wall_ns` of it is right all
        the same: CLOCK_BOOTTIME goes with the time of day through a suspension.
        """
        history = self._history
        index = bisect_right(history, boot_ns, key=attrgetter("since_boot_ns"))
        return boot_ns - history[max(index - 1, 0)].boot_ns

    def boot_to_wall(self, boot_ns: int) -> int:
        """The time of day, since the epoch, of a process' start: by the offsets of now, so that its
        age is right where the time of day was set meanwhile."""
        last = self._last
        return boot_ns - last.boot_ns + last.wall_ns

    def _sample(self) -> tuple[_Offsets, int]:
        """The offsets now, and by how much they may be wrong."""
        best_ns, best = 0, None
        for _ in range(_TRIES):
            before = self._monotonic()
            wall, boot = self._wall(), self._boot()
            after = self._monotonic()
            if best is None or after - before < best_ns:
                best_ns = after - before
                middle = before + best_ns // 2
                best = _Offsets(middle, wall - middle, boot - middle)
        assert best
        return best, best_ns

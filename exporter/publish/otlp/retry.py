"""When a request is sent again: the arithmetic, without a clock or a backend.

The OTLP specification ("Failures" and "OTLP/HTTP Throttling") wants exponential backoff with
jitter, and what the backend asks for honoured. Without a limit of its own a backend could ask for
silence for ever: Retry-After is cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Policy:
    """The first and the longest delay, the longest that a backend may ask for, and for how long
    one request is sent again at all (there as in the OpenTelemetry Collector)."""

    first_ns: int = 10**9
    longest_ns: int = 30 * 10**9
    asked_at_most_ns: int = 120 * 10**9
    total_ns: int = 300 * 10**9


POLICY = Policy()


def delay_ns(policy: Policy, in_a_row: int, asked_ns: int | None, chance: float) -> int:
    """After so many failures in a row, from 1; `chance` is from [0, 1).

    Full jitter: anything up to a limit that doubles, so that a fleet that failed at once does not
    come back at once. What the backend asks for is the least; 0: at once.
    """
    if asked_ns == 0:
        return 0
    limit = min(policy.longest_ns, policy.first_ns << min(in_a_row - 1, 32))
    return min(asked_ns or 0, policy.asked_at_most_ns) + int(limit * chance)


def retry_after_ns(text: str, now_ns: int) -> int | None:
    """The header Retry-After, in seconds or as a date; `now_ns` is the wall clock's.

    None where it is neither, or asks for nothing: then the backoff is ours.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text[:12]) * 10**9 or None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if date.tzinfo is None:  # "-0000": a time of UTC that does not say where it is from
        date = date.replace(tzinfo=UTC)
    delay = (date - _EPOCH) // timedelta(microseconds=1) * 1000 - now_ns
    return delay if delay > 0 else None

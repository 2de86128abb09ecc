"""What was lost on the way to OpenTelemetry, by reason; each reason is there from the start.

Counts of calls do not depend on any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Of what the kernel had to tell.
EVENTS = (
    "held_back",  # of trees whose metadata did not come, or did too late
    "process_limit",  # of processes beyond those that can have an open span
    "ring_full",
)
#: Of spans: of calls that were refused, and of what was made.
SPANS = ("gave_up", "queue_full", "rejected", "token_bucket", "unsent")
#: Of requests to a backend.
EXPORTS = (
    "bad_answer", "bad_request", "other", "partial", "timeout", "tls", "too_many_requests",
    "unauthorized", "unavailable", "unreachable",
)  # fmt: skip


class Losses(NamedTuple):
    """So far."""

    events: Mapping[str, int]
    spans: Mapping[str, int]
    exports: Mapping[str, int]
    bad_traceparents: int = 0


NOTHING = Losses(dict.fromkeys(EVENTS, 0), dict.fromkeys(SPANS, 0), dict.fromkeys(EXPORTS, 0))

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
TOKEN_BUCKET, UNSENT = "token_bucket", "unsent"
#: Of spans: of calls that were refused, and of what was made.
SPANS = (
    "gave_up",  # the backend was away for as long as we go on with one batch
    "queue_full",
    "rejected",  # the backend does not want it
    TOKEN_BUCKET,  # in the kernel: it was never made
    UNSENT,  # it was not sent when the exporter ended
)
#: Why an export was not taken, or not as it should be: all, so that each is there from the start.
EXPORTS = (
    "bad_answer",  # no OTLP: a redirect, not HTTP, or a 2xx whose body is no response message
    "bad_request",  # a 4xx or a code that says the request is wrong: path, size, content
    "other",  # the backend failed in itself (500, INTERNAL), or we did
    "partial",  # taken, but for some records
    "timeout",
    "tls",  # a certificate that is not to be trusted, or cannot be read; no TLS at all
    "too_many_requests",  # 429, RESOURCE_EXHAUSTED
    "unauthorized",  # 401, 403, 407, UNAUTHENTICATED, PERMISSION_DENIED
    "unavailable",  # 502, 503, 504, UNAVAILABLE: somebody answers, and cannot take it now
    "unreachable",  # no connection, or it broke before an answer
)


class Losses(NamedTuple):
    """So far."""

    events: Mapping[str, int]
    spans: Mapping[str, int]
    exports: Mapping[str, int]
    bad_traceparents: int = 0


NOTHING = Losses(dict.fromkeys(EVENTS, 0), dict.fromkeys(SPANS, 0), dict.fromkeys(EXPORTS, 0))

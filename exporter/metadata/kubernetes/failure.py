"""Why the API server's pods could not be had: one reason each, for a counter and a log line."""

from __future__ import annotations

#: All reasons, so that each is there from the start.
REASONS = (
    "bad_answer",  # no JSON, not what was asked for, too large, ended too early
    "forbidden",  # 403
    "gone",  # 410: what we know is too old to go on from; the pods are listed again
    "server_error",  # 5xx
    "throttled",  # 429
    "timeout",  # nothing came, or too slowly
    "tls",  # a certificate that is not to be trusted, or no TLS at all
    "too_many",  # a pod for which there is no room
    "unauthorized",  # 401, or the token cannot be read
    "unreachable",  # no connection, or it broke
)

_STATUSES = {401: "unauthorized", 403: "forbidden", 410: "gone", 429: "throttled"}


class Failure(Exception):
    """A request that did not bring what was asked for; its text has no secrets."""

    def __init__(self, reason: str, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(text)
        self.reason, self.retry_after_s = reason, retry_after_s


def reason_of_status(status: int) -> str:
    """The reason for an HTTP status, or for the code of a Status object."""
    return _STATUSES.get(status, "server_error" if status >= 500 else "bad_answer")

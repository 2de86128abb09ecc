"""What became of a request: what every transport says, and what is counted and logged of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from exporter.model.losses import EXPORTS as REASONS

__all__ = ["REASONS", "Outcome", "Transport", "taken", "tidy"]

_TEXT_AT_MOST = 500


class Outcome(NamedTuple):
    """Of one request, once: `taken`, or to be sent again (`retryable`), or neither: refused.

    `reason` is one of REASONS, or "" where nothing is wrong. What was taken can have one, too: a
    part of it was `rejected`, or the answer is damaged. `message` is what the backend has to say
    beside that, `text` is for the log; neither has secrets of ours. `delay_ns`: how long the
    backend wants us to wait before it is sent again, None where it does not say; 0: at once.
    """

    taken: bool
    reason: str = ""
    text: str = ""
    retryable: bool = False
    delay_ns: int | None = None
    rejected: int = 0
    message: str = ""


class Transport(Protocol):
    """To one backend. `send` is for one thread at a time, `hang_up` for any other."""

    @property
    def where(self) -> str:
        """The endpoint, as it may be logged."""

    def send(self, request: bytes, limit_ns: int) -> Outcome:
        """One try, that is over within `limit_ns`, whatever the backend does; raises nothing."""

    def hang_up(self) -> None:
        """Ends the request that is under way, and all later ones."""


def taken(rejected: int, message: str) -> Outcome:
    """What a whole answer says: partial_success of an Export…ServiceResponse.

    A message without a rejected record is a warning: by the specification all is well.
    """
    message = tidy(message)
    if rejected > 0:
        return Outcome(True, "partial", rejected=rejected, message=message or "no reason is given")
    return Outcome(True, message=message)


def tidy(text: str | bytes) -> str:
    """A backend's words in one line of bounded length, without control characters."""
    text = text[: 4 * _TEXT_AT_MOST]
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    words = "".join(c if c.isprintable() else " " for c in text).split()
    line = " ".join(words)
    return line if len(line) <= _TEXT_AT_MOST else line[: _TEXT_AT_MOST - 1] + "…"

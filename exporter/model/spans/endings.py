"""How the span of a process ends: attributes, and the message of the status ERROR or None."""

from __future__ import annotations

import signal
from typing import NamedTuple

from exporter.model.spans.span import Attributes

_SIGNALS = {int(number): number.name for number in signal.Signals}
_REALTIME = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)


class Ending(NamedTuple):
    """What is known of an end."""

    attributes: Attributes
    error: str | None = None


#: The process lives: its next span is linked to this one.
CONTINUED = Ending((("proctree.continued", True),))
#: It is gone, and nobody saw it go: the event was lost.
UNKNOWN_END = Ending((("proctree.end", "unknown"),))
#: It lives, in another tree.
MOVED = Ending((("proctree.end", "moved"),))
#: It is not followed any more, or its target has no spans of processes any more.
UNFOLLOWED = Ending((("proctree.end", "unfollowed"),))


def ending_of(status: int) -> Ending:
    """By a status as wait(2) has it.

    What a signal ended has no exit code: 128 + signal is what shells make of it. `error.type` as
    the conventions for spans of command line programs want it.
    """
    number = status & 0x7F
    if number:
        name = signal_name(number)
        return Ending((("proctree.exit.signal", name), ("error.type", name)), name)
    code = status >> 8 & 0xFF
    if code:
        return Ending((("process.exit.code", code), ("error.type", str(code))), f"exit {code}")
    return Ending((("process.exit.code", 0),))


def signal_name(number: int) -> str:
    """As kill -l has it: SIGKILL, SIGRTMIN+3."""
    if number in _REALTIME and number not in (_REALTIME[0], _REALTIME[-1]):
        return f"SIGRTMIN+{number - _REALTIME[0]}"
    return _SIGNALS.get(number, f"signal {number}")

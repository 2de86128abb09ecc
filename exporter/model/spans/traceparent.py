"""The trace that a process was started in, as its environment says: W3C Trace Context.

Source: https://www.w3.org/TR/trace-context-2/#traceparent-header. As strict as that, where
opentelemetry-api's propagator allows for the blanks and line ends that HTTP headers may have.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_VALUE = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_SAMPLED, _RANDOM = 1, 2  # the flags that version 00 has


class Joined(NamedTuple):
    """A trace, the span in it that is the parent, and W3C's trace flags."""

    trace_id: bytes
    span_id: bytes
    flags: int


def joined_by(value: bytes) -> Joined | None:
    """What stands after TRACEPARENT=, its first 56 bytes at least; None where that is not valid.

    Version 00 has 55. Those to come may go on after a dash, and of them counts only what they must
    share with 00.
    """
    found = _VALUE.fullmatch(value)
    if not found:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == b"ff" or (version == b"00" and more is not None):
        return None
    if not (trace_id.strip(b"0") and span_id.strip(b"0")):
        return None
    known = _SAMPLED | _RANDOM if version == b"00" else _SAMPLED
    return Joined(
        bytes.fromhex(trace_id.decode()), bytes.fromhex(span_id.decode()), int(flags, 16) & known
    )

"""The trace that a process was started in, as its environment says: W3C Trace Context.

Source: https://www.w3.org/TR/trace-context-2/#traceparent-header. As strict as that, where
opentelemetry-api's propagator allows for the blanks and line ends that HTTP headers may have.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

_BEGIN = b"\0TRACEPARENT="
#: Of version 00; those to come may go on after a dash, which is all that matters of it.
_LENGTH = 55
_KEPT = len(_BEGIN) + _LENGTH + 1

_VALUE = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_SAMPLED, _RANDOM = 1, 2  # the flags that version 00 has


class Joined(NamedTuple):
    """A trace, the span in it that is the parent, and W3C's trace flags."""

    trace_id: bytes
    span_id: bytes
    flags: int


class Refusal(StrEnum):
    """Why a value is none."""

    FORM = "form"
    VERSION = "version"
    ZEROS = "zeros"


def parse(value: bytes) -> Joined | Refusal:
    """What stands after TRACEPARENT=. Of versions to come only what they must share with 00."""
    found = _VALUE.fullmatch(value)
    if not found:
        return Refusal.FORM
    version, trace_id, span_id, flags, more = found.groups()
    if version == b"ff":
        return Refusal.VERSION
    if version == b"00" and more is not None:
        return Refusal.FORM
    if not (trace_id.strip(b"0") and span_id.strip(b"0")):
        return Refusal.ZEROS
    known = _SAMPLED | _RANDOM if version == b"00" else _SAMPLED
    return Joined(
        bytes.fromhex(trace_id.decode()), bytes.fromhex(span_id.decode()), int(flags, 16) & known
    )


class Environment:
    """Looks for the variable in an environment that comes in parts, NULs between its entries.

    `value` is that of the first one, as getenv(3) has it, so much of it as matters; None as long
    as there is none. It may grow until its NUL has come. Keeps less than 100 bytes.
    """

    def __init__(self) -> None:
        self.value: bytes | None = None
        self._whole = False
        self._begun = b"\0"  # the entry that the next part goes on with, if it may be ours

    def feed(self, part: bytes) -> None:
        if self._whole:
            return
        data = self._begun + part
        begin = data.find(_BEGIN)
        if begin < 0:
            last = data.rfind(b"\0")
            ours = last >= 0 and _BEGIN.startswith(data[last : last + len(_BEGIN)])
            self._begun = data[last:] if ours else b""
            return
        end = data.find(b"\0", begin + 1)
        entry = data[begin : end if end >= 0 else None][:_KEPT]
        self.value, self._begun = entry[len(_BEGIN) :], entry
        self._whole = end >= 0


def joined_by(environ: bytes) -> Joined | None:
    """That of a whole environment; None where it names none, or none that is valid."""
    environment = Environment()
    environment.feed(environ)
    found = None if environment.value is None else parse(environment.value)
    return found if isinstance(found, Joined) else None

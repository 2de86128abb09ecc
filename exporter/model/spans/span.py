"""A span before it is encoded: times of the wall clock in ns since the epoch, ids as bytes."""

from __future__ import annotations

from typing import NamedTuple

Value = str | int | float | bool | tuple[str, ...]
Attributes = tuple[tuple[str, Value], ...]

NO_PARENT = b""


class Event(NamedTuple):
    """Something that happened at one moment of a span."""

    name: str
    time_ns: int
    attributes: Attributes = ()


class Link(NamedTuple):
    """Another span that this one goes on from."""

    trace_id: bytes
    span_id: bytes
    attributes: Attributes = ()


class Span(NamedTuple):
    """A process, or an interval of a target.

    `slot` is its tree's, by which is told whose it is; 0 where that is said beside it. `error` is
    the message of the status ERROR, None where there is none; `flags` are W3C's trace flags, and
    OTLP's beside them. `dropped_events` is how many there were beside `events`.
    """

    slot: int
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes = ()
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    error: str | None = None
    flags: int = 1
    dropped_events: int = 0


class CallSpan(NamedTuple):
    """One call: `error` is its errno's name, "" where it did not fail; `path` "" where unknown.

    `counted` is the slot where it counts, if that is another one: of its program, where a tree is
    split by that.
    """

    slot: int
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    pid: int
    tid: int
    syscall: str
    error: str
    start_ns: int
    end_ns: int
    path: str
    target: str
    counted: int = 0

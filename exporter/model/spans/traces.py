"""Traces that follow one another, because what never ends never arrives, and backends cap a trace.

A trace takes no more spans once it has its number of them, or its age. What comes then goes into
the next one, which is linked to it. A process that is alive goes on there, as a new span that is
linked to its earlier one, once it or a descendant does something there; at the latest when its
trace has reached its age.

A trace that a process joined is not ours: it keeps its id when it has reached its age, and only its
spans begin anew. Once it has its number of spans it goes on in traces of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from exporter.kernel.records import ProcessKey
from exporter.model.spans.ids import Ids
from exporter.model.spans.span import Link

#: Trace id, id of the span that is to be the parent, W3C's trace flags.
Joined = tuple[bytes, bytes, int]

SAMPLED = 1
#: OTLP's flags of a span beside W3C's: it is known whether the parent is remote, and it is.
REMOTE_PARENT = 0x100 | 0x200

_MOST_IDLE = 1024  # joined traces without a process of which the number of spans is still known


@dataclass(frozen=True, slots=True)
class SpanLimits:
    """Of one trace: `spans` (at least 8) and `age_ns`. In all: `processes` whose span is open, and
    `text` bytes of what is kept for open spans; `span_text` and `events` are for one span."""

    spans: int = 10_000
    age_ns: int = 15 * 60 * 10**9
    processes: int = 32_768
    text: int = 32 << 20
    span_text: int = 16 << 10
    events: int = 128


@dataclass(slots=True, eq=False)
class Trace:
    """`spare` of the spans that it has `room` for may be of ancestors that only come along: so that
    a quarter of a trace, or more, is what happened in it, however deep the tree is."""

    id: bytes
    number: int
    began_ns: int
    room: int
    spare: int
    earlier: Link | None = None  # to the first span of the trace before
    joined: bool = False  # its id is another's
    first: bytes = b""  # its first span
    linked: bool = False  # the next trace is linked to that
    open: dict[ProcessKey, None] = field(default_factory=dict)  # whose span in it goes on

    def take(self, span_id: bytes) -> None:
        """One more span."""
        self.room -= 1
        self.first = self.first or span_id

    def links_to(self, span_id: bytes) -> bool:
        """Whether others may be linked to this span."""
        return self.linked and self.first == span_id

    def give_back(self, span_id: bytes) -> None:
        """A span that was not sent goes elsewhere."""
        self.room += 1
        if self.first == span_id:
            self.first = b""


class TraceChain:
    """The traces of a tree, or those that began with one that a process joined."""

    def __init__(self, slot: int, ids: Ids, limits: SpanLimits, joined: Joined | None = None):
        self.slot = slot
        self.trace_id, _, self.flags = joined or (b"", b"", SAMPLED)
        self.muted = not self.flags & SAMPLED  # the caller does not want these spans
        self.living = 0  # processes
        self._ids, self._limits = ids, limits
        self._current: Trace | None = None
        self._open: dict[int, Trace] = {}  # by number: those with an open span

    def at(self, now_ns: int) -> Trace:
        """The trace into which goes what begins now."""
        trace = self._current
        if trace is None or trace.room < 1:
            return self.next(now_ns)
        if self.is_old(trace, now_ns):
            return self._renewed(trace, now_ns) if trace.joined else self.next(now_ns)
        return trace

    def takes(self, trace: Trace, now_ns: int) -> bool:
        """Whether a trace takes one more span."""
        return trace.room > 0 and now_ns - trace.began_ns < self._limits.age_ns

    def is_old(self, trace: Trace, now_ns: int) -> bool:
        return now_ns - trace.began_ns >= self._limits.age_ns

    def next(self, now_ns: int) -> Trace:
        """Begins a trace that has room."""
        before, most = self._current, self._limits.spans
        if before is None:
            number, earlier = 0, None
        else:
            number, before.linked = before.number + 1, True
            earlier = Link(before.id, before.first) if before.first else before.earlier
        joined = bool(self.trace_id) and before is None
        id_ = self.trace_id if joined else self._ids.trace()
        self._current = Trace(id_, number, now_ns, most, most // 2, earlier, joined)
        return self._current

    def _renewed(self, trace: Trace, now_ns: int) -> Trace:
        """The same for its readers; its spans begin anew."""
        self._current = Trace(
            trace.id, trace.number + 1, now_ns, trace.room, trace.spare, joined=True,
            first=trace.first,
        )  # fmt: skip
        return self._current

    def enter(self, trace: Trace, key: ProcessKey) -> None:
        """A process has an open span in a trace."""
        trace.open[key] = None
        self._open[trace.number] = trace
        self.living += 1

    def leave(self, trace: Trace, key: ProcessKey) -> None:
        del trace.open[key]
        self.living -= 1
        if not trace.open:
            del self._open[trace.number]

    def open(self) -> list[ProcessKey]:
        """The processes that have an open span."""
        return [key for trace in self._open.values() for key in trace.open]

    def old(self, now_ns: int) -> list[ProcessKey]:
        """Those that must go on in another trace."""
        traces = [trace for trace in self._open.values() if self.is_old(trace, now_ns)]
        return [key for trace in traces for key in trace.open]


class Chains:
    """The chains of all trees. Without processes, of those joined the last 1,024 are kept: so that
    a thousand programs in a row that join one trace count together."""

    def __init__(self, ids: Ids, limits: SpanLimits) -> None:
        self._ids, self._limits = ids, limits
        self._own: dict[int, TraceChain] = {}
        self._joined: dict[tuple[int, bytes, int], TraceChain] = {}
        self._idle: dict[tuple[int, bytes, int], None] = {}

    def of(self, slot: int) -> TraceChain:
        chain = self._own.get(slot)
        if chain is None:
            chain = self._own[slot] = TraceChain(slot, self._ids, self._limits)
        return chain

    def join(self, slot: int, joined: Joined) -> TraceChain:
        key = (slot, joined[0], joined[2])
        self._idle.pop(key, None)
        chain = self._joined.get(key)
        if chain is None:
            chain = self._joined[key] = TraceChain(slot, self._ids, self._limits, joined)
        return chain

    def left(self, chain: TraceChain) -> None:
        """A process' span has ended; is to be called for each."""
        key = (chain.slot, chain.trace_id, chain.flags)
        if chain.living or self._joined.get(key) is not chain:
            return
        self._idle[key] = None
        if len(self._idle) > _MOST_IDLE:
            oldest = next(iter(self._idle))
            del self._idle[oldest], self._joined[oldest]

    def forget(self, slot: int) -> None:
        """A tree without open spans is gone."""
        self._own.pop(slot, None)
        for key in [key for key in self._joined if key[0] == slot]:
            del self._joined[key]
            self._idle.pop(key, None)

    def __iter__(self) -> Iterator[TraceChain]:
        yield from [*self._own.values(), *self._joined.values()]

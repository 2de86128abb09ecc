"""A process that is alive, and its open span: all that it did, or a part since its trace began."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from exporter.kernel.records import ProcessKey
from exporter.kernel.syscalls import UNKNOWN
from exporter.model.spans.endings import Ending
from exporter.model.spans.span import NO_PARENT, Attributes, Event, Link, Span
from exporter.model.spans.text import TextBudget
from exporter.model.spans.traces import REMOTE_PARENT, Joined, SpanLimits, Trace, TraceChain

#: No process has the number 0.
NOBODY = ProcessKey(0, 0)

_EVENT_BYTES = 256  # about what an event takes beside its text


@dataclass(slots=True, eq=False)
class Part:
    """`began_ns` is CLOCK_MONOTONIC, `start_ns` the same moment by the time of day."""

    trace: Trace
    span_id: bytes
    parent_id: bytes
    began_ns: int
    start_ns: int
    links: tuple[Link, ...]
    whole: bool  # it begins with the process
    first: bool  # no other part of it was before
    referenced: bool = False  # there are spans that have it as their parent
    events: list[Event] = field(default_factory=list)
    dropped_events: int = 0
    last_ns: int = 0  # the last event
    exec_at: int | None = None  # which event is the exec of the program that runs
    kept: int = 0  # bytes

    def wall_ns(self, monotonic_ns: int) -> int:
        """By the offset that held when it began: so that nothing ends before it begins."""
        return self.start_ns + max(monotonic_ns - self.began_ns, 0)

    def keep(self, size: int, budget: TextBudget, limits: SpanLimits) -> bool:
        """Whether there is room for so many bytes more."""
        if self.kept + size > limits.span_text or not budget.take(size):
            return False
        self.kept += size
        return True

    def happened(
        self, name: str, time_ns: int, attributes: Attributes, size: int, budget: TextBudget,
        limits: SpanLimits,
    ) -> bool:  # fmt: skip
        """Keeps an event, whose text has so many bytes. False without room: then it is counted."""
        self.last_ns = max(self.last_ns, time_ns)
        size += _EVENT_BYTES
        if len(self.events) >= limits.events or not self.keep(size, budget, limits):
            self.dropped_events += 1
            return False
        self.events.append(Event(name, self.wall_ns(time_ns), attributes))
        return True


@dataclass(slots=True, eq=False)
class LiveProcess:
    """`parent` is who made it, NOBODY where that is unknown. `entry` is the span that is its parent
    in a trace that it joined itself; `joined` also where it was born into one."""

    key: ProcessKey
    slot: int
    parent: ProcessKey
    target: str
    chain: TraceChain
    since_ns: int  # from then on it is known
    name: str = ""
    path: str = ""
    arguments: tuple[str, ...] = ()
    kept: int = 0  # bytes of these
    entry: bytes = b""
    joined: Joined | None = None
    missed_ns: int = 0  # when it was first not found alive, or in another tree
    part: Part = field(init=False)

    def moment(self, now_ns: int) -> int:
        """When its open span may end at the earliest: records of two CPUs may come out of order."""
        return max(now_ns, self.part.began_ns, self.part.last_ns)

    def entry_of(self, trace: Trace) -> bytes:
        """Its parent's id, if that is not ours."""
        return self.entry if trace.joined else NO_PARENT

    def span(self, created_ns: int, end_ns: int, ending: Ending) -> Span:
        """`created_ns` is its birth by the time of day, `end_ns` CLOCK_MONOTONIC."""
        part = self.part
        remote = part.parent_id and part.parent_id == self.entry_of(part.trace)
        return Span(
            slot=self.slot,
            trace_id=part.trace.id,
            span_id=part.span_id,
            parent_id=part.parent_id,
            name=self.name or UNKNOWN,
            start_ns=part.start_ns,
            end_ns=part.wall_ns(self.moment(end_ns)),
            attributes=self._attributes(created_ns) + ending.attributes,
            events=tuple(part.events),
            links=part.links,
            error=ending.error,
            flags=self.chain.flags | (REMOTE_PARENT if remote else 0),
            dropped_events=part.dropped_events,
        )

    def _attributes(self, created_ns: int) -> Attributes:
        """Names: https://opentelemetry.io/docs/specs/semconv/registry/attributes/process/."""
        found: list[tuple[str, str | int | tuple[str, ...]]] = [("process.pid", self.key.tgid)]
        if self.parent.tgid:
            found.append(("process.parent_pid", self.parent.tgid))
        if self.name:
            found.append(("process.executable.name", self.name))
        if self.path:
            found.append(("process.executable.path", self.path))
        if self.arguments:
            found.append(("process.command_args", self.arguments))
        if not self.part.whole:
            found.append(("process.creation.time", rfc3339(created_ns)))
        found.append(("proctree.target", self.target))
        return tuple(found)


def rfc3339(time_ns: int) -> str:
    """A time of day in ns since the epoch, as text: 2026-01-31T09:30:00.000000001Z."""
    seconds, ns = divmod(time_ns, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ns:09}Z"

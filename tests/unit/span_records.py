"""What the kernel would tell, made by hand, and the spans that come of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from exporter.kernel.records import ProcessKey
from exporter.kernel.span_events import (
    Argued,
    Called,
    Environed,
    Execed,
    Exited,
    Forked,
    GroupSet,
    SessionSet,
)
from exporter.model.names import Names
from exporter.model.spans.calls import CallSpans
from exporter.model.spans.ids import Ids
from exporter.model.spans.placing import Placing, SpanClock
from exporter.model.spans.processes import Listed, ProcessSpans
from exporter.model.spans.span import CallSpan, Span
from exporter.model.spans.traces import Joined, SpanLimits
from exporter.model.target import SpanWords, Target

ROOT = 1  # the PID of nobody's child, in most tests
OPENAT, GETPID = 257, 39  # x86_64
TREE, OTHER, CALLS_ONLY = 1, 2, 3  # slots

#: What to add to CLOCK_MONOTONIC for the time of day, and for the time since boot.
WALL, SUSPENDED = 1_700_000_000_000_000_000, 5_000

ALL = SpanWords(processes=True, syscalls=("openat",), command_args=True, traceparent=True)


def target(name: str, words: SpanWords) -> Target:
    return Target(name, "cgroup", cgroup=f"/{name}", spans=words)


def key(pid: int, born_ns: int = 0) -> ProcessKey:
    """A process of this PID; its birth is CLOCK_MONOTONIC here, and with suspensions in the key."""
    return ProcessKey(pid, (born_ns or pid * 1000) + SUSPENDED)


def redact(text: bytes) -> tuple[str, ...]:
    return tuple(text.decode(errors="replace").rstrip("\0").split("\0"))


def traceparent(trace: int, span: int, flags: int = 1) -> bytes:
    """The value of the variable."""
    return b"00-%032x-%016x-%02x" % (trace, span, flags)


def parse_traceparent(value: bytes) -> Joined | None:
    """Enough of W3C's for a test: the real one has tests of its own."""
    parts = value.split(b"-")
    if [len(part) for part in parts] != [2, 32, 16, 2]:
        return None
    trace, span, flags = map(bytes.fromhex, (part.decode() for part in parts[1:]))
    return trace, span, flags[0]


def in_order() -> Callable[[int], bytes]:
    """In the place of random bytes: no 8 of them twice."""
    numbers = count(1 << 40)
    return lambda size: b"".join(next(numbers).to_bytes(8, "big") for _ in range(size // 8))


class World:
    """Spans of a few trees; each method is something that the kernel tells of a process."""

    def __init__(
        self, limits: SpanLimits | None = None, wall_ns: Callable[[int], int] | None = None,
        since_ns: int = 0, words: SpanWords = ALL,
    ) -> None:  # fmt: skip
        self.ended: list[Span] = []
        self.called: list[CallSpan] = []
        self.counted: list[str] = []
        self.targets = {
            TREE: target("ci", words),
            OTHER: target("db", SpanWords(processes=True)),
            CALLS_ONLY: target("calls", SpanWords(syscalls=("openat",))),
        }
        self.limits = limits or SpanLimits()
        clock = SpanClock(wall_ns or (lambda ns: ns + WALL), lambda ns: ns - SUSPENDED)
        ids = Ids(in_order())
        self.placing = Placing(
            self.ended.append, lambda slot: self.targets.get(slot), clock, ids, self.limits
        )
        self.processes = ProcessSpans(
            self.placing, redact, parse_traceparent, self.counted.append, since_ns
        )
        self.calls = CallSpans(self.placing, ids, Names())

    def fork(self, pid: int, parent: int, time_ns: int, slot: int = TREE) -> None:
        self.processes.learn(Forked(slot, key(pid), time_ns, key(parent)))

    def exec(self, pid: int, time_ns: int, path: bytes = b"/bin/sh", slot: int = TREE) -> None:
        self.processes.learn(Execed(slot, key(pid), time_ns, path))

    def args(self, pid: int, time_ns: int, *arguments: bytes, slot: int = TREE) -> None:
        text = b"".join(argument + b"\0" for argument in arguments)
        self.processes.learn(Argued(slot, key(pid), time_ns, text))

    def environ(self, pid: int, time_ns: int, value: bytes, slot: int = TREE) -> None:
        """Of the TRACEPARENT in it."""
        self.processes.learn(Environed(slot, key(pid), time_ns, value))

    def setsid(self, pid: int, time_ns: int) -> None:
        self.processes.learn(SessionSet(TREE, key(pid), time_ns))

    def setpgid(self, pid: int, time_ns: int, of: int, group: int) -> None:
        self.processes.learn(GroupSet(TREE, key(pid), time_ns, of, group))

    def exit(
        self, pid: int, time_ns: int, status: int = 0, parent: int = ROOT, comm: bytes = b"comm",
        slot: int = TREE, born_ns: int = 0,
    ) -> None:  # fmt: skip
        self.processes.learn(Exited(slot, key(pid, born_ns), time_ns, key(parent), status, comm))

    def call(
        self, pid: int, time_ns: int, took_ns: int = 0, ret: int = 3, code: int = OPENAT,
        path: bytes = b"", slot: int = TREE, tid: int = 0,
    ) -> CallSpan | None:  # fmt: skip
        span = self.calls.span(
            Called(slot, key(pid), time_ns, time_ns - took_ns, ret, tid or pid, code, path)
        )
        if span:
            self.called.append(span)
        return span

    def adopt(self, now_ns: int, *pids: tuple[int, int], slot: int = TREE) -> None:
        """PIDs and their parents'."""
        listed = [Listed(slot, key(pid), key(parent), f"p{pid}") for pid, parent in pids]
        self.processes.adopt(listed, now_ns)

    def alive(self, now_ns: int, *pids: int) -> None:
        self.processes.reconcile({key(pid): TREE for pid in pids}, now_ns)

    def of(self, pid: int) -> list[Span]:
        """The spans of a process that have ended, in that order."""
        return [span for span in self.ended if span.attributes[0] == ("process.pid", pid)]

    def only(self, pid: int) -> Span:
        (span,) = self.of(pid)
        return span


def attributes(span: Span) -> dict[str, Any]:
    """Each name is there once."""
    found = dict(span.attributes)
    assert len(found) == len(span.attributes)
    return found


def events(span: Span) -> list[tuple[str, int, dict[str, Any]]]:
    """Names, times by CLOCK_MONOTONIC, attributes."""
    return [(event.name, event.time_ns - WALL, dict(event.attributes)) for event in span.events]


def times(span: Span) -> tuple[int, int]:
    """By CLOCK_MONOTONIC, where it was not set."""
    return span.start_ns - WALL, span.end_ns - WALL

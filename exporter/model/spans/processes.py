"""Spans of processes, from what the kernel tells of their lives.

A span lasts from fork to exit, or begins when following began. Each process has one at least,
whatever was lost of it: its exit alone tells enough, and so do two listings in a row without it.
Long ones go on in parts: see traces.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from exporter.kernel.records import ProcessKey
from exporter.kernel.span_events import (
    Argued,
    Environed,
    Execed,
    Exited,
    Forked,
    GroupSet,
    Record,
    SessionSet,
)
from exporter.model.spans.endings import (
    CONTINUED,
    MOVED,
    UNFOLLOWED,
    UNKNOWN_END,
    ending_of,
)
from exporter.model.spans.execs import Execs
from exporter.model.spans.parts import NOBODY, LiveProcess
from exporter.model.spans.placing import Placing
from exporter.model.spans.span import Attributes
from exporter.model.spans.text import program_name, program_path, readable
from exporter.model.spans.traces import Joined

#: Why `count` is called: a TRACEPARENT that is none; a process whose span comes only when it ends,
#: because there is no room for what it does until then.
TRACEPARENT_INVALID, PROCESS_LIMIT = "traceparent_invalid", "process_limit"


class Listed(NamedTuple):
    """A process that a listing found. `path` as /proc/PID/exe has it, or b""."""

    slot: int
    key: ProcessKey
    parent: ProcessKey
    name: str
    path: bytes = b""


class ProcessSpans:
    """`redact`, `parse_traceparent`: see execs.py. `count` is told, by reason, of what is refused.
    `since_ns` is when the kernel began to tell (CLOCK_MONOTONIC, as all times here)."""

    def __init__(
        self, placing: Placing, redact: Callable[[bytes], tuple[str, ...]],
        parse_traceparent: Callable[[bytes], Joined | None], count: Callable[[str], None],
        since_ns: int,
    ) -> None:  # fmt: skip
        self._placing, self._live, self._limits = placing, placing.live, placing.limits
        self._count, self._since_ns = count, since_ns
        self._execs = Execs(placing, redact, parse_traceparent, lambda: count(TRACEPARENT_INVALID))
        self._learn: dict[type[Record], Callable[..., None]] = {
            Forked: self._forked,
            Execed: self._execed,
            Exited: self._exited,
        }
        #: What tells nothing of a process that is not known: it comes again, or ends.
        self._of_known: dict[type[Record], Callable[..., None]] = {
            Argued: self._execs.argued,
            Environed: self._execs.environed,
            SessionSet: self._session_set,
            GroupSet: self._group_set,
        }

    @property
    def open(self) -> int:
        """How many processes have a span that goes on."""
        return len(self._live)

    def learn(self, record: Record) -> None:
        """In the order in which the kernel told. Calls are not for here: see calls.py."""
        learn = self._learn.get(type(record))
        if learn:
            learn(record)
        elif process := self._live.get(record.key):
            self._of_known[type(record)](process, record)

    def adopt(self, listed: Iterable[Listed], now_ns: int) -> None:
        """Takes up who is alive and has no span: to be called with a whole listing, but for those
        who are `untold` otherwise (listing.py), before anything is learnt that the kernel told
        since. Who is known already stays as it is."""
        for found in sorted(listed, key=lambda found: found.key.start_ns):  # parents first
            process = self._live.get(found.key)
            if process is None:
                # Who was made while the listing went on is younger than that.
                time_ns = max(now_ns, self._placing.born_ns(found.key))
                process = self._begin(found.slot, found.key, time_ns, found.parent, whole=False)
            if process and not process.name:
                name = program_name(found.path) or found.name
                self._execs.runs(process, name, program_path(found.path))
            if process and process.parent == NOBODY:
                self._has_parent(process, found.parent)

    def reconcile(self, alive: Mapping[ProcessKey, int], now_ns: int) -> None:
        """`alive` are the trees' slots of all that is followed, `now_ns` when that was begun to be
        listed. What was told before the last such listing must have been learnt by now.

        Who is not there for the second time has ended; else its exit would have been told since.
        """
        for process in [p for p in self._live.values() if p.since_ns < now_ns]:
            slot = alive.get(process.key)
            if slot == process.slot:
                process.missed_ns = 0
            elif not process.missed_ns:
                process.missed_ns = now_ns
            elif slot is None:
                self._placing.end(process, process.missed_ns, UNKNOWN_END)
            else:
                self._move(process, slot, process.missed_ns)

    def tick(self, now_ns: int) -> None:
        """Ends parts that have become too long: about every second."""
        for chain in self._placing.chains:
            wanted = self._target(chain.slot) is not None
            for key in chain.old(now_ns) if wanted else chain.open():
                if wanted:
                    self._placing.go_on(self._live[key], now_ns)
                else:
                    self._placing.end(self._live[key], now_ns, UNFOLLOWED)

    def forget(self, slot: int, now_ns: int) -> None:
        """A tree is gone, or not followed any more."""
        for process in [p for p in self._live.values() if p.slot == slot]:
            self._placing.end(process, now_ns, UNFOLLOWED)
        self._placing.chains.forget(slot)

    def finish(self, now_ns: int, has_time: Callable[[], bool] = lambda: True) -> int:
        """We end; they live. So that their last part arrives, it ends as if it went on; first of
        those that have spans below them. How many there was no time for."""
        left = sorted(self._live.values(), key=lambda process: not process.part.referenced)
        for number, process in enumerate(left):
            if not has_time():
                return sum(not process.chain.muted for process in left[number:])
            self._placing.end(process, now_ns, CONTINUED)
        return 0

    # Records

    def _forked(self, record: Forked) -> None:
        process = self._live.get(record.key)
        if process is None:
            process = self._begin(*record, whole=True)
            above = self._live.get(record.parent)
            if process and above:
                self._execs.runs(process, above.name, above.path)
            return
        process.parent = record.parent  # who lists it may find whoever adopted it
        self._placing.hang(process)
        if process.part.first and record.time_ns <= process.part.began_ns:
            self._placing.starts_at(process, record.time_ns)
            process.part.whole = True

    def _execed(self, record: Execed) -> None:
        slot, key, time_ns, _ = record
        process = self._live.get(key)
        if process is None:
            process = self._begin(slot, key, time_ns, NOBODY, whole=False)
        elif process.slot != slot:
            process = self._move(process, slot, time_ns)
        if process:
            self._execs.execed(process, record)

    def _session_set(self, process: LiveProcess, record: SessionSet) -> None:
        self._happened(process, "setsid", record.time_ns)

    def _group_set(self, process: LiveProcess, record: GroupSet) -> None:
        numbers = ("proctree.setpgid.pid", record.pid), ("proctree.setpgid.pgid", record.pgid)
        self._happened(process, "setpgid", record.time_ns, numbers)

    def _exited(self, record: Exited) -> None:
        process = self._live.get(record.key) or self._begun_unseen(record)
        if process is None:
            return
        if process.parent == NOBODY:
            self._has_parent(process, record.parent)
        process.name = process.name or readable(record.comm)
        self._placing.end(process, record.time_ns, ending_of(record.status))

    def _begun_unseen(self, record: Exited) -> LiveProcess | None:
        """One whose end is all that is known; there is room for it, it goes at once."""
        slot, key, time_ns, parent, *_ = record
        target = self._target(slot)
        if target is None:
            return None
        born_ns = self._placing.born_ns(key)
        whole = born_ns >= max(self._since_ns, time_ns - self._limits.age_ns)
        process = self._placing.begin(slot, target, key, time_ns, parent, whole=whole)
        if whole:
            self._placing.starts_at(process, born_ns)
        return process

    def _begin(
        self, slot: int, key: ProcessKey, time_ns: int, parent: ProcessKey, *, whole: bool
    ) -> LiveProcess | None:
        """None where it is not wanted, or there is no room: then its span comes when it ends."""
        target = self._target(slot)
        if target is None:
            return None
        if len(self._live) >= self._limits.processes:
            if whole:  # else it will be tried again
                self._count(PROCESS_LIMIT)
            return None
        return self._placing.begin(slot, target, key, time_ns, parent, whole=whole)

    def _move(self, process: LiveProcess, slot: int, time_ns: int) -> LiveProcess | None:
        """It is in another tree from now on."""
        links = self._placing.end(process, time_ns, MOVED)
        target = self._target(slot)
        if target is None:
            return None
        time_ns = process.moment(time_ns)
        moved = self._placing.begin(
            slot, target, process.key, time_ns, process.parent, whole=False, links=links
        )
        self._execs.runs(moved, process.name, process.path)
        return moved

    def _target(self, slot: int) -> str | None:
        """Of whom spans of processes are wanted."""
        target = self._placing.target_of(slot)
        return target.name if target and target.spans.processes else None

    def _has_parent(self, process: LiveProcess, parent: ProcessKey) -> None:
        process.parent = parent
        self._placing.hang(process)

    def _happened(
        self, process: LiveProcess, name: str, time_ns: int, attributes: Attributes = ()
    ) -> None:
        budget = self._placing.budget
        process.part.happened(name, time_ns, attributes, 0, budget, self._limits)

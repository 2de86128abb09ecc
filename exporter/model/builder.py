"""From a reading of the kernel to a snapshot: numbers become names, slots become targets.

Trees with equal label sets are summed, calls of different ABIs with one name too. What the limit
does not admit goes into `other`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import add

from exporter.kernel.records import (
    CODE_ABI_SHIFT,
    CODE_NUMBER,
    ERRNO_UNKNOWN,
    NUMBER_OTHER,
    NUMBERS,
)
from exporter.kernel.source import Reading, Sums
from exporter.kernel.syscalls import OTHER, UNKNOWN, Abi, load_errnos, load_names
from exporter.model.admission import Admission
from exporter.model.snapshot import Call, InFlight, TargetState
from exporter.model.target import Target

#: task_struct.__state, include/linux/sched.h: by its lowest bit that tells.
_STATES = ((0x1, "sleeping"), (0x2, "uninterruptible"), (0x4 | 0x8, "stopped"))
THREAD_STATES = ("running", "sleeping", "uninterruptible", "stopped")


class Names:
    """Names of calls and errors, by the kernel's numbers."""

    def __init__(self) -> None:
        self._calls: dict[int, str] = {}
        self._tables: dict[int, dict[int, str]] = {}
        self._errnos = load_errnos()

    def call(self, code: int) -> str:
        name = self._calls.get(code)
        if name is None:
            name = self._calls[code] = self._look_up(code)
        return name

    def _look_up(self, code: int) -> str:
        number = code & CODE_NUMBER
        if number == NUMBER_OTHER:
            return OTHER
        abi = Abi(code >> CODE_ABI_SHIFT)
        if abi not in self._tables:
            self._tables[abi] = load_names(abi)
        if abi is Abi.ARM and NUMBERS - 16 <= number < NUMBERS:
            number += 0xF0000 - (NUMBERS - 16)  # bpf/arch.h moves ARM's private calls
        return self._tables[abi].get(number, UNKNOWN)

    def error(self, number: int) -> str:
        return UNKNOWN if number == ERRNO_UNKNOWN else self._errnos.get(number, UNKNOWN)


@dataclass(slots=True)
class _Sum:
    """What goes out as one call."""

    since_ns: int
    parts: list[Sums] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def thread_state(state: int) -> str:
    """What a thread does, in one word; a task that is ready to run has state 0."""
    return next((name for bits, name in _STATES if state & bits), "running")


def build_calls(
    reading: Reading, names: Names, slots: Mapping[int, str], admission: Admission, now_ns: int
) -> list[Call]:
    """Every call of every target, named, limited and summed. `slots` are targets' names by slot.

    `now_ns` is the time of the reading before: what is new since then was 0 at that time.
    """
    sums: dict[tuple[str, str], _Sum] = {}
    for slot, code, part, errors in reading.calls:
        target = slots.get(slot)
        if target is None or not (part.untimed or part.sum_ns or any(part.buckets)):
            continue
        syscall, since = admission.call(target, names.call(code), now_ns)
        total = sums.get((target, syscall))
        if total is None:
            total = sums[target, syscall] = _Sum(since)
        total.parts.append(part)
        for number, count in errors.items():
            if count:
                errno = admission.error(target, syscall, names.error(number))
                total.errors[errno] += count
        if part.other_errors:
            total.errors[OTHER] += part.other_errors
    return [_call(target, syscall, total) for (target, syscall), total in sums.items()]


def _call(target: str, syscall: str, total: _Sum) -> Call:
    buckets = total.parts[0].buckets
    for part in total.parts[1:]:
        buckets = list(map(add, buckets, part.buckets))
    return Call(
        target=target,
        syscall=syscall,
        untimed=sum(part.untimed for part in total.parts),
        sum_ns=sum(part.sum_ns for part in total.parts),
        buckets=buckets,
        errors=tuple(sorted(total.errors.items())),
        created_ns=total.since_ns,
    )


def build_in_flight(
    reading: Reading, names: Names, slots: Mapping[int, str], admission: Admission, now_ns: int
) -> list[InFlight]:
    """The calls that are in the kernel now, and the age of the oldest of each."""
    begun: dict[tuple[str, str], list[int]] = defaultdict(list)
    for thread in reading.threads:
        target = slots.get(thread.slot)
        if target is not None and thread.entry_ns:
            syscall, _ = admission.call(target, names.call(thread.code), now_ns)
            begun[target, syscall].append(thread.entry_ns)
    return [
        InFlight(target, syscall, len(times), max(0, reading.monotonic_ns - min(times)))
        for (target, syscall), times in begun.items()
    ]


def build_targets(
    reading: Reading,
    slots: Mapping[int, str],
    targets: Mapping[str, Target],
    trees: Mapping[str, int],
    admission: Admission,
    bounds: Mapping[str, tuple[int, ...]],
) -> list[TargetState]:
    """Each target and the life of its processes. `trees`: how many it has now."""
    processes: dict[str, set[int]] = defaultdict(set)
    threads: dict[str, Counter[str]] = defaultdict(Counter)
    for thread in reading.threads:
        name = slots.get(thread.slot)
        if name is not None:
            processes[name].add(thread.tgid)
            threads[name][thread_state(thread.state)] += 1
    life: dict[str, Counter[str]] = defaultdict(Counter)
    for slot, state in reading.slots.items():
        if slot in slots:
            life[slots[slot]].update(state._asdict())
    return [
        TargetState(
            name=name,
            kind=target.kind,
            root=target.root,
            up=bool(processes[name]),
            trees=trees.get(name, 0),
            processes=len(processes[name]),
            threads={state: threads[name][state] for state in THREAD_STATES},
            forks=life[name]["forks"],
            execs=life[name]["execs"],
            exits={
                "ok": life[name]["exits_ok"],
                "error": life[name]["exits_error"],
                "signal": life[name]["exits_signal"],
            },
            created_ns=admission.since(name),
            bounds=bounds.get(name),
        )
        for name, target in targets.items()
    ]

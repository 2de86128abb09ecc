"""The tables by which the kernel knows processes and cgroups by name: packed, written, switched to.

A rule is a bit. An automaton for each field tells which rules its text fulfils. Two generations
lie side by side: one is written while the kernel uses the other, and one store switches.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from exporter.errors import KernelError
from exporter.kernel import records
from exporter.kernel.bpf import Map
from exporter.kernel.records import FIELD_NAMES, MAX_RULES, ROW, RULES
from exporter.kernel.sizes import MAX_STATES, MAX_USERS

CGROUP, CONTAINER = "cgroup", "container"  # automata of paths, beside the fields of a process
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class Row(Protocol):
    """A state: bits that hold once it is reached, bits that hold if the text ends here."""

    @property
    def passes(self) -> int: ...
    @property
    def ends(self) -> int: ...
    @property
    def next(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class ProcessRule:
    """A `match` with its slot, or an `exclude` with its bits."""

    slot: int = 0
    excluded: int = 0
    alone: bool = False


@dataclass(frozen=True, slots=True)
class CgroupRule:
    """What a cgroup's path gives: one slot for all, or each its own and `other` for the rest."""

    slot: int = 0
    other: int = 0
    hierarchy: int | None = None  # None: any


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules. `automata` by field, rows as exporter.model.patterns makes them: 0 is dead, 1 the
    start. `unasked` are the rules that say nothing about a field, `users` the rules by UID."""

    processes: Sequence[ProcessRule] = ()
    cgroups: Sequence[CgroupRule] = ()
    automata: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    unasked: Mapping[str, int] = field(default_factory=dict)
    users: Mapping[int, int] = field(default_factory=dict)


class Rules:
    """The kernel's tables."""

    def __init__(self, rules: Map, states: Map, users: Map) -> None:
        self._rules, self._states, self._users = rules, states, users
        self._generation = 0
        self._uids: dict[int, set[int]] = {0: set(), 1: set()}

    def write(self, rules: RuleSet) -> int:
        """Writes the generation that is not in use, and returns it: the caller switches to it.

        Raises KernelError where the tables are too small.
        """
        generation = 1 - self._generation
        rows, starts = pack(rules.automata, generation * MAX_STATES)
        if len(rows) > MAX_STATES or len(rules.users) > MAX_USERS:
            raise KernelError(
                f"match, exclude and the patterns of cgroups need {len(rows)} states and"
                f" {len(rules.users)} users: {MAX_STATES} and {MAX_USERS} are possible; list fewer"
            )
        size = ROW.size
        with mmap.mmap(self._states.fd, 2 * MAX_STATES * size) as table:
            begin = generation * MAX_STATES * size
            table[begin : begin + len(rows) * size] = b"".join(rows)
        for uid in self._uids[generation] - rules.users.keys():
            self._users.delete(records.USER_KEY.pack(generation, uid))
        for uid, bits in rules.users.items():
            self._users.set(records.USER_KEY.pack(generation, uid), _U64.pack(bits))
        self._uids[generation] = set(rules.users)
        self._rules.set(_U32.pack(generation), _pack_rules(rules, starts))
        self._generation = generation
        return generation


def pack(
    automata: Mapping[str, Sequence[Row]], base: int = 0
) -> tuple[list[bytes], dict[str, int]]:
    """The rows of all automata as the kernel has them, the first at `base`, and their starts.

    Where a text ends (TEXT_END), a state leads to a row for what holds there, which stays there.
    Blanks and NULs, which stand between arguments, are the same.
    """
    rows = [_row(0, [base] * 256)]
    ends: dict[int, int] = {0: base}
    starts = {}
    for of_field in automata.values():
        for row in of_field[1:]:
            if row.ends not in ends:
                ends[row.ends] = base + len(rows)
                rows.append(_row(row.ends, [ends[row.ends]] * 256))
    for name, of_field in automata.items():
        if not of_field:
            continue
        first = starts[name] = base + len(rows)
        for row in of_field[1:]:
            to = [base if state == 0 else first + state - 1 for state in row.next]
            to[0], to[records.TEXT_END] = to[ord(" ")], ends[row.ends]
            rows.append(_row(row.passes, to))
    return rows, starts


def _row(passes: int, to: Sequence[int]) -> bytes:
    return ROW.pack(passes, array("H", to).tobytes())


def _pack_rules(rules: RuleSet, starts: Mapping[str, int]) -> bytes:
    processes = [*rules.processes, *[ProcessRule()] * (MAX_RULES - len(rules.processes))]
    cgroups = [*rules.cgroups, *[CgroupRule()] * (MAX_RULES - len(rules.cgroups))]
    any_ = (1 << len(rules.processes)) - 1
    return RULES.pack(
        *(rules.unasked.get(name, any_) for name in FIELD_NAMES),
        any_,
        sum(1 << bit for bit, rule in enumerate(rules.processes) if rule.alone),
        sum({rule.excluded for rule in rules.processes}),
        *(rule.excluded for rule in processes),
        *(rule.slot for rule in processes),
        *(starts.get(name, 0) for name in FIELD_NAMES),
        starts.get(CGROUP, 0),
        starts.get(CONTAINER, 0),
        *(rule.slot for rule in cgroups),
        *(rule.other for rule in cgroups),
        *(0 if rule.hierarchy is None else rule.hierarchy + 1 for rule in cgroups),
    )

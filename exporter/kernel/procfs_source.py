"""A `Source` without a program in the kernel: what /proc and the cgroup file systems say now.

With it the model decides who would be followed, and nothing is followed: for `check --explain`.
All is read once, so it is one moment, as far as /proc has any. What only the hooks can know, whose
child a process was before it was adopted, is not known here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import (
    PROCESS_ALIVE,
    PROCESS_KERNEL,
    CgroupKey,
    Membership,
    Process,
    ProcessKey,
    Thread,
    TreeSettings,
)
from exporter.kernel.rules import RuleSet
from exporter.kernel.slots import Slots
from exporter.kernel.source import Pass, Reading

_PF_KTHREAD = 0x00200000  # include/linux/sched.h
_STAT = re.compile(r"(\d+) \((.*)\) (\S) (.*)", re.DOTALL)  # a name may hold anything
_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")


class ProcfsSource:
    """Reads when it is made. `trees` is limits.trees."""

    def __init__(self, procfs: Path, cgroups: Cgroups, trees: int) -> None:
        self.slots = cast(Slots, _Numbers(trees))
        self.span_rules = None
        self._processes = list(_processes(procfs))
        self._members: dict[ProcessKey, Membership] = {}
        self._listed: dict[CgroupKey, int] = {}
        self._cgroups = cgroups
        self._within: dict[int, list[list[tuple[CgroupKey, str]]]] | None = None

    def list_processes(self) -> list[Process]:
        return [process._replace(member=self.member(process.key)) for process in self._processes]

    def list_threads(self) -> list[Thread]:
        return []

    def members(self) -> dict[ProcessKey, Membership]:
        return {key: self.member(key) for key in self._members}

    def member(self, key: ProcessKey) -> Membership:
        return self._members.get(key, Membership())._replace(cgroup=self._cgroup_slot(key.tgid))

    def set_member(self, key: ProcessKey, member: Membership) -> bool:
        self._members[key] = member
        return True

    def remove_member(self, key: ProcessKey) -> None:
        self._members.pop(key, None)

    def within(self, pid: int) -> list[list[tuple[CgroupKey, str]]]:
        """The cgroups that hold a process: for each hierarchy, in the order in which these were
        made, the one it is in and all above that."""
        if self._within is None:
            self._within = _within(self._cgroups)
        return self._within.get(pid, [])

    def _cgroup_slot(self, pid: int) -> int:
        """Of the deepest that is listed: bpf/membership.c, cgroup_slot()."""
        best, best_level = 0, -1
        for chain in self.within(pid) if self._listed else ():
            for above, (key, _) in enumerate(chain):
                if key in self._listed:
                    level = len(chain) - above
                    if level > best_level:
                        best, best_level = self._listed[key], level
                    break
        return best

    def cgroups(self) -> dict[CgroupKey, int]:
        return dict(self._listed)

    def list_cgroup(self, key: CgroupKey, slot: int) -> bool:
        self._listed[key] = slot
        return True

    def unlist_cgroup(self, key: CgroupKey) -> None:
        self._listed.pop(key, None)

    def edges(self) -> dict[ProcessKey, ProcessKey]:
        return {}

    def sync_pass(self) -> Pass:
        return Pass(0, 0, 0)

    def set_rules(self, rules: RuleSet) -> None: ...
    def name_cgroup(self, place: Place, slot: int | None) -> None: ...
    def watch_hierarchies(self, numbers: Iterable[int]) -> None: ...
    def keep_edges(self, on: bool) -> None: ...
    def count_incomplete(self, processes: int) -> None: ...
    def announce_change(self) -> None: ...
    def settle(self, changes: int) -> None: ...

    def edges_lost(self) -> int:
        return 0

    def events_lost(self) -> int:
        return 0

    def folded_programs(self) -> int:
        return 0

    def changes(self) -> int:
        return 0

    def lost_processes(self) -> int:
        return 0

    def release(self, slots: Collection[int]) -> tuple[set[int], Reading]:
        raise NotImplementedError("nothing was counted")

    def read(self, slots: Sequence[int]) -> Reading:
        raise NotImplementedError("nothing was counted")


class _Numbers:
    """What is asked of Slots."""

    def __init__(self, trees: int) -> None:
        self._trees, self._last, self.used = trees, 0, 0

    @property
    def spare(self) -> int:
        return self._trees - self.used

    def take(self) -> int | None:
        if not self.spare:
            return None
        self.used += 1
        return self.take_extra()

    def take_extra(self) -> int:
        self._last += 1
        return self._last

    def programs(self) -> dict[int, int]:
        return {}

    def is_open(self, slot: int) -> bool:
        return slot <= self._last

    def adopt(self, slot: int) -> None: ...
    def describe(self, slot: int, settings: TreeSettings) -> None: ...


def _processes(procfs: Path) -> Iterator[Process]:
    found = {}
    for entry in procfs.iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "stat").read_text(errors="replace")
            except OSError:  # it has ended meanwhile
                continue
            found[int(entry.name)] = parse_stat(text)
    for key, parent, flags in found.values():
        above = found.get(parent)
        yield Process(key, above[0] if above else ProcessKey(parent, 0), Membership(), flags)


def parse_stat(text: str) -> tuple[ProcessKey, int, int]:
    """Of /proc/PID/stat: the process, its parent's PID and its flags. See proc_pid_stat(5)."""
    match = _STAT.match(text)
    assert match
    fields = match[4].split()  # from the fourth on
    ended = match[3] in "ZX" and int(fields[16]) <= 1  # else that is its first thread alone
    flags = 0 if ended else PROCESS_ALIVE
    if int(fields[5]) & _PF_KTHREAD:
        flags |= PROCESS_KERNEL
    return ProcessKey(int(match[1]), int(fields[18]) * _TICK_NS), int(fields[0]), flags


def _within(cgroups: Cgroups) -> dict[int, list[list[tuple[CgroupKey, str]]]]:
    """By what the cgroups list: the paths in /proc/PID/cgroup are cut by cgroup namespaces."""
    found: dict[int, list[list[tuple[CgroupKey, str]]]] = {}
    roots = {hierarchy.number: hierarchy.root for hierarchy in reversed(cgroups.hierarchies)}
    tops = [(CgroupKey(number, root.stat().st_ino), "") for number, root in roots.items()]
    chains: dict[tuple[int, str], list[tuple[CgroupKey, str]]] = {}
    for key, path in sorted([*tops, *cgroups.walk()], key=lambda place: place[0].hierarchy):
        above = chains.get((key.hierarchy, path.rpartition("/")[0]), []) if path else []
        chain = chains[key.hierarchy, path] = [(key, path or "/"), *above]
        try:
            lines = (roots[key.hierarchy] / path.lstrip("/") / "cgroup.procs").read_text()
        except OSError:  # gone meanwhile, or a threaded one
            continue
        for pid in lines.split():
            found.setdefault(int(pid), []).append(chain)
    return found

"""Keeps the kernel's picture of who is followed in step with the targets.

Each target has a slot, never used again. A sync lists all processes, closes over the edges that
the hooks kept meanwhile, writes what is new to the kernel, and repeats until nothing changes. From
then on the hooks keep it true; `tend` does what they cannot: carry changes into threads, find
cgroups that came or went, and give room to what was lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from exporter.kernel import procfs
from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.records import (
    PROCESS_ALIVE,
    SLOT_EXCLUDED,
    CgroupKey,
    Membership,
    Process,
    ProcessKey,
)
from exporter.kernel.source import Source
from exporter.model.closure import Root, as_root, close_over
from exporter.model.target import Target

log = logging.getLogger(__name__)

_MAX_SYNCS = 3  # before what is missing is counted as lost
_MAX_ROUNDS = 64  # of a sync or of passes in one go; a storm that outlasts them goes on next time


@dataclass(slots=True)
class Tree:
    """A target and what it is in the kernel."""

    target: Target
    slot: int
    root: ProcessKey | None = None  # of a PID
    cgroups: frozenset[CgroupKey] = frozenset()
    looked: bool = False  # for its cgroups, once at least

    @property
    def present(self) -> bool:
        return self.target.kind == "all" or self.root is not None or bool(self.cgroups)


class Tracker:
    """Targets to slots, processes to targets. Not for more than one thread at a time."""

    def __init__(
        self, source: Source, cgroups: Cgroups, proc: Path, own_pid: int, max_trees: int
    ) -> None:
        self._source, self._cgroups, self._proc = source, cgroups, proc
        self._own_pid, self._max_trees = own_pid, max_trees
        self._own_key: ProcessKey | None = None
        self._before: dict[ProcessKey, Membership] = {}  # who was followed when a sync began
        self._next_slot = 1
        self._edges_lost = 0
        self._settled = -1
        self._lost_before = 0
        self.trees: dict[str, Tree] = {}
        self.retired: list[Tree] = []
        self.incomplete = False  # some process found no room or no storage

    def configure(self, targets: Iterable[Target]) -> None:
        """Takes over a list of targets; those that stay keep their slots, and so their counters.

        The kernel learns the roots, before all else, and before the hooks are attached: what is
        born below them from then on finds them, however fast a tree lives. `sync` does the rest.
        """
        old, self.trees = self.trees, {}
        for target in targets:
            before = old.pop(target.name, None)
            if before and before.target.identity == target.identity:
                self.trees[target.name] = replace(before, target=target)
            else:
                if before:
                    self.retired.append(before)
                self.trees[target.name] = Tree(target, self._open_slot())
        self.retired += old.values()
        self._begin()
        self._resolve_roots(self._source.list_processes())
        for key, root in self._roots().items():
            now = self._source.member(key)
            wanted = as_root(now, root).decided()
            if root.follow_forks and wanted != now:
                self._source.set_member(key, wanted)

    def slots_left(self) -> int:
        return self._max_trees + 1 - self._next_slot

    def _open_slot(self) -> int:
        slot = self._next_slot
        self._source.open_slot(slot)
        self._next_slot += 1
        return slot

    def sync(self) -> None:
        """Makes the kernel follow exactly the targets' processes, whoever is born meanwhile."""
        for _ in range(_MAX_SYNCS):
            if self._sync():
                return
            log.warning("the process tree changes faster than it can be listed: trying again")
            self._begin()
        self._source.count_incomplete(1)

    def _begin(self) -> None:
        """From now on every edge is kept, and no thread trusts what it has cached."""
        self._source.announce_change()
        self._settled = -1
        self._source.keep_edges(True)
        self._before = self._source.members()

    def _sync(self) -> bool:
        """Once. False if the tree went on changing through all rounds."""
        source = self._source
        self._list_cgroups()
        complete = any(not self._close() and self._carry() for _ in range(_MAX_ROUNDS))
        self._sweep()
        source.keep_edges(False)
        lost, self._edges_lost = source.edges_lost() - self._edges_lost, source.edges_lost()
        source.count_incomplete(lost)  # for good: nobody else knew
        return complete

    def tend(self) -> None:
        """What is due now and then: cheap when nothing happened."""
        moved = self._list_cgroups()
        lost = self._source.lost_processes()
        if moved:
            self._source.announce_change()
            self._settled = -1
        if self.incomplete or lost != self._lost_before or self._settled != self._source.changes():
            self._lost_before = lost
            self._carry()

    def _close(self) -> bool:
        """One round of closing over parents. True if the kernel learned something new."""
        source = self._source
        processes = source.list_processes()
        active = {t.slot for t in self.trees.values() if t.target.follow_forks} | {SLOT_EXCLUDED}
        node = next((t.slot for t in self.trees.values() if t.target.kind == "all"), 0)
        closed = close_over(
            processes, source.edges(), self._roots(), node, self._before, active.__contains__
        )
        known = {process.key: process.member for process in processes}
        wrote = False
        for key, member in closed.items():
            now = known.get(key) or source.member(key)
            wanted = member._replace(cgroup=now.cgroup).decided()
            if wanted != now and source.set_member(key, wanted):
                wrote = True
        return wrote

    def _carry(self) -> bool:
        """Passes until one changes nothing. True if the kernel is settled."""
        for _ in range(_MAX_ROUNDS):
            changes = self._source.changes()
            done = self._source.sync_pass()
            self._note(bool(done.no_room or done.no_storage))
            if done.changed:
                continue
            if not done.no_storage:
                self._source.settle(changes)
                self._settled = changes
            return True
        return False

    def _note(self, incomplete: bool) -> None:
        if incomplete and not self.incomplete:
            log.warning(
                "limits.processes (or the kernel's memory) is reached: calls of processes without"
                " a place are counted in proctree_exporter_lost_calls_total until there is room"
            )
        elif self.incomplete and not incomplete:
            log.warning("there is room again: all processes of the targets are followed")
        self.incomplete = incomplete

    def _sweep(self) -> None:
        """Forgets entries whose process ended while we wrote them."""
        before = self._source.members()
        alive = {p.key for p in self._source.list_processes() if p.flags & PROCESS_ALIVE}
        roots = self._roots()
        for key in before.keys() - alive:
            if key not in roots:
                self._source.remove_member(key)

    def _roots(self) -> dict[ProcessKey, Root]:
        roots = {self._own_key: Root(SLOT_EXCLUDED)} if self._own_key else {}
        for tree in self.trees.values():
            if tree.root:
                roots[tree.root] = Root(
                    tree.slot,
                    follow_forks=tree.target.follow_forks,
                    ranks_last=tree.target.pid == 1 and tree.target.follow_forks,
                )
        return roots

    def _resolve_roots(self, processes: list[Process]) -> None:
        """PIDs to processes, once for each reading of the config."""
        alive = {p.key.tgid: p.key for p in processes if p.flags & PROCESS_ALIVE}
        for process in processes:  # what the iterator hides is still known to its children
            alive.setdefault(process.parent.tgid, process.parent)
        self._own_key = alive.get(self._own_pid)
        inside = cache(partial(procfs.numbers_inside, self._proc))
        for tree in self.trees.values():
            pid = tree.target.pid
            if pid is None:
                continue
            reason = procfs.why_not(self._proc, pid, inside)
            tree.root = None if reason else alive.get(pid)
            if reason:
                log.warning("target %s is down until the next reload: %s", tree.target.name, reason)

    def _list_cgroups(self) -> bool:
        """Looks where the listed cgroups are now. True if one came or went."""
        changed = False
        for tree in self.trees.values():
            if tree.target.cgroup is None:
                continue
            found = self._cgroups.find(tree.target.cgroup, tree.target.absolute)
            if found != tree.cgroups or not tree.looked:
                changed = True
                if tree.cgroups and not found:
                    log.warning("target %s: its cgroup is gone, looked for again", tree.target.name)
                elif not found:
                    reason = self._cgroups.why_not(tree.target.cgroup, tree.target.absolute)
                    log.warning("target %s is down: %s", tree.target.name, reason)
                elif tree.looked:
                    log.info("target %s: its cgroup is there", tree.target.name)
                tree.cgroups, tree.looked = found, True
        listed = {key: tree.slot for tree in self.trees.values() for key in tree.cgroups}
        self._source.set_cgroups(listed)
        return changed

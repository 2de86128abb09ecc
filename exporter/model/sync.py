"""Makes the kernel follow exactly who shall be followed, whoever is born meanwhile.

A sync lists all processes, closes over the edges that the hooks kept meanwhile, writes what is new
to the kernel, and repeats until nothing changes. From then on the hooks keep it true; `carry`
brings a change into the storage of every thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from exporter.kernel.records import PROCESS_ALIVE, PROCESS_KERNEL, Membership, ProcessKey
from exporter.kernel.source import Source
from exporter.model.closure import Root, close_over
from exporter.model.ranking import Ranking

log = logging.getLogger(__name__)

_MAX_SYNCS = 3  # before what is missing is counted as lost
_MAX_ROUNDS = 64  # of a sync or of passes in one go; a storm that outlasts them goes on next time


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who shall be followed. `active` are the slots that descendants stay in; `holds` tells which
    rules hold for what a process runs now."""

    roots: Mapping[ProcessKey, Root]
    node: int
    active: frozenset[int]
    ranking: Ranking
    holds: Callable[[ProcessKey], int]


class Sync:
    """Not for more than one thread at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._before: dict[ProcessKey, Membership] = {}  # who was followed when it began
        self._closed: dict[ProcessKey, Membership] = {}  # what its rounds have found so far
        self._edges_lost = self._lost_before = 0
        self._settled = -1
        self.incomplete = False  # some process found no room or no storage

    def begin(self) -> None:
        """From now on every edge is kept, and no thread trusts what it has cached."""
        self.unsettle()
        self._source.keep_edges(True)
        self._before, self._closed = self._source.members(), {}

    def unsettle(self) -> None:
        """Somebody may be elsewhere than their threads know."""
        self._source.announce_change()
        self._settled = -1

    def run(self, wanted: Wanted) -> None:
        """After `begin`. What cannot be told for sure in the end is counted as lost."""
        for _ in range(_MAX_SYNCS):
            if self._run(wanted):
                return
            log.warning("the process tree changes faster than it can be listed: trying again")
            self.begin()
        self._source.count_incomplete(1)

    def _run(self, wanted: Wanted) -> bool:
        """Once. False if the tree went on changing through all rounds."""
        source = self._source
        complete = any(not self._close(wanted) and self.carry() for _ in range(_MAX_ROUNDS))
        self._sweep(wanted)
        source.keep_edges(False)
        lost, self._edges_lost = source.edges_lost() - self._edges_lost, source.edges_lost()
        source.count_incomplete(lost)  # for good: nobody else knew
        return complete

    def _close(self, wanted: Wanted) -> bool:
        """One round of closing over parents. True if the kernel learned something new."""
        source = self._source
        processes = source.list_processes()
        kernel = {p.key for p in processes if p.flags & PROCESS_KERNEL}
        holds = cache(lambda key: 0 if key in kernel else wanted.holds(key))
        closed = close_over(
            processes, source.edges(), wanted.roots, wanted.node, self._before,
            wanted.active.__contains__, wanted.ranking, holds, self._closed,
        )  # fmt: skip
        self._closed |= closed
        known = {process.key: process.member for process in processes}
        wrote = False
        for key, member in reversed(closed.items()):  # from the newest, which may live on
            now = known.get(key) or source.member(key)
            decided = wanted.ranking.decided(member._replace(cgroup=now.cgroup), now)
            if decided != now and source.set_member(key, decided):
                wrote = True
        return wrote

    def _sweep(self, wanted: Wanted) -> None:
        """Forgets entries whose process ended while we wrote them."""
        before = self._source.members()
        alive = {p.key for p in self._source.list_processes() if p.flags & PROCESS_ALIVE}
        for key in before.keys() - alive:
            if key not in wanted.roots:
                self._source.remove_member(key)

    def tend(self) -> None:
        """Carries what changed since; cheap when nothing did."""
        lost = self._source.lost_processes()
        if self.incomplete or lost != self._lost_before or self._settled != self._source.changes():
            self._lost_before = lost
            self.carry()

    def carry(self) -> bool:
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

"""Keeps the kernel's picture of who is followed in step with the targets.

Each tree has a slot, never used again. A sync makes the picture true, and the hooks keep it so;
`tend` does what they cannot: carry changes into threads, find what came or went without their
notice, and give room to what was lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from exporter.kernel import procfs
from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.doorbell import Event
from exporter.kernel.pidfile import Found
from exporter.kernel.records import (
    EVENT_GROUP,
    GROUP_BY,
    PROCESS_ALIVE,
    SLOT_EXCLUDED,
    Membership,
    Process,
    ProcessKey,
    Thread,
    TreeSettings,
)
from exporter.kernel.source import Reading, Source
from exporter.kernel.users import find_uid
from exporter.model.cgroup_trees import CgroupTrees
from exporter.model.closure import Root, as_root
from exporter.model.explain import Following
from exporter.model.labeller import Labeller
from exporter.model.leaving import Leaving
from exporter.model.metadata import Metadata
from exporter.model.pidfiles import Pidfiles
from exporter.model.programs import find_programs, learn_programs
from exporter.model.ranking import Ranking
from exporter.model.rulebook import Rulebook
from exporter.model.spans.rules import SpanTargets
from exporter.model.sync import Sync, Wanted
from exporter.model.target import Target, Words
from exporter.model.trees import Tree

log = logging.getLogger(__name__)

_SCAN_EVERY_S = 60.0  # all cgroups, though the kernel says which are new


@dataclass(frozen=True, slots=True)
class Paths:
    """--path.*: where the node's file systems are, for use in a container."""

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    cgroupfs: Path = Path("/sys/fs/cgroup")
    rootfs: Path = Path("/")


class Tracker:
    """Targets to slots, processes to targets. Not for more than one thread at a time."""

    def __init__(
        self, source: Source, cgroups: Cgroups, paths: Paths, own_pid: int, labeller: Labeller,
        metadata: Metadata,
    ) -> None:  # fmt: skip
        self._source, self._cgroups_seen, self._paths = source, cgroups, paths
        self._own_pid, self._metadata = own_pid, metadata
        self._own_key: ProcessKey | None = None
        self._events_lost = 0
        self._rulebook = Rulebook(())
        self._exclude: tuple[Words, ...] = ()
        self._ranking = Ranking()
        self._settings: dict[int, TreeSettings] = {}
        self._spans = SpanTargets(source.span_rules)
        self._scanned_s = 0.0
        self._sync = Sync(source)
        self._leaving = Leaving(source, labeller)
        self._cgroups = CgroupTrees(source, cgroups, labeller, self._describe)
        self._pidfiles = Pidfiles(paths.rootfs, paths.procfs)
        self.single: dict[str, Tree] = {}  # the one tree of a target, by its name
        self.others: dict[str, Tree] = {}  # of targets with many: what finds no slot of its own

    # What is followed

    def configure(self, targets: Iterable[Target], exclude: Sequence[Words] = ()) -> None:
        """Takes over a list of targets; those that stay keep their slots, and so their counters.

        The kernel learns the rules and the roots, before all else, and before the hooks are
        attached: what is born or begins from then on finds them, however fast a tree lives. `sync`
        does the rest. Ask `room_for` before. Raises KernelError where the kernel's tables are too
        small for the rules: then everything is as it was.
        """
        targets = list(targets)
        rulebook = Rulebook(
            targets, exclude, self._places, partial(find_uid, self._paths.rootfs), self._rulebook
        )
        trees = {target.name: self._tree_of(target) for target in targets}
        new = {t: trees[t.name].slot for t in targets if trees[t.name].target is None}

        def slot_of(target: Target) -> int:
            return trees[target.name].slot

        self._spans.configure(targets)
        for target, slot in new.items():
            self._describe(target, slot, rulebook)
        try:
            self._source.set_rules(rulebook.rule_set(slot_of, slot_of))
        except Exception:
            self._spans.configure(t.target for t in self._listed() if t.target)
            self._source.release(new.values())
            for slot in new.values():
                del self._settings[slot]
            raise
        before, kept = self._listed(), set(trees.values())
        self._leaving.trees += [tree for tree in before if tree not in kept]
        self._rulebook, self._exclude = rulebook, tuple(exclude)
        self.single = {t.name: trees[t.name] for t in targets if not t.many}
        self.others = {t.name: trees[t.name] for t in targets if t.many}
        self._sync.begin()
        for target in targets:
            trees[target.name].target = target
            self._describe(target, slot_of(target), rulebook)
        self._ranking = Ranking(self._settings, rulebook.process_rules(slot_of))
        self._cgroups.configure(rulebook, self.single, self.others)
        self._describe_programs()
        if self._source.span_rules:
            self._source.slots.remark(anyway=True)
        self._scanned_s = 0.0
        self._pidfiles.forget()
        files = self._pidfiles.read(self.single.values())
        self._resolve_roots(self._source.list_processes(), files)
        for key, root in self._roots().items():
            now = self._source.member(key)
            wanted = self._ranking.decided(as_root(now, root), now)
            if root.follow_forks and wanted != now:
                self._source.set_member(key, wanted)

    def _tree_of(self, target: Target) -> Tree:
        """The one that it has already, or a new one, which has no target yet."""
        tree = (self.others if target.many else self.single).get(target.name)
        if tree and tree.target and tree.target.identity == target.identity:
            return tree
        slots = self._source.slots
        slot = slots.take_extra() if target.many else slots.take()
        if slot is None:
            raise AssertionError("ask room_for before")
        return Tree(None, slot, time.time_ns(), shared=target.many)

    def room_for(self, targets: Iterable[Target], *, once_free: bool = False) -> bool:
        """Whether limits.trees leaves a slot for each new one of these: now, or once those that
        are not among them have given theirs back."""
        targets, slots = list(targets), self._source.slots
        now = {tree.target.identity for tree in self.single.values() if tree.target}
        new = sum(1 for t in targets if not t.many and t.identity not in now)
        if not once_free:
            return new <= slots.spare
        listed = {target.identity for target in targets}
        stay = [
            tree
            for tree in (*self.single.values(), *self._cgroups.by_path.values())
            if not tree.shared and (tree.target is None or tree.target.identity in listed)
        ]
        return new + sum(len(tree.slots) for tree in stay) <= slots.used + slots.spare

    def staying(self, targets: Iterable[Target]) -> list[Target]:
        """Those of these that are followed now."""
        now = {tree.target.identity for tree in self._listed() if tree.target}
        return [target for target in targets if target.identity in now]

    def _places(self, target: Target) -> Iterable[tuple[int | None, str]]:
        return self._cgroups_seen.locate(target.cgroup or "/", target.absolute)

    def _describe(self, target: Target, slot: int, rulebook: Rulebook | None = None) -> None:
        rulebook = rulebook or self._rulebook
        matches = [match.name for match in rulebook.matches]
        settings = TreeSettings(
            rulebook.excluded_by(target),
            matches.index(target.name) if target.match else 0,
            GROUP_BY.index(target.group_by),
            self._spans.index_of(target),
        )
        if self._settings.get(slot) != settings:
            self._settings[slot] = settings
            self._source.slots.describe(slot, settings)

    def _describe_programs(self) -> None:
        """What `group_by` split off has the spans of its tree."""
        if self._source.span_rules is None:
            return
        for tree in self._all():
            if tree.target:
                for slot in tree.programs:
                    self._describe(tree.target, slot)

    # Syncs

    @property
    def incomplete(self) -> bool:
        """Whether some process found no room or no storage."""
        return self._sync.incomplete

    def sync(self) -> None:
        """Makes the kernel follow exactly the targets' processes, whoever is born meanwhile."""
        self._find_cgroups()
        self._sync.run(self._wanted())

    def tend(self, events: Sequence[Event] = ()) -> None:
        """What is due now and then: cheap when nothing happened."""
        moved = self._cgroups.learn(e for e in events if e.kind != EVENT_GROUP)
        if learn_programs(self._source, events, self._all()):
            self._describe_programs()
        moved |= self._find_cgroups()
        moved |= self._cgroups.choose(self._metadata.version())
        if self._source.span_rules:
            self._source.slots.remark()
        if self._follow_files():
            return
        if moved:
            self._sync.unsettle()
        self._sync.tend()

    def _follow_files(self) -> bool:
        """Looks at pidfiles. True if a process was taken over."""
        news = self._pidfiles.news(self.single.values(), self._lives)
        if not news:
            return False
        changed = self._pidfiles.take_over(news, _alive(self._source.list_processes()))
        if changed:
            self._sync.begin()
            self.sync()
        return changed

    def _lives(self, root: ProcessKey) -> bool:
        """Whether the kernel still has it; if not, it has ended, or found no room."""
        return self._source.member(root) != Membership()

    def _find_cgroups(self) -> bool:
        """True if one was listed that was not before."""
        moved = self._cgroups.look()
        lost = self._source.events_lost()
        due = time.monotonic() - self._scanned_s >= _SCAN_EVERY_S or not self._scanned_s
        if due or lost != self._events_lost or not self._cgroups_seen.sees_all:
            self._events_lost, self._scanned_s = lost, time.monotonic()
            moved |= self._cgroups.scan()
            find_programs(self._source, self._all())
            self._describe_programs()
        return moved

    def _wanted(self) -> Wanted:
        single = [(tree, tree.target) for tree in self.single.values() if tree.target]
        active = {tree.slot for tree, target in single if target.follow_forks}
        return Wanted(
            roots=self._roots(),
            node=next((tree.slot for tree, target in single if target.kind == "all"), 0),
            active=frozenset(active | {SLOT_EXCLUDED}),
            ranking=self._ranking,
            holds=self._rules_for,
        )

    def _rules_for(self, key: ProcessKey) -> int:
        """Of what a process runs now."""
        if not self._ranking.rules:
            return 0
        texts = procfs.texts(self._paths.procfs, key.tgid)
        return self._rulebook.holds(texts) if texts else 0

    def _roots(self) -> dict[ProcessKey, Root]:
        roots = {self._own_key: Root(SLOT_EXCLUDED)} if self._own_key else {}
        for tree in self.single.values():
            if tree.root and tree.target:
                roots[tree.root] = Root(
                    tree.slot,
                    follow_forks=tree.target.follow_forks,
                    ranks_last=tree.target.pid == 1 and tree.target.follow_forks,
                )
        return roots

    def _resolve_roots(self, processes: list[Process], files: Iterable[tuple[Tree, Found]]) -> None:
        """PIDs to processes, once for each reading of the config; pidfiles were read before."""
        alive = _alive(processes)
        self._own_key = alive.get(self._own_pid)
        inside = cache(partial(procfs.numbers_inside, self._paths.procfs))
        for tree in self.single.values():
            target = tree.target
            if target is None or target.pid is None:
                continue
            reason = procfs.why_not(self._paths.procfs, target.pid, inside)
            tree.root = None if reason else alive.get(target.pid)
            if reason:
                log.warning("target %s is down until the next reload: %s", target.name, reason)
        self._pidfiles.take_over(files, alive)

    # Trees and their slots

    def _listed(self) -> list[Tree]:
        """One of each target: its own, or what its trees share that find no slot."""
        return [*self.single.values(), *self.others.values()]

    def trees(self) -> Iterator[Tree]:
        """All that are there, with those that wait for their metadata."""
        yield from self._listed()
        yield from self._cgroups.by_path.values()

    def _all(self) -> Iterator[Tree]:
        """With those that are gone and not let go."""
        yield from self.trees()
        yield from self._leaving.trees

    def freeze_labels(self) -> None:
        """Names the trees of which all is known, or for which nothing more is waited for."""
        self._leaving.name(self.trees())

    def reap(self) -> tuple[dict[int, Tree], Reading | None]:
        """Slots that are free now, whose they were, and their last numbers."""
        self._leaving.trees += self._cgroups.gone
        self._cgroups.gone.clear()
        free, reading = self._leaving.reap()
        for slot in free:
            self._settings.pop(slot, None)
        return free, reading

    def members(self) -> dict[ProcessKey, Membership]:
        """Who belongs where, by the kernel's own account."""
        return self._source.members()

    def threads(self) -> list[Thread]:
        """Of all processes that are followed, and what they do."""
        return self._source.list_threads()

    def following(self) -> Following:
        """Who is followed, as it is now."""
        return Following(
            trees=list(self.trees()),
            rulebook=self._rulebook,
            exclude=self._exclude,
            ranking=replace(self._ranking, trees=dict(self._settings)),
            processes=self._source.list_processes(),
            find_user=partial(find_uid, self._paths.rootfs),
            texts=partial(procfs.texts, self._paths.procfs),
        )

    def refused(self) -> dict[str, int]:
        """What was not followed though it was listed, so far, by reason."""
        return {**self._pidfiles.refused, "container_unknown": self._cgroups.unknown}

    def folded(self) -> dict[str, int]:
        """What found no slot of its own, so far, by reason."""
        return {
            "tree_limit": self._cgroups.folded,
            "program_limit": self._source.folded_programs(),
        }

    def held_back(self) -> int:
        """Trees whose series wait for what they are called; those that are gone, too."""
        return self._cgroups.held_back() + self._leaving.held_back()

    def count(self, name: str) -> int:
        """How many trees a target has now."""
        if name in self.single:
            return int(self.single[name].present)
        paths = self._cgroups.by_path.values()
        return sum(1 for tree in paths if tree.target and tree.target.name == name)


def _alive(processes: Iterable[Process]) -> dict[int, ProcessKey]:
    processes = list(processes)
    alive = {p.key.tgid: p.key for p in processes if p.flags & PROCESS_ALIVE}
    for process in processes:  # what the iterator hides is still known to its children
        alive.setdefault(process.parent.tgid, process.parent)
    return alive

"""The trees that are cgroups: found when made, named when known, let go when gone.

The kernel gives a new cgroup that a rule matches its slot at once, and says so; a scan finds those
that were there before, or whose news was lost. Which of several targets a container belongs to may
have to wait for its metadata: meanwhile it is counted already.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.doorbell import Event
from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import EVENT_CGROUP, CgroupKey
from exporter.kernel.source import Source
from exporter.model.labeller import Labeller
from exporter.model.rulebook import Rulebook
from exporter.model.selection import selects
from exporter.model.target import Target
from exporter.model.trees import Tree

log = logging.getLogger(__name__)


class CgroupTrees:
    """`describe` tells the kernel whose a slot is. Not for more than one thread at a time."""

    def __init__(
        self, source: Source, cgroups: Cgroups, labeller: Labeller,
        describe: Callable[[Target, int], None],
    ) -> None:  # fmt: skip
        self._source, self._cgroups, self._labeller = source, cgroups, labeller
        self._describe = describe
        self._rulebook = Rulebook(())
        self._single: Mapping[str, Tree] = {}
        self._others: Mapping[str, Tree] = {}
        self._named: dict[Place, Tree] = {}  # of targets that name a cgroup by its path
        self._of: dict[CgroupKey, Tree] = {}
        self._refused: dict[CgroupKey, str] = {}  # paths that no target takes, as known now
        self._leaving: list[Tree] = []  # gone, and still open whose
        self._doubtful: list[Tree] = []  # a new target may take them from theirs
        self._version = -1
        self.by_path: dict[Place, Tree] = {}
        self.gone: list[Tree] = []
        self.unknown = 0  # trees that were gone before it was known whose they were, so far
        self.folded = 0  # trees that found no slot, so far

    def configure(
        self, rulebook: Rulebook, single: Mapping[str, Tree], others: Mapping[str, Tree]
    ) -> None:
        """Takes over a list of targets: those with one tree, and the shared ones of the others."""
        self._rulebook, self._single, self._others = rulebook, single, others
        kept = {id(tree) for tree in single.values()}
        named = {
            place: tree
            for tree in single.values()
            if tree.target and tree.target.cgroup
            for place in self._cgroups.locate(tree.target.cgroup, tree.target.absolute)
        }
        for place in self._named.keys() - named.keys():
            self._source.name_cgroup(place, None)
        self._named = named
        for place, tree in named.items():
            self._source.name_cgroup(place, tree.slot)
        self._refused.clear()
        self._doubtful.clear()
        for tree in list(self.by_path.values()):
            target = self._still(tree)
            if tree.target is None and self._candidates(tree):
                continue
            if target is None or (tree.shared and tree.slot != others[target.name].slot):
                self._forget(tree)
            else:
                tree.target = target
                if not tree.shared:
                    self._describe(target, tree.slot)
        for key, tree in list(self._of.items()):
            if not tree.path and id(tree) not in kept:
                del self._of[key]
                tree.cgroups.discard(key)
                self._source.unlist_cgroup(key)
        self._source.watch_hierarchies(
            h.number for h in self._cgroups.hierarchies if rulebook.cgroups or self._named
        )

    def _still(self, tree: Tree) -> Target | None:
        """Its target in the new list, unless another that comes first takes it. While that is open
        it stays what it was: `choose` looks again."""
        facts, late, doubtful = self._labeller.facts(tree.path), self._is_late(tree), False
        for target in self._candidates(tree):
            if tree.target and target.identity == tree.target.identity:
                if doubtful:
                    self._doubtful.append(tree)
                return target
            verdict = selects(target, tree.path, facts, late)
            if verdict:
                return None
            doubtful |= verdict is None
        return None

    def _candidates(self, tree: Tree) -> list[Target]:
        path = os.fsencode(tree.path)
        found = (t for n in tree.hierarchies for t in self._rulebook.cgroup_targets(path, n))
        return list({target.name: target for target in found}.values())

    def learn(self, events: Iterable[Event]) -> bool:
        """True if a cgroup came to a slot that the kernel had not given it."""
        changed = False
        for event in events:
            if event.kind != EVENT_CGROUP:
                self._lost(event.cgroup)
            elif self._source.slots.is_open(event.slot):
                changed |= self._seen(event.cgroup, os.fsdecode(event.text), event.slot)
            # else it came and went by the name of a tree that was let go of since, and was read
        return changed

    def scan(self) -> bool:
        """Looks at all cgroups. True if one was listed that was not before."""
        if not self._rulebook.cgroups:
            return False
        there = dict(self._cgroups.walk())
        listed = self._source.cgroups()  # after that: who is there has its slot by now
        changed = False
        for key, path in there.items():
            changed |= self._seen(key, path, listed.get(key, 0))
        if self._cgroups.sees_all:  # else the kernel alone tells what is gone
            for key in self._of.keys() - there.keys():
                self._lost(key)
            self._refused = {key: path for key, path in self._refused.items() if key in there}
        return changed

    def look(self) -> bool:
        """Looks for the cgroups that are listed by their paths. True if one was found anew."""
        changed, sees_all = False, self._cgroups.sees_all
        for tree in self._single.values():
            target = tree.target
            if target is None or target.cgroup is None:
                continue
            before, looked, was_there = set(tree.cgroups), tree.looked, tree.was_there
            found = self._cgroups.find(target.cgroup, target.absolute)
            if not sees_all:  # what the kernel found is there until it says that it is gone
                found |= before
            for key in before - found:
                self._lost(key)
            for key in found - before:
                if key not in self._of:
                    changed |= self._join(tree, key, 0)
            tree.looked, tree.was_there = True, bool(found)
            if was_there and not found:
                log.warning("target %s: its cgroup is gone, looked for again", target.name)
            elif not found and not looked:
                reason = self._cgroups.why_not(target.cgroup, target.absolute)
                log.warning("target %s is down: %s", target.name, reason)
            elif looked and found and not was_there:
                log.info("target %s: its cgroup is there", target.name)
        return changed

    def choose(self, version: int) -> bool:
        """Decides what is open, as far as it is known. True if a cgroup was listed or refused:
        then those inside have to be told."""
        changed = False
        for tree in [tree for tree in self.by_path.values() if tree.target is None]:
            changed |= self._choose(tree)
        changed |= self._doubt()
        self._leaving = [tree for tree in self._leaving if not self._left(tree)]
        if version != self._version:
            self._version = version
            for key, path in list(self._refused.items()):
                facts = self._labeller.facts(path)
                targets = self._rulebook.cgroup_targets(os.fsencode(path), key.hierarchy)
                if any(selects(target, path, facts, late=False) for target in targets):
                    del self._refused[key]
                    changed |= self._seen(key, path, 0)
        return changed

    def held_back(self) -> int:
        """Trees that have no name yet."""
        waiting = (*self.by_path.values(), *self._leaving, *self.gone)
        return sum(tree.labels is None and not tree.shared for tree in waiting)

    def _seen(self, key: CgroupKey, path: str, slot: int) -> bool:
        """`slot` is what the kernel has given it, or 0."""
        if key in self._refused:
            return False
        if key in self._of:
            self._retire_other(self._of[key], slot)
            return False
        targets = self._rulebook.cgroup_targets(os.fsencode(path), key.hierarchy)
        bound = bool(targets) and targets[0].absolute
        place = Place(key.hierarchy if bound else None, path)
        named = self._named.get(Place(key.hierarchy, path)) or self._named.get(place)
        if named:
            return self._join(named, key, slot)
        if not targets:
            if slot:
                self._source.unlist_cgroup(key)
            return False
        if not targets[0].many:
            return self._join(self._single[targets[0].name], key, slot)
        tree = self.by_path.get(place) or self._revive(place, slot)
        if tree:
            self._retire_other(tree, slot)
        else:
            tree = self._new(place, targets, slot)
        changed = self._join(tree, key, slot)
        if tree.target is None:
            changed |= self._choose(tree)
        return changed

    def _join(self, tree: Tree, key: CgroupKey, slot: int) -> bool:
        tree.cgroups.add(key)
        tree.hierarchies.add(key.hierarchy)
        self._of[key] = tree
        return slot != tree.slot and self._source.list_cgroup(key, tree.slot)

    def _new(self, place: Place, targets: list[Target], slot: int) -> Tree:
        slot = slot or self._source.slots.take() or self._others[targets[0].name].slot
        tree = Tree(
            None, slot, time.time_ns(), place.path, place.hierarchy, shared=self._is_shared(slot)
        )
        if tree.shared:
            self.folded += 1
            self._use(slot)
        else:
            self._source.slots.adopt(slot)
            self._source.name_cgroup(place, slot)
        self.by_path[place] = tree
        return tree

    def _use(self, slot: int) -> None:
        """Who is counted there may be gone before anybody looks: it is exposed for good."""
        for tree in self._others.values():
            tree.used |= tree.slot == slot

    def _is_shared(self, slot: int) -> bool:
        return any(tree.slot == slot for tree in self._others.values())

    def _revive(self, place: Place, slot: int) -> Tree | None:
        """A cgroup in the place of one that has just gone, made before we knew that."""
        for left in (self.gone, self._leaving):
            tree = next((t for t in left if t.slot == slot and t.place == place), None)
            if tree:
                left.remove(tree)
                self.by_path[place] = tree
                self._source.name_cgroup(place, slot)
                return tree
        return None

    def _retire_other(self, tree: Tree, slot: int) -> None:
        """A slot that the kernel has given to a cgroup of a tree that has one, because we had just
        taken its name off the list. What was counted there is the tree's, too."""
        if slot in (0, tree.slot) or not tree.path or self._is_shared(slot):
            return
        self._source.slots.adopt(slot)
        other = replace(tree, slot=slot, cgroups=set(), programs={}, shared=False)
        (self.gone if tree.target else self._leaving).append(other)

    def _doubt(self) -> bool:
        """True if a tree became another target's."""
        doubtful, changed = self._doubtful, False
        self._doubtful = []
        for tree in doubtful:
            if self.by_path.get(tree.place) is tree and not self._still(tree):
                keys, path = set(tree.cgroups), tree.path
                self._forget(tree)
                for key in keys:
                    changed |= self._seen(key, path, 0)
        return changed

    def _choose(self, tree: Tree) -> bool:
        """True if its cgroups are not its own any more."""
        target = self._chosen(tree)
        if target:
            self._give(tree, target)
        elif target is False:
            self._refused |= dict.fromkeys(tree.cgroups, tree.path)
            self._forget(tree)
        return not tree.cgroups

    def _chosen(self, tree: Tree) -> Target | Literal[False] | None:
        """The first target that takes it; None: not known yet; False: none does.

        One that does not know in time does not keep it from those that follow.
        """
        facts, late = self._labeller.facts(tree.path), self._is_late(tree)
        open_: Literal[False] | None = False
        for target in self._candidates(tree):
            verdict = selects(target, tree.path, facts, late)
            if verdict:
                return target
            if verdict is None:
                open_ = None
                if not late:
                    break
        return open_

    def _is_late(self, tree: Tree) -> bool:
        return self._labeller.late(tree.since_ns, time.time_ns())

    def _left(self, tree: Tree) -> bool:
        """Whether it is known by now whose tree it was that is gone, or will not be known."""
        target = self._chosen(tree)
        if target is None:
            if not self._is_late(tree):
                return False
            self.unknown += 1
        tree.target = target or None
        self.gone.append(tree)
        return True

    def _give(self, tree: Tree, target: Target) -> None:
        if not target.many:
            keys = set(tree.cgroups)
            tree.target, tree.labels = target, self._labeller.labels(target, "")
            self._forget(tree)
            for key in keys:
                self._join(self._single[target.name], key, 0)
            return
        tree.target = target
        if not tree.shared:
            self._describe(target, tree.slot)
        elif tree.slot != self._others[target.name].slot:
            tree.slot = self._others[target.name].slot
            self._use(tree.slot)
            for key in tree.cgroups:
                self._source.list_cgroup(key, tree.slot)

    def _lost(self, key: CgroupKey) -> None:
        self._source.unlist_cgroup(key)
        self._refused.pop(key, None)
        tree = self._of.pop(key, None)
        if tree is None:
            return
        tree.cgroups.discard(key)
        if tree.path and not tree.cgroups:
            self._forget(tree, self.gone if tree.target else self._leaving)

    def _forget(self, tree: Tree, left: list[Tree] | None = None) -> None:
        """It is no tree (any more)."""
        for key in tree.cgroups:
            self._of.pop(key, None)
            self._source.unlist_cgroup(key)
        tree.cgroups.clear()
        del self.by_path[tree.place]
        if not tree.shared:
            self._source.name_cgroup(tree.place, None)
            (self.gone if left is None else left).append(tree)

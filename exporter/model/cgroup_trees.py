"""The trees that are cgroups: found when they are made, named when they are known, let go when gone.

The kernel gives a new cgroup that a rule matches its slot at once, and says so; a scan finds those
that were there before, or whose news was lost. Which of several targets a container belongs to may
have to wait for its metadata: meanwhile it is counted already.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping

from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.doorbell import Event
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
        self._named: dict[str, Tree] = {}  # targets that name a cgroup by its path in any hierarchy
        self._of: dict[CgroupKey, Tree] = {}
        self._refused: dict[str, set[CgroupKey]] = {}  # paths that no target takes, as known now
        self._version = -1
        self.by_path: dict[str, Tree] = {}
        self.gone: list[Tree] = []
        self.folded = 0  # trees that found no slot, so far

    def configure(
        self, rulebook: Rulebook, single: Mapping[str, Tree], others: Mapping[str, Tree]
    ) -> None:
        """Takes over a list of targets: those with one tree, and the shared ones of the others."""
        self._rulebook, self._single, self._others = rulebook, single, others
        kept = {id(tree) for tree in single.values()}
        before = self._named
        self._named = {
            tree.target.cgroup: tree
            for tree in single.values()
            if tree.target and tree.target.cgroup and not tree.target.absolute
        }
        for path, tree in self._named.items():
            self._source.name_cgroup(path, tree.slot)
        for path in before.keys() - self._named.keys():
            self._source.name_cgroup(path, None)
        self._refused.clear()
        for path, tree in list(self.by_path.items()):
            target = self._still(tree)
            if tree.target is None and self._candidates(tree):
                continue
            if target is None or (tree.shared and tree.slot != others[target.name].slot):
                self._forget(path, tree)
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
        """Its target in the new list, if that is the first that takes it."""
        facts = self._labeller.facts(tree.path)
        for target in self._candidates(tree):
            if tree.target and target.identity == tree.target.identity:
                return target
            if selects(target, tree.path, facts) is not False:
                return None
        return None

    def _candidates(self, tree: Tree) -> list[Target]:
        path = os.fsencode(tree.path)
        numbers = {key.hierarchy for key in tree.cgroups}
        found = (t for n in numbers for t in self._rulebook.cgroup_targets(path, n))
        return list({target.name: target for target in found}.values())

    def learn(self, events: Iterable[Event]) -> bool:
        """True if a cgroup came to a slot that the kernel had not given it."""
        changed = False
        for event in events:
            if event.kind == EVENT_CGROUP:
                changed |= self._seen(event.cgroup, os.fsdecode(event.text), event.slot)
            else:
                self._lost(event.cgroup)
        return changed

    def scan(self) -> bool:
        """Looks at all cgroups. True if one was listed that was not before."""
        if not self._rulebook.cgroups:
            return False
        listed = self._source.cgroups()
        changed, there = False, set()
        for key, path in self._cgroups.walk():
            there.add(key)
            changed |= self._seen(key, path, listed.get(key, 0))
        for key in [key for key in self._of if key not in there]:
            self._lost(key)
            self._source.unlist_cgroup(key)
        return changed

    def look(self) -> bool:
        """Looks for the cgroups that are listed by their paths. True if one was found anew."""
        changed = False
        for tree in self._single.values():
            target = tree.target
            if target is None or target.cgroup is None:
                continue
            before, looked, was_there = set(tree.cgroups), tree.looked, tree.was_there
            found = self._cgroups.find(target.cgroup, target.absolute)
            for key in before - found:
                self._lost(key)
                self._source.unlist_cgroup(key)
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
        """Decides what is open, as far as it is known. True if a cgroup was listed."""
        for path, tree in list(self.by_path.items()):
            if tree.target is None:
                self._choose(path, tree)
        changed = False
        if version != self._version:
            self._version = version
            for path, keys in list(self._refused.items()):
                facts = self._labeller.facts(path)
                targets = [
                    t for k in keys
                    for t in self._rulebook.cgroup_targets(os.fsencode(path), k.hierarchy)
                ]  # fmt: skip
                if any(selects(target, path, facts) for target in targets):
                    del self._refused[path]
                    for key in keys:
                        changed |= self._seen(key, path, 0)
        return changed

    def _seen(self, key: CgroupKey, path: str, slot: int) -> bool:
        """`slot` is what the kernel has given it, or 0."""
        if key in self._of or key in self._refused.get(path, ()):
            return False
        if path in self._named:
            return self._join(self._named[path], key, slot)
        targets = self._rulebook.cgroup_targets(os.fsencode(path), key.hierarchy)
        if not targets:
            if slot:
                self._source.unlist_cgroup(key)
            return False
        if not targets[0].many:
            return self._join(self._single[targets[0].name], key, slot)
        tree = self.by_path.get(path) or self._revive(path, slot) or self._new(path, targets, slot)
        changed = self._join(tree, key, slot)
        if tree.target is None:
            self._choose(path, tree)
        return changed

    def _join(self, tree: Tree, key: CgroupKey, slot: int) -> bool:
        tree.cgroups.add(key)
        self._of[key] = tree
        return slot != tree.slot and self._source.list_cgroup(key, tree.slot)

    def _new(self, path: str, targets: list[Target], slot: int) -> Tree:
        shared = {tree.slot for tree in self._others.values()}
        slot = slot or self._source.slots.take() or self._others[targets[0].name].slot
        tree = Tree(None, slot, time.time_ns(), path, shared=slot in shared)
        if tree.shared:
            self.folded += 1
        else:
            self._source.slots.adopt(slot)
            self._source.name_cgroup(path, slot)
        self.by_path[path] = tree
        return tree

    def _revive(self, path: str, slot: int) -> Tree | None:
        """A cgroup with the path of one that has just gone, made before we knew that."""
        tree = next((t for t in self.gone if t.slot == slot and t.path == path), None)
        if tree:
            self.gone.remove(tree)
            self.by_path[path] = tree
            self._source.name_cgroup(path, slot)
        return tree

    def _choose(self, path: str, tree: Tree) -> None:
        facts = self._labeller.facts(path)
        for target in self._candidates(tree):
            verdict = selects(target, path, facts)
            if verdict is None:
                return
            if verdict:
                self._give(path, tree, target)
                return
        self._refused[path] = set(tree.cgroups)
        self._forget(path, tree)

    def _give(self, path: str, tree: Tree, target: Target) -> None:
        if not target.many:
            keys = set(tree.cgroups)
            self._forget(path, tree)
            for key in keys:
                self._join(self._single[target.name], key, 0)
            return
        tree.target = target
        if not tree.shared:
            self._describe(target, tree.slot)
        elif tree.slot != self._others[target.name].slot:
            tree.slot = self._others[target.name].slot
            for key in tree.cgroups:
                self._source.list_cgroup(key, tree.slot)

    def _lost(self, key: CgroupKey) -> None:
        for keys in self._refused.values():
            keys.discard(key)
        tree = self._of.pop(key, None)
        if tree is None:
            return
        tree.cgroups.discard(key)
        if tree.path and not tree.cgroups:
            self._forget(tree.path, tree)

    def _forget(self, path: str, tree: Tree) -> None:
        """It is no tree (any more)."""
        for key in tree.cgroups:
            self._of.pop(key, None)
            self._source.unlist_cgroup(key)
        tree.cgroups.clear()
        del self.by_path[path]
        if not tree.shared:
            self._source.name_cgroup(path, None)
            self.gone.append(tree)

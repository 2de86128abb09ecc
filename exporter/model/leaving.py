"""Trees that are gone: what they are called at last, and when their slots are free."""

from __future__ import annotations

import time
from collections.abc import Iterable

from exporter.kernel.source import Reading, Source
from exporter.model.labeller import Labeller
from exporter.model.trees import Tree


class Leaving:
    """A tree stays here as long as its metadata is waited for, or something refers to its slots."""

    def __init__(self, source: Source, labeller: Labeller) -> None:
        self._source, self._labeller = source, labeller
        self.trees: list[Tree] = []

    def name(self, trees: Iterable[Tree]) -> None:
        """Freezes the labels of those of which all is known, or nothing more is waited for."""
        now_ns = time.time_ns()
        for tree in trees:
            if not tree.shared and not self._waits(tree, now_ns):
                self._freeze(tree)

    def held_back(self) -> int:
        return sum(tree.labels is None for tree in self.trees)

    def reap(self) -> tuple[dict[int, Tree], Reading | None]:
        """Slots that are free now, whose they were, and their last numbers."""
        now_ns = time.time_ns()
        ready = [tree for tree in self.trees if not self._waits(tree, now_ns)]
        if not ready:
            return {}, None
        for tree in ready:
            self._freeze(tree)
        owners = {slot: tree for tree in ready for slot in tree.slots}
        free, reading = self._source.release(owners.keys())
        for slot in free:
            owners[slot].programs.pop(slot, None)
        done = {id(tree) for tree in ready if tree.slot in free and not tree.programs}
        self.trees = [tree for tree in self.trees if id(tree) not in done]
        return {slot: owners[slot] for slot in free}, reading

    def _waits(self, tree: Tree, now_ns: int) -> bool:
        return tree.labels is None and self._labeller.waits(tree.path, tree.since_ns, now_ns)

    def _freeze(self, tree: Tree) -> None:
        if tree.labels is None and tree.target is not None:
            tree.labels = self._labeller.labels(tree.target, tree.path)

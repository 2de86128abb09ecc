"""What the kernel split off a tree by `group_by`: which slots, and the programs in them."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.kernel.doorbell import Event
from exporter.kernel.records import EVENT_GROUP
from exporter.kernel.source import Source
from exporter.model.labels import FOLDED
from exporter.model.trees import Tree


def learn_programs(source: Source, events: Iterable[Event], trees: Iterable[Tree]) -> bool:
    """By what the kernel said of each. True if there were any."""
    names = {event.slot: event for event in events if event.kind == EVENT_GROUP}
    by_slot = {tree.slot: tree for tree in trees} if names else {}
    for slot, event in names.items():
        source.slots.adopt(slot)
        if event.tree in by_slot:
            by_slot[event.tree].programs[slot] = event.text.decode(errors="replace")
    return bool(names)


def find_programs(source: Source, trees: Iterable[Tree]) -> None:
    """Those whose event was lost, and their names with it: they are exposed as `other`."""
    by_slot = {tree.slot: tree for tree in trees}
    for slot, tree in source.slots.programs().items():
        if tree in by_slot and slot not in by_slot[tree].programs:
            source.slots.adopt(slot)
            by_slot[tree].programs[slot] = FOLDED

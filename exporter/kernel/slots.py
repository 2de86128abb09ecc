"""Slots: the numbers of trees, and of programs that trees are split into.

A number is never used again. What belongs to one, its place and the ids of its aggregates, is given
back once nothing in the kernel can write to it any more. Slots that the kernel may give out by
itself lie ready in a queue.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import time
from collections.abc import Collection, Mapping

from exporter.kernel import records
from exporter.kernel.bpf import Map
from exporter.kernel.records import SlotState, TreeSettings
from exporter.kernel.sizes import Sizes
from exporter.kernel.span_rules import SpanRules

_U32 = struct.Struct("<I")
_NR_MEMBARRIER = {"x86_64": 324, "aarch64": 283}[platform.machine()]
_MEMBARRIER_GLOBAL = 1
_LONGER_THAN_ANY_PROGRAM_S = 1.0


def wait_for_programs() -> None:
    """Returns when every BPF program that runs now has ended: they run inside RCU's read side, and
    membarrier(2) waits for a grace period. Where it may not (nohz_full), some time has to do."""
    if ctypes.CDLL(None).syscall(_NR_MEMBARRIER, _MEMBARRIER_GLOBAL, 0, 0) != 0:
        time.sleep(_LONGER_THAN_ANY_PROGRAM_S)


class Slots:
    """Which slots there are. `maps` by the names in bpf/maps.c."""

    def __init__(
        self, maps: Mapping[str, Map], sizes: Sizes, span_rules: SpanRules | None = None
    ) -> None:
        self._maps, self._sizes, self._span_rules = maps, sizes, span_rules
        self._next = 1
        self._marks_due = False
        self._others: dict[int, int] = {}  # slot -> the aggregate of what has no room of its own
        self._taken: set[int] = set()  # of limits.trees
        self._extra: set[int] = set()  # beyond it
        for id_ in range(1, sizes.aggregates):
            maps["free_ids"].push(_U32.pack(id_))
        self._refill()

    @property
    def used(self) -> int:
        return len(self._taken)

    @property
    def spare(self) -> int:
        return self._sizes.trees - len(self._taken)

    def is_open(self, slot: int) -> bool:
        """Whether it is there, and not released."""
        return slot in self._others

    def take(self) -> int | None:
        """A slot of limits.trees, or None where all are in use."""
        value = self._maps["spare_slots"].pop()
        if value is None:
            return None
        slot = int(_U32.unpack(value)[0])
        self._taken.add(slot)
        return slot

    def take_extra(self) -> int:
        """A slot beyond limits.trees, for what finds none of its own."""
        slot = self._open()
        self._extra.add(slot)
        return slot

    def adopt(self, slot: int) -> None:
        """The kernel gave this one out."""
        if slot not in self._extra:
            self._taken.add(slot)

    def describe(self, slot: int, settings: TreeSettings) -> None:
        """What the kernel must know of a tree beforehand."""
        key = _U32.pack(slot)
        if self._span_rules:
            before = self._maps["trees"].get(key)  # the kernel's, where it gave the slot out
            marked = TreeSettings(*records.TREE.unpack(before)).spans if before else 0
            self._marks_due |= marked != settings.spans
            self._span_rules.assign(slot, self._others[slot], settings.spans)
        self._maps["trees"].set(key, records.TREE.pack(*settings))

    def remark(self, *, anyway: bool = False) -> None:
        """Where a rule of spans has changed (`anyway`), or which trees it is for."""
        if self._span_rules and (anyway or self._marks_due):
            self._marks_due = False
            self._span_rules.remark(self._others)

    def states(self, slots: Collection[int]) -> dict[int, SlotState]:
        wanted = set(slots)
        return {
            number: SlotState.unpack(value)
            for key, value in self._maps["slots"].items()
            if (number := _U32.unpack(key)[0]) in wanted
        }

    def other_ids(self, slots: Collection[int]) -> dict[int, int]:
        """Aggregate -> slot: those of each slot's `other`."""
        return {self._others[slot]: slot for slot in slots if slot in self._others}

    def programs(self) -> dict[int, int]:
        """What trees with `group_by` are split into: slot -> slot of the tree."""
        return {
            int(_U32.unpack(value)[0]): int(records.GROUP_KEY.unpack(key)[0])
            for key, value in self._maps["groups"].items()
        }

    def release(self, slots: Collection[int]) -> None:
        """Gives all back that belongs to these. Nothing may write to them any more."""
        gone, maps = set(slots), self._maps
        ids = [self._others[slot] for slot in gone]
        for key, value in list(maps["call_ids"].items()):
            if records.CALL_KEY.unpack(key)[0] in gone:
                ids.append(_U32.unpack(value)[0])
                maps["call_ids"].delete(key)
        freed = set(ids)
        for key, _ in list(maps["call_errors"].items()):
            if records.ERROR_KEY.unpack(key)[0] in freed:
                maps["call_errors"].delete(key)
        for key, value in list(maps["groups"].items()):
            if gone & {records.GROUP_KEY.unpack(key)[0], _U32.unpack(value)[0]}:
                maps["groups"].delete(key)
        size = self._sizes.aggregate_bytes * self._sizes.shards
        with mmap.mmap(maps["syscall_aggregate"].fd, (max(ids) + 1) * size) as mapped:
            for id_ in ids:
                mapped[id_ * size : (id_ + 1) * size] = bytes(size)
        for id_ in ids:
            maps["free_ids"].push(_U32.pack(id_))
        for slot in gone:
            maps["trees"].delete(_U32.pack(slot))
            maps["slots"].delete(_U32.pack(slot))
            del self._others[slot]
        if self._span_rules:
            self._span_rules.forget(gone)
        self._taken -= gone
        self._extra -= gone
        self._refill()

    def _refill(self) -> None:
        """As many wait in the queue as limits.trees leaves."""
        while len(self._others) - len(self._extra) < self._sizes.trees:
            self._maps["spare_slots"].push(_U32.pack(self._open()))

    def _open(self) -> int:
        value = self._maps["free_ids"].pop()
        if value is None:
            raise AssertionError("each slot's `other` has an id set aside: see sizes.plan")
        slot, id_ = self._next, _U32.unpack(value)[0]
        state = SlotState(0, 0, 0, 0, 0, id_, 0, 0, 0)
        self._maps["slots"].set(_U32.pack(slot), records.SLOT_STATE.pack(*state))
        self._others[slot] = id_
        self._next += 1
        return slot

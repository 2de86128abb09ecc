"""The ring buffer by which the kernel wakes user space, and says what came or went.

What it says are hints: where the ring was full, `control.events_lost` grows, and a scan finds the
rest.
"""

from __future__ import annotations

from typing import NamedTuple

from exporter.kernel import records
from exporter.kernel.records import EVENT_CHANGED, CgroupKey
from exporter.kernel.ring import Ring


class Event(NamedTuple):
    """What came or went; see enum event_kind in bpf/types.h."""

    kind: int
    slot: int
    cgroup: CgroupKey
    tree: int
    text: bytes


class Doorbell:
    """Waits for the kernel to ring, or for `wake`."""

    def __init__(self, fd: int) -> None:
        self._ring = Ring(fd)
        self.wait, self.wake = self._ring.wait, self._ring.wake

    def take(self) -> list[Event]:
        """All that was said since, but for mere changes of membership."""
        events = [_event(data) for data in self._ring.take() if len(data) >= records.EVENT.size]
        return [event for event in events if event.kind != EVENT_CHANGED]


def _event(data: bytes) -> Event:
    kind, slot, hierarchy, _, id_, tree, length = records.EVENT.unpack_from(data)
    text = data[records.EVENT.size :][:length]
    return Event(kind, slot, CgroupKey(hierarchy, id_), tree, text)

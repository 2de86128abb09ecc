"""Which target a slot is of, and whose Resource its spans carry, for another thread to ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from exporter.model.resource import Resource
from exporter.model.target import Target


class Owner(NamedTuple):
    """Of a slot whose tree has its name."""

    target: Target
    resource: Resource


class Owners:
    """A tree that is gone is known for a while: its last events may be on their way.

    What it asks may be asked by any thread; this is for one. `target_of` tells of those that are
    there, `last_target_of` and `resource_of` also of those that were.
    """

    def __init__(
        self,
        target_of: Callable[[int], Target | None],
        last_target_of: Callable[[int], Target | None],
        resource_of: Callable[[int], Resource | None],
    ) -> None:
        self._target_of, self._last_target_of = target_of, last_target_of
        self._resource_of = resource_of
        self._known: dict[int, Owner] = {}
        self._gone: set[int] = set()
        self._news = False

    def of(self, slot: int) -> Owner | None:
        """None: its tree has no name yet. The target is as the config has it now."""
        known, target = self._known.get(slot), self._target_of(slot)
        if known is None:
            target = target or self._last_target_of(slot)
            resource = self._resource_of(slot)
            if target and resource:
                known = self._known[slot] = Owner(target, resource)
                self._news = True
        elif target and target is not known.target:
            known = self._known[slot] = known._replace(target=target)
            self._news = True
        return known

    def take_news(self) -> bool:
        """Whether a slot has become known, or got another target, since the last time."""
        news, self._news = self._news, False
        return news

    def target_of(self, slot: int) -> Target | None:
        known = self.of(slot)
        return known.target if known else None

    def refresh(self) -> list[int]:
        """The slots that are gone since the last time but one; what a reload changed is news."""
        forgotten = []
        for slot in list(self._known):
            self.of(slot)
            if self._target_of(slot):
                self._gone.discard(slot)
            elif slot in self._gone:
                self._gone.discard(slot)
                del self._known[slot]
                forgotten.append(slot)
            else:
                self._gone.add(slot)
        return forgotten

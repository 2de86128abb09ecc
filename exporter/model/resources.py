"""The Resources of all that is exposed: decided once for each label set, as its labels are.

A label set keeps its Resource as long as it is exposed, whichever trees come and go. Those that
differ in the program alone (`group_by`) share one: the program is an attribute of their numbers.
No two others have the same identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from exporter.model.labels import LabelSet
from exporter.model.metadata import Facts
from exporter.model.resource import Place, Resource, identity, resource_of, set_apart
from exporter.model.target import Target

_MOST_GONE = 4096  # slots whose last spans may still be on their way


@dataclass(slots=True)
class _Known:
    labels: LabelSet  # without a program
    resource: Resource
    sets: set[LabelSet] = field(default_factory=set)  # exposed, with a program each


class Resources:
    """`facts` tells what is known of a cgroup's container. Not for more than one thread at a time,
    but for `of_slot` and `target_of`."""

    def __init__(self, place: Place, facts: Callable[[str], Facts | None]) -> None:
        self._place, self._facts = place, facts
        self._known: dict[LabelSet, _Known] = {}
        self._taken: set[tuple[object, ...]] = set()  # identities
        self._of_set: dict[LabelSet, _Known] = {}
        self._of_slot: dict[int, Resource] = {}
        self._gone: dict[int, Resource] = {}
        self._targets: dict[int, Target] = {}  # of both

    def opened(
        self, slot: int, target: Target, labels: LabelSet, exposed: LabelSet, path: str
    ) -> None:
        """A tree has got its labels. `exposed` are those of the series that it adds to, which may
        be the ones that all share that found no room: spans of such a tree keep its own."""
        self._targets[slot] = target
        if exposed == labels:
            self._of_slot[slot] = self._decided(target, exposed, path)
            return
        self._decided(target, exposed, "")
        self._of_slot[slot] = self._made(target, _without_program(target, labels), path)

    def closed(self, slot: int) -> None:
        """Its tree is gone; what was on its way may still ask for it."""
        self._gone[slot] = self._of_slot[slot]  # before it goes: there is always an answer
        del self._of_slot[slot]
        if len(self._gone) > _MOST_GONE:
            oldest = next(iter(self._gone))
            del self._gone[oldest]
            if oldest not in self._of_slot:
                del self._targets[oldest]

    def expired(self, exposed: LabelSet) -> None:
        """A label set is exposed no more; if it comes again its Resource is decided anew."""
        known = self._of_set.pop(exposed)
        known.sets.discard(exposed)
        if not known.sets:
            del self._known[known.labels]
            self._taken.discard(identity(known.resource))

    def of_slot(self, slot: int) -> Resource | None:
        """None where the tree has no name yet."""
        return self._of_slot.get(slot) or self._gone.get(slot)

    def target_of(self, slot: int) -> Target | None:
        """As it was when the tree got its labels, also of one that is gone."""
        return self._targets.get(slot)

    def of_sets(self) -> dict[LabelSet, Resource]:
        """Of all label sets that are exposed."""
        return {labels: known.resource for labels, known in self._of_set.items()}

    def _made(self, target: Target, labels: LabelSet, path: str) -> Resource:
        if not path and target.cgroup and not target.pattern:
            path = target.cgroup
        return resource_of(target, labels, path, self._facts(path), self._place)

    def _decided(self, target: Target, exposed: LabelSet, path: str) -> Resource:
        labels = _without_program(target, exposed)
        known = self._known.get(labels)
        if known is None:
            resource = self._made(target, labels, path)
            if identity(resource) in self._taken:
                resource = set_apart(resource, labels)
            known = self._known[labels] = _Known(labels, resource)
            self._taken.add(identity(resource))
        known.sets.add(exposed)
        self._of_set[exposed] = known
        return known.resource


def _without_program(target: Target, labels: LabelSet) -> LabelSet:
    return labels[:-1] if target.group_by else labels

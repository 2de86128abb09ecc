"""To which tree a process belongs, of those that claim it: as bpf/membership.c decides.

The kernel decides at forks, execs and moves; user space for processes that were there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from exporter.kernel.records import GROUP_BY, MAX_RULES, SLOT_EXCLUDED, Membership, TreeSettings
from exporter.kernel.rules import ProcessRule

_NO_SETTINGS = TreeSettings(order=MAX_RULES)


@dataclass(slots=True)
class Ranking:
    """What is known of each tree by its slot, and the rules of processes: bit n is `rules[n]`."""

    trees: Mapping[int, TreeSettings] = field(default_factory=dict)
    rules: tuple[ProcessRule, ...] = ()

    @property
    def excludes(self) -> int:
        """The bits of all `exclude` that there are."""
        return sum(rule.excluded for rule in self.rules)

    def takes(self, slot: int, excluded: int) -> bool:
        """Whether a tree takes a process that these bits exclude from some."""
        return slot != 0 and not self.trees.get(slot, _NO_SETTINGS).excluded_by & excluded

    def order(self, slot: int) -> int:
        return self.trees.get(slot, _NO_SETTINGS).order

    def tree_slot(self, member: Membership) -> int:
        """The tree of a process; 0: it is not followed."""
        slot = next((s for s in self._claims(member) if self.takes(s, member.excluded)), 0)
        return 0 if slot == SLOT_EXCLUDED else slot

    def _claims(self, member: Membership) -> Iterator[int]:
        yield from (member.own, member.tree, member.cgroup)
        yield from sorted((member.match, member.alone), key=self.order)
        yield member.node

    def first(self, *matches: int, excluded: int = 0) -> int:
        """Of several `match`, the one that is earliest in the list."""
        usable = [slot for slot in matches if self.takes(slot, excluded)]
        return min(usable, key=self.order, default=0)

    def judge(self, member: Membership, holds: int) -> Membership:
        """What the rules that hold for its program make of a process."""
        excluded = member.excluded
        for bit, rule in enumerate(self.rules):
            if holds >> bit & 1:
                excluded |= rule.excluded
        own = [
            rule
            for bit, rule in enumerate(self.rules)
            if holds >> bit & 1 and self.takes(rule.slot, excluded)
        ]
        match = next((rule.slot for rule in own if not rule.alone), 0)
        alone = next((rule.slot for rule in own if rule.alone), 0)
        first = self.first(member.match, match, excluded=excluded) or member.match
        return member._replace(match=first, alone=alone, excluded=excluded)

    def decided(self, member: Membership, now: Membership) -> Membership:
        """`member` with the outcome, but where a tree is split: by what, the kernel finds out."""
        slot = self.tree_slot(member)
        if GROUP_BY[self.trees.get(slot, _NO_SETTINGS).group_by]:
            return member._replace(tree_slot=now.tree_slot, slot=now.slot)
        return member._replace(tree_slot=slot, slot=slot)

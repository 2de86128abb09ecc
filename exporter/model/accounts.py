"""A series is its label set: one account for each, shared by all trees that carry it.

A tree is opened when its labels are known; they are frozen then. It is closed when nothing can
write to its slot any more: its numbers stay in its account, so that no counter falls, and the slot
and its ids are free. An account whose trees are all gone is dropped after a while with all its
series, and begins at 0 if it comes again. A label set that finds no room goes into an account of
the same target, for which room is set aside, in which each of a tree's labels is `other`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exporter.kernel.clock import Clock
from exporter.kernel.source import Reading
from exporter.model.account import Account, Life, Tree, TreeInfo
from exporter.model.admission import NOTHING, Budget, Costs, Price
from exporter.model.builder import add_call, build_calls, build_in_flight, build_trees
from exporter.model.labels import DEFAULT_LABEL, LabelSet, pod_label_name
from exporter.model.ledger import Total
from exporter.model.listed import Listed, relist
from exporter.model.names import Names
from exporter.model.places import Places
from exporter.model.snapshot import Call, InFlight, TargetState, TreeState
from exporter.model.spans.exemplars import Exemplars
from exporter.model.target import Target


class Exposed(NamedTuple):
    """The part of a snapshot that is about targets."""

    label_names: tuple[str, ...]
    calls: list[Call]
    in_flight: list[InFlight]
    trees: list[TreeState]
    targets: list[TargetState]


class Accounts:
    """All label sets that are exposed. Not for more than one thread at a time.

    `tree_labels` are the config's `labels`, None where it has none; `pod_labels` the keys that it
    allows.
    """

    def __init__(
        self, limit: int, costs: Costs, *, scale: int, keep_gone_ns: int,
        tree_labels: tuple[str, ...] | None = None, pod_labels: Sequence[str] = (),
        exemplars: Exemplars | None = None,
    ) -> None:  # fmt: skip
        self.keep_gone_ns = keep_gone_ns
        self.trees_folded = 0  # so far
        self._budget = Budget(limit)
        self._costs, self._scale = costs, scale
        self._tree_labels = tree_labels
        self._pod_labels = {key: pod_label_name(key) for key in pod_labels}
        self._names, self._exemplars, self._clock = Names(), exemplars, Clock()
        self._listed: dict[str, Listed] = {}
        self._accounts: dict[LabelSet, Account] = {}
        self._trees: dict[int, Tree] = {}
        self._sharing: Counter[LabelSet] = Counter()  # live trees without room for these labels

    @property
    def limit(self) -> int:
        return self._budget.limit

    @property
    def used(self) -> Price:
        """What is exposed, and what is set aside."""
        return self._budget.used

    @property
    def folded(self) -> int:
        """How many samples went into `other` instead."""
        own = sum(
            self._listed[dict(labels)["target"]].prices.account.text for labels in self._sharing
        )
        return own + sum(account.places.folded for account in self._accounts.values())

    def room_for(self, targets: Iterable[Target], costs: Costs | None = None) -> bool:
        """Whether `configure` would keep the ceiling, which takes nothing back that is exposed."""
        listed = relist(self._listed, targets, self._tree_labels, costs or self._costs, 1)
        return self._total(listed).most <= self.limit

    def configure(self, targets: Iterable[Target], now_ns: int, costs: Costs | None = None) -> None:
        """Takes over a list of targets: ask `room_for` before. Trees are the caller's to close."""
        self._costs = costs or self._costs
        self._listed = relist(self._listed, targets, self._tree_labels, self._costs, now_ns)
        for account in self._accounts.values():
            listed = self._listed[account.target.name]
            account.target, account.places.prices = listed.target, listed.prices
            account.told = False
        self._budget.used = self._total(self._listed)

    def target_of(self, slot: int) -> Target | None:
        """Whose this slot is, while it is open; for any thread."""
        tree = self._trees.get(slot)
        return tree.account.target if tree else None

    def folded_labels(self, target: Target) -> LabelSet:
        """The label set of its trees that find no room for one of their own."""
        return self._listed[target.name].folded

    def open(
        self, slot: int, target: Target, labels: LabelSet, info: TreeInfo, since_ns: int
    ) -> LabelSet:
        """From now on this tree is exposed, with these labels, or with those that are returned,
        where there is no room. It is counted since `since_ns`.

        The target must be on the list. A slot is opened once.
        """
        account = self._accounts.get(labels) or self._admit(target, labels, since_ns)
        if account.labels != labels:
            self._sharing[labels] += 1
            self.trees_folded += 1
        tree = Tree(account, labels, info, since_ns)
        self._trees[slot] = account.trees[slot] = tree
        account.gone_ns, account.told = 0, False
        return account.labels

    def inform(self, slot: int, info: TreeInfo) -> None:
        """What proctree_target_info says of a tree has changed."""
        tree = self._trees[slot]
        if tree.info != info:
            tree.info = info
            tree.account.told = False

    def close(self, slot: int, last: Reading, now_ns: int) -> None:
        """The tree is gone for good. `last` was read when nothing could write to it any more."""
        tree = self._trees.pop(slot)
        account = tree.account
        totals: dict[str, Total] = {}
        for raw in last.calls:
            if raw.slot == slot:
                add_call(totals, tree, raw, self._names)
        for syscall, total in totals.items():
            if syscall in account.kept:
                total.add(account.kept[syscall])
            account.kept[syscall] = total.keep()
        if slot in last.slots:
            account.life = account.life.plus(Life.of(last.slots[slot]))
        if account.labels != tree.labels:
            self._sharing[tree.labels] -= 1
            if not self._sharing[tree.labels]:
                del self._sharing[tree.labels]
        account.tell(self._pod_labels)
        account.end(slot)
        account.told = not account.trees
        if not account.trees:
            account.gone_ns = now_ns

    def expire(self, now_ns: int) -> list[LabelSet]:
        """Drops what is gone since `keep_gone_ns`: accounts, then targets taken off the list.
        Returns the label sets that are exposed no more."""
        before = now_ns - self.keep_gone_ns
        gone = [
            labels
            for labels, account in self._accounts.items()
            if not account.trees and account.gone_ns <= before
        ]
        for labels in gone:
            del self._accounts[labels]
        held = {account.target.name for account in self._accounts.values()}
        off = [
            name
            for name, listed in self._listed.items()
            if listed.gone_ns and listed.gone_ns <= before and name not in held
        ]
        for name in off:
            del self._listed[name]
        if gone or off:
            self._budget.used = self._total(self._listed)
        return gone

    def build(
        self, reading: Reading, trees: Mapping[str, int], now_ns: int,
        waiting: Mapping[int, str] | None = None,
    ) -> Exposed:  # fmt: skip
        """What is exposed of a reading made at `now_ns`.

        `trees` is how many each target has now, by its name; `waiting` the targets' names of slots
        that are followed and not opened yet.
        """
        accounts = self._accounts.values()
        for account in accounts:
            account.tell(self._pod_labels)
        recent = self._exemplars.by_slot() if self._exemplars else {}
        calls = build_calls(reading, self._names, self._trees, accounts, recent)
        room = self._budget.left // self._costs.in_flight.most
        in_flight = build_in_flight(reading, self._names, self._trees, room)
        self._clock.tick()
        states = build_trees(reading, self._trees, accounts, self._clock.boot_to_wall)
        up = {account.target.name for account, state in zip(accounts, states, strict=True)
              if state.processes}  # fmt: skip
        if waiting:
            up |= {waiting[t.slot] for t in reading.threads if t.slot in waiting}
        targets = [
            listed.state(self._scale, trees.get(name, 0), up=name in up)
            for name, listed in self._listed.items()
        ]
        for tree in self._trees.values():
            tree.since_ns = now_ns
        return Exposed(self._label_names(), calls, in_flight, states, targets)

    def _admit(self, target: Target, labels: LabelSet, since_ns: int) -> Account:
        """An account of its own, or the one that all share that find no room."""
        listed = self._listed[target.name]
        if labels in self._sharing or not (
            labels == listed.folded or self._budget.take(listed.prices.account)
        ):
            labels = listed.folded
            if labels in self._accounts:
                return self._accounts[labels]
        places = Places(self._budget, listed.prices, since_ns)
        account = self._accounts[labels] = Account(listed.target, labels, places, since_ns)
        return account

    def _total(self, listed: Mapping[str, Listed]) -> Price:
        total = NOTHING
        for one in listed.values():
            total += one.reserved
        for labels, account in self._accounts.items():
            one = listed[account.target.name]
            total += account.places.price(one.prices)
            if labels != one.folded:
                total += one.prices.account
        return total

    def _label_names(self) -> tuple[str, ...]:
        """All that label sets have now: target, those of trees, of targets, of programs."""
        found = {"target"} | {name for labels in self._accounts for name, _ in labels}
        static = (name for one in self._listed.values() for name, _ in one.target.static_labels)
        order = dict.fromkeys(("target", *(self._tree_labels or (DEFAULT_LABEL,)), *static))
        last = ("comm", "exe")
        return (
            *(name for name in order if name in found and name not in last),
            *(name for name in last if name in found),
        )

"""Takes whole snapshots: reads the kernel once, names and limits what it read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from exporter.kernel.source import Reading, Source
from exporter.model.accounts import Accounts
from exporter.model.admission import Costs
from exporter.model.labeller import Labeller
from exporter.model.labels import FOLDED, LabelSet
from exporter.model.losses import NOTHING, Losses
from exporter.model.resource import Resource
from exporter.model.resources import Resources
from exporter.model.snapshot import MapFill, ProgramCost, Snapshot
from exporter.model.target import Target
from exporter.model.tracker import Tracker
from exporter.model.trees import Tree


class Pods(Protocol):
    """How current the metadata of pods is."""

    def age_seconds(self) -> float | None: ...
    def failures(self) -> Mapping[str, int]: ...
    def known(self) -> int | None: ...


class Monitor:
    """Not for more than one thread at a time."""

    def __init__(
        self, source: Source, tracker: Tracker, accounts: Accounts, labeller: Labeller, scale: int,
        self_cost: bool, build_info: Mapping[str, str], pods: Pods | None = None,
        resources: Resources | None = None,
    ) -> None:  # fmt: skip
        self._source, self._tracker, self._accounts = source, tracker, accounts
        self._labeller, self._pods, self._resources = labeller, pods, resources
        self._scale, self._self_cost, self._build_info = scale, self_cost, build_info
        self._open: set[int] = set()  # slots that are exposed
        self._started_ns = time.time_ns()
        self.losses: Callable[[], Losses] = lambda: NOTHING  # where OTLP is off
        self.reload_successful = True
        self._reloaded_ns = 0

    def room_for(self, targets: Iterable[Target], costs: Costs) -> bool:
        """Whether these fit under the limit of series, which takes nothing back."""
        return self._accounts.room_for(targets, costs)

    def configure(self, targets: Iterable[Target], costs: Costs, now_ns: int) -> None:
        """Takes over a list of targets that the tracker follows already."""
        self._accounts.configure(targets, now_ns, costs)
        self.reload_successful = True
        self._reloaded_ns = now_ns
        self.tend()

    def tend(self) -> None:
        """Exposes trees whose labels are known, and lets go of those that are gone."""
        self._tracker.freeze_labels()
        for tree in self._tracker.trees():
            self._expose(tree)
        free, reading = self._tracker.reap()
        now_ns = time.time_ns()
        for slot, tree in free.items():
            if tree.labels is not None and slot not in self._open:
                self._expose(tree, slot)
            if slot in self._open and reading:
                self._accounts.close(slot, reading, now_ns)
                self._open.discard(slot)
                if self._resources:
                    self._resources.closed(slot)
        for gone in self._accounts.expire(now_ns):
            if self._resources:
                self._resources.expired(gone)

    def target_of(self, slot: int) -> Target | None:
        """Whose a slot is, while its tree is exposed; for any thread, as `resource_of` is."""
        return self._accounts.target_of(slot)

    def last_target_of(self, slot: int) -> Target | None:
        """Also of a tree that is gone: it may be so before anybody asks."""
        return self._resources.target_of(slot) if self._resources else None

    def resource_of(self, slot: int) -> Resource | None:
        """Whose a slot is; None until its tree has its labels, and where OTLP is off."""
        return self._resources.of_slot(slot) if self._resources else None

    def _expose(self, tree: Tree, *slots: int) -> None:
        target = tree.target
        if target is None or (tree.labels is None and not tree.shared):
            return
        if tree.shared and not (tree.used or slots or tree.slot in self._open):
            return
        labels = self._accounts.folded_labels(target) if tree.shared else tree.labels
        assert labels is not None
        info = self._labeller.info(tree.path)
        for slot in slots or tree.slots:
            if slot in self._open:
                self._accounts.inform(slot, info)
            else:
                own = labels
                if target.group_by and not tree.shared:
                    own = (*labels, (target.group_by, tree.programs.get(slot, FOLDED)))
                exposed = self._accounts.open(slot, target, own, info, tree.since_ns)
                self._open.add(slot)
                self._give_resource(slot, tree, own, exposed)

    def _give_resource(self, slot: int, tree: Tree, labels: LabelSet, exposed: LabelSet) -> None:
        if self._resources and tree.target:
            path = "" if tree.shared else tree.path
            self._resources.opened(slot, tree.target, labels, exposed, path)

    def snapshot(self) -> Snapshot:
        self.tend()
        now_ns = time.time_ns()
        tracker = self._tracker
        trees = list(tracker.trees())
        waiting = {
            slot: tree.target.name
            for tree in trees
            for slot in tree.slots
            if tree.target and slot not in self._open
        }
        reading = self._source.read([*self._open, *waiting])
        names = {tree.target.name for tree in trees if tree.target}
        exposed = self._accounts.build(
            reading, {name: tracker.count(name) for name in names}, now_ns, waiting
        )
        pods, slots, losses = self._pods, self._source.slots, self.losses()
        age = pods.age_seconds() if pods else None
        return Snapshot(
            time_ns=now_ns,
            monotonic_ns=reading.monotonic_ns,
            started_ns=self._started_ns,
            scale=self._scale,
            label_names=exposed.label_names,
            calls=exposed.calls,
            in_flight=exposed.in_flight,
            trees=exposed.trees,
            targets=exposed.targets,
            lost_calls=reading.lost_calls,
            lost_events=losses.events,
            dropped_spans=losses.spans,
            export_failures=losses.exports,
            maps=[MapFill(name, *fill) for name, fill in reading.map_entries.items()],
            programs=self._programs(reading),
            series_limit=self._accounts.limit,
            series_folded=self._accounts.folded,
            tree_slots=slots.used,
            tree_limit=slots.used + slots.spare,
            trees_held_back=tracker.held_back(),
            trees_folded={**tracker.folded(), "series_limit": self._accounts.trees_folded},
            metadata_age_ns=None if age is None else int(age * 1e9),
            metadata_failures=pods.failures() if pods else {},
            metadata_pods=pods.known() if pods else None,
            refused={**tracker.refused(), "traceparent_invalid": losses.bad_traceparents},
            reload_successful=self.reload_successful,
            reload_success_time_ns=self._reloaded_ns,
            build_info=self._build_info,
            resources=self._resources.of_sets() if self._resources else {},
        )

    def _programs(self, reading: Reading) -> list[ProgramCost] | None:
        if not self._self_cost:
            return None
        return [ProgramCost(p.name, p.run_ns, p.runs) for p in reading.programs]

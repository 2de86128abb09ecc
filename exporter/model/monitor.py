"""Takes whole snapshots: reads the kernel once, names and limits what it read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from exporter.kernel.source import Reading, Source
from exporter.model.admission import Admission, Costs
from exporter.model.builder import Names, build_calls, build_in_flight, build_targets
from exporter.model.histogram import index_of_bound
from exporter.model.snapshot import MapFill, ProgramCost, Snapshot
from exporter.model.target import Target
from exporter.model.tracker import Tracker

#: There are no events and no spans yet, so none can be lost; all reasons are there with 0.
_NO_EVENTS = {"ring_full": 0}
_NO_SPANS = {"queue_full": 0, "token_bucket": 0}
_NO_EXPORTS = {"refused": 0}
KEEP_GONE_NS = 300 * 10**9  # series of a target that was taken off the list


class Monitor:
    """Not for more than one thread at a time."""

    def __init__(
        self, source: Source, tracker: Tracker, series_limit: int, costs: Costs, scale: int,
        self_cost: bool, build_info: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._source, self._tracker = source, tracker
        self._scale, self._self_cost, self._build_info = scale, self_cost, build_info
        self._admission = Admission(series_limit, costs)
        self._names = Names()
        self._targets: dict[str, Target] = {}
        self._gone: dict[str, tuple[Target, int]] = {}  # taken off the list, and when
        self._bounds: dict[str, tuple[int, ...]] = {}
        self._started_ns = self._read_ns = time.time_ns()
        self.reload_successful = True
        self._reloaded_ns = 0

    def room_for(self, targets: Iterable[Target]) -> bool:
        """Whether these fit under the limit of series, which takes nothing back."""
        return self._admission.room_for(target.name for target in targets)

    def configure(self, targets: Iterable[Target], now_ns: int) -> None:
        """Takes over a list of targets that the tracker follows already."""
        before, self._targets = self._targets, {target.name: target for target in targets}
        for name, target in before.items():
            if name not in self._targets:
                self._gone[name] = (target, now_ns)
        for name, target in self._targets.items():
            self._gone.pop(name, None)
            self._admission.add_target(name, now_ns)
            if target.buckets:
                self._bounds[name] = tuple(index_of_bound(b, self._scale) for b in target.buckets)
            else:
                self._bounds.pop(name, None)
        self.reload_successful = True
        self._reloaded_ns = now_ns

    def snapshot(self) -> Snapshot:
        now_ns, since_ns = time.time_ns(), self._read_ns
        self._expire(now_ns)
        slots = self._slots()
        reading = self._source.read(list(slots))
        self._read_ns = now_ns
        shown = self._targets | {name: target for name, (target, _) in self._gone.items()}
        trees = {name: int(tree.present) for name, tree in self._tracker.trees.items()}
        calls = build_calls(reading, self._names, slots, self._admission, since_ns)
        return Snapshot(
            time_ns=now_ns,
            started_ns=self._started_ns,
            scale=self._scale,
            calls=calls,
            in_flight=build_in_flight(reading, self._names, slots, self._admission, since_ns),
            targets=build_targets(reading, slots, shown, trees, self._admission, self._bounds),
            lost_calls=reading.lost_calls,
            lost_events=_NO_EVENTS,
            dropped_spans=_NO_SPANS,
            export_failures=_NO_EXPORTS,
            maps=[MapFill(name, *fill) for name, fill in reading.map_entries.items()],
            programs=self._programs(reading),
            series_limit=self._admission.limit,
            series_folded=self._admission.folded,
            reload_successful=self.reload_successful,
            reload_success_time_ns=self._reloaded_ns,
            build_info=self._build_info,
        )

    def describe_targets(self) -> list[dict[str, Any]]:
        """For people: each target, what it is and whether it is all there."""
        snapshot = self.snapshot()
        return [
            {
                "name": state.name,
                "kind": state.kind,
                "root": state.root,
                "up": state.up,
                "trees": state.trees,
                "processes": state.processes,
                "threads": dict(state.threads),
                "complete": not self._tracker.incomplete,
            }
            for state in snapshot.targets
        ]

    def _slots(self) -> dict[int, str]:
        trees = [*self._tracker.trees.values(), *self._tracker.retired]
        return {
            tree.slot: tree.target.name
            for tree in trees
            if tree.target.name in self._targets or tree.target.name in self._gone
        }

    def _expire(self, now_ns: int) -> None:
        for name in [n for n, (_, when) in self._gone.items() if now_ns - when > KEEP_GONE_NS]:
            del self._gone[name]
            self._admission.forget_target(name)
            self._tracker.retired = [t for t in self._tracker.retired if t.target.name != name]

    def _programs(self, reading: Reading) -> list[ProgramCost] | None:
        if not self._self_cost:
            return None
        return [ProgramCost(p.name, p.run_ns, p.runs) for p in reading.programs]

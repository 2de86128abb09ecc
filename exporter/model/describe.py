"""For people: each target, what it is, and whether it is all there."""

from __future__ import annotations

from typing import Any

from exporter.model.names import THREAD_STATES
from exporter.model.snapshot import Snapshot
from exporter.model.tracker import Tracker


def describe_targets(snapshot: Snapshot, tracker: Tracker) -> list[dict[str, Any]]:
    """One entry for each target on the list."""
    listed = {tree.target.name: tree.target for tree in tracker.trees() if tree.target}
    return [
        {
            "name": state.name,
            "kind": listed[state.name].kind,
            "root": listed[state.name].root,
            "up": state.up,
            "trees": state.trees,
            "processes": sum(tree.processes for tree in trees),
            "threads": {s: sum(tree.threads[s] for tree in trees) for s in THREAD_STATES},
            "complete": not tracker.incomplete,
        }
        for state in snapshot.targets
        if state.name in listed
        for trees in [[t for t in snapshot.trees if ("target", state.name) in t.labels]]
    ]

"""For people: each target, what it is, and who belongs to it, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exporter.kernel.records import Membership, ProcessKey
from exporter.model.explain import Explainer, Following
from exporter.model.names import THREAD_STATES
from exporter.model.snapshot import Snapshot
from exporter.model.target import Target
from exporter.model.trees import Tree

MOST_LISTED = 1000  # trees, and processes, of each target; how many there are is told beside


def describe_targets(
    snapshot: Snapshot, following: Following, members: Mapping[ProcessKey, Membership],
    comm: Callable[[int], str], *, complete: bool,
) -> list[dict[str, Any]]:  # fmt: skip
    """One entry for each target on the list.

    `members` is the kernel's own account of who belongs where; `comm` gives a process's name.
    """
    explainer = Explainer(following)
    of_slot: dict[int, list[ProcessKey]] = {}
    for key in sorted(members):
        of_slot.setdefault(members[key].tree_slot, []).append(key)
    described = []
    for state in snapshot.targets:
        trees = [t for t in following.trees if t.target and t.target.name == state.name]
        if not trees or trees[0].target is None:  # taken off the list
            continue
        keys = sorted(key for slot in {t.slot for t in trees} for key in of_slot.get(slot, ()))
        exposed = [t for t in snapshot.trees if ("target", state.name) in t.labels]
        described.append(
            _head(trees[0].target)
            | {
                "up": state.up,
                "complete": complete,
                "trees_total": state.trees,
                "processes_total": len(keys),
                "threads": {s: sum(tree.threads[s] for tree in exposed) for s in THREAD_STATES},
                "trees": [
                    _tree(tree, len(of_slot.get(tree.slot, ()))) for tree in trees if tree.present
                ][:MOST_LISTED],
                "processes": [
                    {
                        "pid": key.tgid,
                        "comm": comm(key.tgid),
                        "why": explainer.why(key, members[key]),
                    }
                    for key in keys[:MOST_LISTED]
                ],
            }
        )
    return described


def _head(target: Target) -> dict[str, Any]:
    return {"name": target.name, "kind": target.kind, "root": target.root}


def _tree(tree: Tree, processes: int) -> dict[str, Any]:
    """Labels are null while they are not known; so are processes where trees share a place."""
    labels = None if tree.labels is None else dict(tree.labels)
    return {
        "labels": labels,
        "cgroup": tree.path or (tree.target.cgroup if tree.target else None),
        "processes": None if tree.shared else processes,
    }

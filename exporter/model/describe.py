"""For people: each target, what it is, and who belongs to it, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exporter.kernel.records import Membership, ProcessKey, Thread
from exporter.model.explain import Explainer, Following
from exporter.model.names import THREAD_STATES, Names
from exporter.model.snapshot import Snapshot
from exporter.model.target import Target
from exporter.model.trees import Tree

MOST_LISTED = 1000  # trees, and processes, of each target; how many there are is told beside
MOST_CALLS = 100  # of each target, the oldest of those in flight


def describe_targets(
    snapshot: Snapshot, following: Following, members: Mapping[ProcessKey, Membership],
    threads: Sequence[Thread], comm: Callable[[int], str], *, complete: bool,
) -> list[dict[str, Any]]:  # fmt: skip
    """One entry for each target on the list.

    `members` is the kernel's own account of who belongs where, `threads` of what they do; `comm`
    gives a process's name.
    """
    explainer = Explainer(following)
    of_slot: dict[int, list[ProcessKey]] = {}
    for key in sorted(members):
        of_slot.setdefault(members[key].tree_slot, []).append(key)
    calls = _in_flight(threads, members)
    names = Names()
    described = []
    for state in snapshot.targets:
        trees = [t for t in following.trees if t.target and t.target.name == state.name]
        if not trees or trees[0].target is None:  # taken off the list
            continue
        keys = sorted(key for slot in {t.slot for t in trees} for key in of_slot.get(slot, ()))
        oldest = sorted(
            (thread for slot in {t.slot for t in trees} for thread in calls.get(slot, ())),
            key=lambda thread: thread.entry_ns,
        )
        exposed = [t for t in snapshot.trees if ("target", state.name) in t.labels]
        described.append(
            _head(trees[0].target)
            | {
                "up": state.up,
                "complete": complete,
                "trees_total": state.trees,
                "processes_total": len(keys),
                "threads": {s: sum(tree.threads[s] for tree in exposed) for s in THREAD_STATES},
                "calls_in_flight_total": len(oldest),
                "calls_in_flight": [
                    {
                        "syscall": names.call(thread.code),
                        "seconds": max(0, snapshot.monotonic_ns - thread.entry_ns) / 1e9,
                        "pid": thread.tgid,
                        "tid": thread.tid,
                    }
                    for thread in oldest[:MOST_CALLS]
                ],
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


def _in_flight(
    threads: Sequence[Thread], members: Mapping[ProcessKey, Membership]
) -> dict[int, list[Thread]]:
    """Threads that are in a call, by their tree's slot."""
    found: dict[int, list[Thread]] = {}
    for thread in threads:
        member = members.get(ProcessKey(thread.tgid, thread.start_ns))
        if member and thread.entry_ns:
            found.setdefault(member.tree_slot, []).append(thread)
    return found


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

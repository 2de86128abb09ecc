"""The targets that hold a process and do not get it, and why: the ranking in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from exporter.kernel.records import CgroupKey, Membership, ProcessKey
from exporter.model.explain import Explainer, Following
from exporter.model.metadata import Facts
from exporter.model.selection import selects
from exporter.model.trees import Tree

_FACTS = ("namespace", "pod", "container", "image")
_ROOT, _CGROUP, _MATCH, _LAST = range(4)  # what goes first
_CALLED = ("a listed PID", "a cgroup", "a match", "'all' or PID 1")
_NEARER = (
    "that target's listed PID is nearer",
    "that target's cgroup is deeper",
    "that target's match is earlier in the list",
    "PID 1 goes before 'all'",
)


def rivals(
    explainer: Explainer, following: Following, key: ProcessKey, member: Membership,
    within: Sequence[tuple[CgroupKey, str]],
) -> Iterator[str]:  # fmt: skip
    """Clauses, each with its target's name. `within` are all cgroups that hold the process."""
    winner = explainer.tree_of(member)
    groups = {group for group, _ in within}
    held = {
        tree.slot: (tree, rank)
        for tree in following.trees
        if (rank := _rank(explainer, tree, key, groups)) is not None
    }
    for tree, rank in held.values():
        if tree.target is None or (winner and tree.slot == winner.slot):
            continue
        claim = explainer.claim(tree, key, _as_if(tree, rank))
        if not following.ranking.takes(tree.slot, member.excluded):
            reason = explainer.kept_out(tree, key)
        elif winner and winner.slot in held and held[winner.slot][1] != rank:
            reason = f"{_CALLED[held[winner.slot][1]]} goes before {_CALLED[rank]}"
        else:
            reason = _NEARER[rank]
        yield f"{tree.target.name}: {claim}, but {reason}"


def unmeant(
    following: Following, within: Sequence[tuple[CgroupKey, str]],
    facts_of: Callable[[str], Facts | None],
) -> Iterator[str]:  # fmt: skip
    """Selectors of containers that do not take the process's, or of which that is not known."""
    for group, path in within:
        for target in following.rulebook.cgroup_targets(os.fsencode(path), group.hierarchy):
            facts = facts_of(path)
            verdict = selects(target, path, facts, late=True)
            known = " ".join(
                f"{name}={value}" for name in _FACTS if (value := getattr(facts, name, ""))
            )
            said = f"its cgroup {path} is a container ({known or 'no engine has told its name'})"
            if verdict is None:
                yield f"{target.name}: perhaps: {said}; the running exporter may know more"
            elif not verdict:
                yield f"{target.name}: {said} that {target.kind!r} does not mean"


def _rank(explainer: Explainer, tree: Tree, key: ProcessKey, groups: set[CgroupKey]) -> int | None:
    """By what a tree holds a process; None: it does not."""
    target = tree.target
    if target is None:
        return None
    above = [key, *(list(explainer.ancestry(key))[1:] if target.follow_forks else ())]
    if tree.root in above:
        return _LAST if target.pid == 1 and target.follow_forks else _ROOT
    if tree.cgroups & groups:
        return _CGROUP
    if target.match and any(explainer.holds(target.match, at) for at in above):
        return _MATCH
    return _LAST if target.kind == "all" else None


def _as_if(tree: Tree, rank: int) -> Membership:
    """With this claim alone."""
    field = ("tree", "cgroup", "match", "node")[rank]
    return Membership()._replace(**{field: tree.slot})

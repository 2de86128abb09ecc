"""Which process belongs to which root, by who is whose child.

Pure: takes what the kernel listed and the edges that the hooks kept while it was listed, gives back
what each process inherits. The cgroup part of a membership is the kernel's own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from exporter.kernel.records import PROCESS_ALIVE, Membership, Process, ProcessKey
from exporter.model.ranking import Ranking


@dataclass(frozen=True, slots=True)
class Root:
    """What a listed process is to its descendants."""

    slot: int
    follow_forks: bool = True
    ranks_last: bool = False  # as `all` and PID 1 do: after cgroups


def as_root(inherited: Membership, root: Root) -> Membership:
    """The membership of a listed process that would otherwise have `inherited`."""
    if root.ranks_last:
        return inherited._replace(node=root.slot)
    if root.follow_forks:
        return inherited._replace(own=0, tree=root.slot)
    return inherited._replace(own=root.slot)


def close_over(
    processes: Iterable[Process],
    edges: Mapping[ProcessKey, ProcessKey],
    roots: Mapping[ProcessKey, Root],
    node: int = 0,
    before: Mapping[ProcessKey, Membership] | None = None,
    keeps: Callable[[int], bool] = lambda slot: False,
    ranking: Ranking | None = None,
    holds: Callable[[ProcessKey], int] = lambda key: 0,
    earlier: Mapping[ProcessKey, Membership] | None = None,
) -> dict[ProcessKey, Membership]:
    """The membership of every process that lives, or did when the sync began, without its cgroup.

    `edges` name the parent that a child had when it was born, which goes before the one it has
    now: that may have adopted it. `node` is the slot of `all`. `before` is who was followed when
    the sync began; of those that have ended, descendants ask the kernel. A process whose tree was
    not its parent's then had been adopted, and only the kernel knew where it came from: it stays in
    that tree as long as `keeps` says it is in use.
    What a `match` or an `exclude` once held for stays in it in the same way: if that was known
    before, if the kernel decided so meanwhile, or if an `earlier` round of this sync did, whose
    process may have ended since. `holds` tells which of the ranking's rules hold for what a process
    runs now.
    """
    ranking = ranking or Ranking()
    earlier = earlier or {}
    in_use = ranking.excludes  # other bits are left over
    listed = {process.key: process for process in processes}
    parents = {key: process.parent for key, process in listed.items()} | dict(edges)
    before = before or {}
    nothing = Membership(node=node)
    found: dict[ProcessKey, Membership] = {}

    def alive(key: ProcessKey) -> bool:
        return key in listed and bool(listed[key].flags & PROCESS_ALIVE)

    def tree_above(key: ProcessKey) -> int:
        """That its parent was in. One that was about to end then is not known: ask above that."""
        seen = {key}
        at = parents.get(key)
        while at is not None and at not in before and not alive(at) and at not in seen:
            seen.add(at)
            at = parents.get(at)
        return before.get(at, nothing).tree if at is not None else 0

    def inherited(key: ProcessKey, from_parent: Membership) -> Membership:
        plain = from_parent._replace(own=0, cgroup=0, tree_slot=0, slot=0)
        was = before.get(key)
        if was and was.tree and keeps(was.tree):
            adopted = was.tree != tree_above(key)
            plain = plain._replace(tree=was.tree) if adopted else plain
        now = listed[key].member if key in listed else None
        known = [member for member in (was, now, earlier.get(key)) if member]
        excluded = plain.excluded
        for member in known:
            excluded |= member.excluded & in_use
        matches = [plain.match, *(member.match for member in known if keeps(member.match))]
        match = ranking.first(*matches, excluded=excluded) or ranking.first(*matches)
        return plain._replace(match=match, excluded=excluded)

    for key in (*listed, *before):
        path: list[ProcessKey] = []
        at: ProcessKey | None = key
        while at is not None and at not in found and at not in path[-1:]:
            path.append(at)
            at = parents.get(at)
            if len(path) > len(parents) + 1:  # numbers used again can close a circle: cut it
                at = None
        above = found.get(at, nothing) if at is not None else nothing
        for at in reversed(path):
            above = ranking.judge(inherited(at, above), holds(at) if at in listed else 0)
            if at in roots:
                above = as_root(above, roots[at])
            found[at] = above

    for key in list(roots):  # one that the iterator does not show, but that has children
        found.setdefault(key, as_root(nothing, roots[key]))
    return {
        key: member for key, member in found.items() if key in roots or key in before or alive(key)
    }

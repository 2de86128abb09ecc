"""Why a process belongs to the target that it belongs to, in words.

Who belongs where is decided elsewhere, by the kernel or, for what was there before, by the same
rules in closure.py and ranking.py. Here the decision is put into a clause: which of the listed
things holds the process, and what ranks before what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from exporter.kernel.procfs import Texts
from exporter.kernel.records import PROCESS_KERNEL, SLOT_EXCLUDED, Membership, Process, ProcessKey
from exporter.model.ranking import Ranking
from exporter.model.rulebook import Rulebook
from exporter.model.target import Target, Words
from exporter.model.trees import Tree

_FIELDS = ("exe", "comm", "cmdline")


@dataclass(frozen=True, slots=True)
class Following:
    """Who is followed, at one moment."""

    trees: Sequence[Tree]  # with those that what finds no slot shares
    rulebook: Rulebook
    exclude: Sequence[Words]  # for all targets
    ranking: Ranking
    processes: Sequence[Process]
    find_user: Callable[[str], int | None]
    texts: Callable[[int], Texts | None]


class Explainer:
    """Answers for one moment; what programs are called it asks when it must."""

    def __init__(self, following: Following) -> None:
        self._ranking, self._everywhere = following.ranking, tuple(following.exclude)
        self._trees = {tree.slot: replace(tree) for tree in reversed(following.trees)}
        # A user that is not known is nobody; the tracker has said so in the log.
        find = following.find_user
        self._rule = cache(lambda words: _rulebook(words, partial(_uid, find)))
        self._parents = {process.key: process.parent for process in following.processes}
        kernel = {p.key for p in following.processes if p.flags & PROCESS_KERNEL}
        self._texts = cache(lambda key: None if key in kernel else following.texts(key.tgid))

    def tree_of(self, member: Membership) -> Tree | None:
        """The tree that a process is counted for."""
        return self._trees.get(self._ranking.tree_slot(member))

    def why(self, key: ProcessKey, member: Membership) -> str:
        """A clause that says why it belongs to that tree, or to none."""
        slot = self._ranking.tree_slot(member)
        if slot in self._trees:
            return self.claim(self._trees[slot], key, member)
        if SLOT_EXCLUDED in (member.tree, member.node):
            return "it is the exporter's own"
        claims = [self._trees[claim] for claim in _claims(member) if claim in self._trees]
        claims += self._matches_kept_out(key, member) if not claims else []
        if not claims:
            return "no listed PID is at or above it, no listed cgroup holds it, no 'match' does"
        return "; ".join(
            f"{self.claim(tree, key, member)}, but {self.kept_out(tree, key)}" for tree in claims
        )

    def claim(self, tree: Tree, key: ProcessKey, member: Membership) -> str:
        """Why this tree holds a process, as it does by `member`."""
        if tree.target is None:
            return f"its cgroup {tree.path} is a container, of which too little is known yet"
        if tree.slot in (member.own, member.tree) or tree.target.kind == "pid":
            return self._by_root(tree, tree.target, key)
        if tree.slot == member.cgroup:
            return _by_cgroup(tree, tree.target)
        if words := tree.target.match:
            return f"match {in_words(words)} {self._whom(words, key) or _NOW_ANOTHER}"
        return "'all: true' takes what no other target does"

    def kept_out(self, tree: Tree, key: ProcessKey) -> str:
        """Which `exclude` keeps a process out of a tree."""
        own = tree.target.exclude if tree.target else ()
        for words in (*own, *self._everywhere):
            if whom := self._whom(words, key):
                return f"exclude {in_words(words)} {whom}"
        return f"an exclude {_NOW_ANOTHER}"

    def _matches_kept_out(self, key: ProcessKey, member: Membership) -> list[Tree]:
        """What a match says of a process that its target excludes leaves no mark in `member`."""
        return [
            tree
            for slot, tree in self._trees.items()
            if tree.target
            and tree.target.match
            and not self._ranking.takes(slot, member.excluded)
            and self._whom(tree.target.match, key)
        ]

    def holds(self, words: Words, key: ProcessKey) -> bool:
        """Whether words hold for what a process runs now."""
        texts = self._texts(key)
        return texts is not None and bool(self._rule(words).holds(texts))

    def ancestry(self, key: ProcessKey) -> Iterator[ProcessKey]:
        """It, its parent, and so on."""
        seen: set[ProcessKey] = set()
        at: ProcessKey | None = key
        while at is not None and at not in seen:
            seen.add(at)
            yield at
            at = self._parents.get(at)

    def _by_root(self, tree: Tree, target: Target, key: ProcessKey) -> str:
        file = target.pidfile
        if key == tree.root:
            return f"{file} names it" if file else f"it is the listed PID {key.tgid}"
        if tree.root and tree.root in self.ancestry(key):
            above = tree.root.tgid
            return "it descends from " + (
                f"PID {above}, which {file} names" if file else f"the listed PID {above}"
            )
        if file:
            return f"it descends from a process that {file} named"
        return f"it was born a descendant of the listed PID {target.pid}, and adopted since"

    def _whom(self, words: Words, key: ProcessKey) -> str:
        """For whom words hold: the process, or its nearest ancestor; "": for nobody now."""
        for at in self.ancestry(key):
            if self.holds(words, at):
                return "holds for it" if at == key else f"holds for its ancestor {at.tgid}"
        return ""


_NOW_ANOTHER = "held for it or an ancestor, which has ended or runs another program now"


def _rulebook(words: Words, find_user: Callable[[str], int | None]) -> Rulebook:
    return Rulebook([Target("", "match", match=words)], find_user=find_user)


def _uid(find: Callable[[str], int | None], name: str) -> int:
    uid = find(name)
    return -1 if uid is None else uid


def _claims(member: Membership) -> Iterable[int]:
    named = (member.own, member.tree, member.cgroup, member.match, member.alone, member.node)
    return dict.fromkeys(slot for slot in named if slot)


def _by_cgroup(tree: Tree, target: Target) -> str:
    if tree.shared:
        return "its cgroup is one of those that found no place (limits.trees) and share one"
    if target.systemd:
        return f"its cgroup is the unit {target.systemd}, or in it"
    if target.pattern:
        return f"its cgroup {tree.path} fits {target.cgroup}"
    if target.many:
        return f"its cgroup {tree.path} is a container that {target.kind!r} means"
    return f"its cgroup {target.cgroup} is listed"


def in_words(words: Words) -> str:
    """As the config has them, on one line: exe=/usr/bin/nginx*|/usr/sbin/nginx user=www."""
    said = []
    for name in _FIELDS:
        patterns = getattr(words, name)
        for key, regex in ((name, False), (f"{name}_re", True)):
            texts = [pattern.text for pattern in patterns if pattern.regex is regex]
            if texts:
                said.append(f"{key}={'|'.join(texts)}")
    if words.user:
        said.append(f"user={'|'.join(map(str, words.user))}")
    return " ".join(said)

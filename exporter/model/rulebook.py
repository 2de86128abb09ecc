"""The words of all targets as rules: a bit for each, an automaton for each field.

The same automata are run by the kernel, at each exec and each new cgroup, and here, for what was
there before.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from exporter.errors import KernelError
from exporter.kernel.procfs import Texts
from exporter.kernel.records import MAX_RULES, TEXT_END
from exporter.kernel.rules import CGROUP, CONTAINER, CgroupRule, ProcessRule, RuleSet
from exporter.kernel.sizes import PATTERN_STATES
from exporter.model import container_paths
from exporter.model.patterns import Automaton, build
from exporter.model.target import Pattern, Target, Words

log = logging.getLogger(__name__)

_TEXTS = ("comm", "exe", "cmdline")
_PATHS = ("exe", CGROUP, CONTAINER)  # where a slash is special
_SPECIAL = re.compile(r"([^\w/-])", re.ASCII)


@dataclass(frozen=True, slots=True)
class CgroupTarget:
    """A target that is looked for by the paths of cgroups; `hierarchy` None: in any."""

    target: Target
    pattern: Pattern
    hierarchy: int | None


class Rulebook:
    """All rules of a list of targets. Bits of `exclude` that were given before are kept.

    Raises KernelError where there is no room for new ones beside those of before.
    """

    def __init__(
        self, targets: Iterable[Target], exclude: Sequence[Words] = (),
        places: Callable[[Target], Iterable[tuple[int | None, str]]] = lambda target: (),
        find_user: Callable[[str], int | None] = lambda name: None,
        before: Rulebook | None = None,
    ) -> None:  # fmt: skip
        targets = list(targets)
        self.matches = [target for target in targets if target.match]
        self._everywhere = tuple(exclude)
        excludes = dict.fromkeys([*exclude, *(words for t in targets for words in t.exclude)])
        self._bits: dict[Words, int] = _assign(excludes, before._bits if before else {})
        self._words = [*(t.match for t in self.matches if t.match), *excludes]
        self._users = self._users_by_uid(find_user)
        self.cgroups = [found for t in targets for found in cgroup_targets_of(t, places)]
        self._automata = self._build()
        self._unasked = {
            name: sum(1 << bit for bit, one in enumerate(self._words) if not getattr(one, name))
            for name in (*_TEXTS, "user")
        }

    def excluded_by(self, target: Target) -> int:
        """The bits of `exclude` that keep a process out of this target."""
        words = {*self._everywhere, *target.exclude}
        return sum(1 << self._bits[one] for one in words)

    def process_rules(self, slot_of: Callable[[Target], int]) -> tuple[ProcessRule, ...]:
        matches = [ProcessRule(slot_of(t), alone=not t.follow_forks) for t in self.matches]
        excludes = self._words[len(matches) :]
        return (*matches, *(ProcessRule(excluded=1 << self._bits[one]) for one in excludes))

    def rule_set(
        self, slot_of: Callable[[Target], int], other_of: Callable[[Target], int]
    ) -> RuleSet:
        """For the kernel: with the slot of each target, or, where it has many, the shared one."""
        cgroups = [
            CgroupRule(0, other_of(one.target), one.hierarchy)
            if one.target.many
            else CgroupRule(slot_of(one.target), 0, one.hierarchy)
            for one in self.cgroups
        ]
        rows = {name: automaton.rows for name, automaton in self._automata.items()}
        return RuleSet(self.process_rules(slot_of), cgroups, rows, self._unasked, self._users)

    def holds(self, texts: Texts) -> int:
        """Bits of the rules that hold for a process."""
        bits = (1 << len(self._words)) - 1
        for name in _TEXTS:
            found = self._run(name, getattr(texts, name))
            bits &= found | self._unasked[name]
        return bits & (self._users.get(texts.uid, 0) | self._unasked["user"])

    def cgroup_targets(self, path: bytes, hierarchy: int) -> list[Target]:
        """Those that this cgroup may belong to, in the order of the list."""
        bits = self._run(CGROUP, path) | self._run(CONTAINER, path)
        return [
            one.target
            for bit, one in enumerate(self.cgroups)
            if bits >> bit & 1 and one.hierarchy in (None, hierarchy)
        ]

    def _run(self, name: str, text: bytes) -> int:
        """As the kernel does, for which each text ends with this byte."""
        return self._automata[name].run(text.partition(bytes([TEXT_END]))[0])

    def _users_by_uid(self, find_user: Callable[[str], int | None]) -> dict[int, int]:
        users: dict[int, int] = {}
        for bit, words in enumerate(self._words):
            for user in words.user:
                uid = user if isinstance(user, int) else find_user(user)
                if uid is None:
                    log.warning("user %s is not known on this node: nothing matches it", user)
                else:
                    users[uid] = users.get(uid, 0) | 1 << bit
        return users

    def _build(self) -> Mapping[str, Automaton]:
        patterns: dict[str, list[tuple[Pattern, int]]] = {
            name: [(p, bit) for bit, one in enumerate(self._words) for p in getattr(one, name)]
            for name in _TEXTS
        }
        # Apart, because a pattern that begins with anything multiplies the states of others.
        containers = container_paths.CONTAINER
        for name, wanted in ((CGROUP, False), (CONTAINER, True)):
            patterns[name] = [
                (one.pattern, bit)
                for bit, one in enumerate(self.cgroups)
                if (one.pattern == containers) is wanted
            ]
        return {
            name: build(of_field, PATTERN_STATES, path=name in _PATHS)
            for name, of_field in patterns.items()
        }


def _assign(words: Iterable[Words], before: Mapping[Words, int]) -> dict[Words, int]:
    """A bit for each; new ones get bits that were not in use, so that no old mark is misread."""
    wanted = list(words)
    kept = {one: before[one] for one in wanted if one in before}
    new = [one for one in wanted if one not in kept]
    free = sorted(set(range(MAX_RULES)) - set(before.values()))
    if len(new) > len(free):
        raise KernelError(
            f"exclude: {len(new)} sets of words are new, and {len(free)} is all that there is room"
            " for beside those of before: reload with some of them, and then with all"
        )
    return kept | dict(zip(new, free, strict=False))


def cgroup_targets_of(
    target: Target, places: Callable[[Target], Iterable[tuple[int | None, str]]]
) -> Iterable[CgroupTarget]:
    """The rules for cgroups that a target makes; none where it names one by its path."""
    if target.kind in ("container", "kubernetes"):
        yield CgroupTarget(target, container_paths.CONTAINER, None)
    elif target.systemd:
        unit = _SPECIAL.sub(r"\\\1", target.systemd)
        yield CgroupTarget(target, Pattern(rf"(/[^/]+\.slice)*/{unit}", regex=True), None)
    elif target.pattern:
        for hierarchy, path in places(target):
            yield CgroupTarget(target, Pattern(path), hierarchy)

"""Whether all patterns of a file together fit into the kernel, and which of them say nothing.

The kernel compares a process with all sets of words at once, and a cgroup with all rules: one bit
of a word for each, and for each field one automaton. The four share one table of states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exporter.config.nodes import At, quote
from exporter.config.report import Report
from exporter.config.selectors import PATTERN_FIELDS, WordSet
from exporter.config.targets import Listed
from exporter.config.words import Placed
from exporter.kernel.records import MAX_RULES
from exporter.kernel.rules import CGROUP, CONTAINER
from exporter.kernel.sizes import MAX_STATES, MAX_USERS, PATTERN_STATES
from exporter.model.patterns import PatternError, build
from exporter.model.rulebook import cgroup_targets_of as cgroup_targets
from exporter.model.target import Pattern

_RULES = ("systemd", "container", "kubernetes")


def check_numbers(listed: Iterable[Listed], sets: Sequence[WordSet], report: Report) -> None:
    """No more sets of words and rules for cgroups than the kernel has bits."""
    if len(sets) > MAX_RULES:
        report.error(
            sets[MAX_RULES].at,
            f"{sets[MAX_RULES].key}: expected at most {MAX_RULES} sets of words in a file, each "
            f"'match' and each entry of 'exclude' is one, found {len(sets)}; put words that differ "
            "in one key into a list under that key",
        )
    users = {user for item in sets for user in item.words.user}
    if len(users) > MAX_USERS:
        report.error(
            sets[-1].at,
            f"user: expected at most {MAX_USERS} different users in a file, found {len(users)}",
        )
    rules = [item for item in listed if item.target.pattern or item.target.kind in _RULES]
    if len(rules) > MAX_RULES:
        report.error(
            rules[MAX_RULES].at,
            f"targets: expected at most {MAX_RULES} targets with a pattern of cgroups, "
            f"{', '.join(_RULES)}, found {len(rules)}; a pattern of cgroups follows many with one "
            "target",
        )


def check_patterns(
    listed: Iterable[Listed], sets: Sequence[WordSet], report: Report
) -> frozenset[At]:
    """All patterns fit into one table. Returns the places of the sets that fit every process."""
    numbered = _of_cgroups(listed)
    for name in PATTERN_FIELDS:
        numbered[name] = [(p, bit) for bit, item in enumerate(sets) for p in item.patterns[name]]
    left, holds_all = PATTERN_STATES, dict.fromkeys(numbered, 0)
    ends: set[int] = set()  # the kernel has a state for each, too: exporter/kernel/rules.py
    for name, placed in numbered.items():
        try:
            automaton = build([(p.pattern, bit) for p, bit in placed], left, is_path(name))
        except PatternError as error:
            at = next(p.at for p, _ in placed if p.pattern == error.pattern)
            report.error(at, f"{name}: {error} (all patterns share {PATTERN_STATES} states)")
            break
        left -= len(automaton.rows)
        ends |= {row.ends for row in automaton.rows if row.ends}
        if len(ends) > left + MAX_STATES - PATTERN_STATES:
            report.error(
                placed[-1][0].at,
                f"{name}: the patterns up to here overlap in {len(ends)} ways, too many beside "
                f"their {PATTERN_STATES - left} states; use fewer that can match the same text",
            )
            break
        if automaton.rows:
            holds_all[name] = automaton.rows[1].passes
    return frozenset(
        item.at
        for bit, item in enumerate(sets)
        if _warn_of_nothing_said(
            item, [name for name in PATTERN_FIELDS if holds_all[name] >> bit & 1], report
        )
    )


def _of_cgroups(listed: Iterable[Listed]) -> dict[str, list[tuple[Placed, int]]]:
    """What the kernel compares with the path of a new cgroup; containers apart, as it does."""
    found: dict[str, list[tuple[Placed, int]]] = {CGROUP: [], CONTAINER: []}
    for item in listed:
        for rule in cgroup_targets(item.target, lambda target: [(None, target.cgroup or "")]):
            name = CONTAINER if item.target.kind in ("container", "kubernetes") else CGROUP
            found[name].append((Placed(rule.pattern, item.root_at), len(found[name])))
    return found


def is_path(name: str) -> bool:
    """Whether a slash is special in the patterns of this field."""
    return name in ("exe", CGROUP, CONTAINER)


def _warn_of_nothing_said(item: WordSet, fields: Sequence[str], report: Report) -> bool:
    """Warns of patterns that every process fits; whether the whole set is such.

    `fields` are those where some pattern matches every text.
    """
    given = [name for name in PATTERN_FIELDS if item.patterns[name]]
    whole = bool(fields) and fields == given and not item.words.user
    if whole and item.key == "match":
        report.warn(item.at, "match: every process fits these words; write 'all: true' instead")
    elif whole:
        report.warn(item.at, "exclude: every process fits these words, so none is left; remove it")
    else:
        for name in fields:
            placed = item.patterns[name]
            found = next(p for p in placed if _matches_all(p.pattern, is_path(name)))
            text = quote(found.pattern.text)
            report.warn(found.at, f"{name}: every process fits {text}; remove it")
    return whole


def _matches_all(pattern: Pattern, path: bool) -> bool:
    return build([(pattern, 0)], PATTERN_STATES, path).rows[1].passes != 0

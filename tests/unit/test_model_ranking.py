"""Which tree a process belongs to: the rules of bpf/membership.c and bpf/naming.c, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.records import SLOT_EXCLUDED, Membership, TreeSettings
from exporter.kernel.rules import ProcessRule
from exporter.model.ranking import Ranking

#: Slots 1 to 6; 3 and 6 exclude who has bit 1, 5 who has bit 2; in the list 4 goes before 5.
TREES = {
    1: TreeSettings(),
    2: TreeSettings(),
    3: TreeSettings(excluded_by=1),
    4: TreeSettings(order=0),
    5: TreeSettings(excluded_by=2, order=1),
    6: TreeSettings(excluded_by=1, order=2, group_by=1),
}


@pytest.mark.parametrize(
    ("member", "slot"),
    [
        (Membership(), 0),
        (Membership(own=1, tree=2, cgroup=3, match=4, alone=5, node=6), 1),
        (Membership(tree=2, cgroup=3, match=4, alone=5, node=6), 2),
        (Membership(cgroup=3, match=4, alone=5, node=6), 3),
        (Membership(match=4, alone=5, node=6), 4),
        (Membership(match=5, alone=4, node=6), 4),
        (Membership(alone=5, node=6), 5),
        (Membership(match=5, node=6), 5),
        (Membership(node=6), 6),
        (Membership(cgroup=3, match=5, node=6, excluded=1), 5),
        (Membership(cgroup=3, match=5, alone=4, node=6, excluded=3), 4),
        (Membership(cgroup=3, match=5, node=6, excluded=3), 0),
        (Membership(own=3, tree=3, match=5, node=1, excluded=3), 1),
        (Membership(match=5, node=6, excluded=2), 6),
        (Membership(tree=SLOT_EXCLUDED, cgroup=3, node=6), 0),
        (Membership(own=1, tree=SLOT_EXCLUDED), 1),
        (Membership(tree=99, excluded=3), 99),
    ],
)
def test_the_tree_of_a_process(member: Membership, slot: int) -> None:
    """The first in this order that does not exclude it; `match` and `alone` by the list."""
    assert Ranking(TREES).tree_slot(member) == slot


MATCHES = (ProcessRule(4), ProcessRule(5), ProcessRule(6, alone=True), ProcessRule(7, alone=True))
EXCLUDES = (ProcessRule(excluded=1), ProcessRule(excluded=2))
RANKING = Ranking({**TREES, 7: TreeSettings(order=3)}, (*MATCHES, *EXCLUDES))
A, B, ALONE, ALONE_TOO, NOT_1, NOT_2 = (1 << bit for bit in range(6))


@pytest.mark.parametrize(
    ("before", "holds", "after"),
    [
        (Membership(), 0, Membership()),
        (Membership(), A | B, Membership(match=4)),
        (Membership(), B, Membership(match=5)),
        (Membership(match=4), B, Membership(match=4)),
        (Membership(match=5), A, Membership(match=4)),
        (Membership(match=5), 0, Membership(match=5)),
        (Membership(), ALONE | ALONE_TOO | B, Membership(match=5, alone=6)),
        (Membership(alone=6), 0, Membership()),
        (Membership(), NOT_1 | ALONE | ALONE_TOO, Membership(alone=7, excluded=1)),
        (Membership(excluded=1), NOT_2, Membership(excluded=3)),
        (Membership(match=5), A | NOT_2, Membership(match=4, excluded=2)),
        (Membership(match=5), B | NOT_2, Membership(match=5, excluded=2)),
        (Membership(), B | NOT_2, Membership(excluded=2)),
        (Membership(match=99), B, Membership(match=5)),
        (Membership(1, 2, 3, 4, 0, 5, 1, 1), 0, Membership(1, 2, 3, 4, 0, 5, 1, 1)),
    ],
)
def test_what_rules_make_of_a_process(before: Membership, holds: int, after: Membership) -> None:
    """The first match that takes it, of those that hold and the one it has; `alone` begins anew;
    `exclude` is for good."""
    assert RANKING.judge(before, holds) == after


def judge_in_c(member: Membership, holds: int) -> Membership:
    """judge() of bpf/naming.c, line by line."""
    rules = [*RANKING.rules, *[ProcessRule()] * (64 - len(RANKING.rules))]
    excluded, rule, match, alone = member.excluded, 64, 0, 0
    for i in range(64):
        excluded |= rules[i].excluded & -(holds >> i & 1)
    for i in reversed(range(64)):
        if not holds >> i & 1 or rules[i].excluded or not RANKING.takes(rules[i].slot, excluded):
            continue
        if rules[i].alone:
            alone = rules[i].slot
        else:
            match, rule = rules[i].slot, i
    kept = member.match
    if match and (not RANKING.takes(kept, excluded) or rule < RANKING.order(kept)):
        kept = match
    return member._replace(match=kept, alone=alone, excluded=excluded)


@given(
    st.builds(
        Membership,
        match=st.sampled_from([0, 4, 5]),
        alone=st.sampled_from([0, 6, 7]),
        excluded=st.integers(0, 3),
    ),
    st.integers(0, 63),
)
def test_both_sides_judge_alike(member: Membership, holds: int) -> None:
    """The kernel's way to it, and ours."""
    assert RANKING.judge(member, holds) == judge_in_c(member, holds)


def test_where_a_tree_is_split() -> None:
    """By what, the kernel finds out: until then nothing about it is changed."""
    now = Membership(tree_slot=6, slot=60)
    assert Ranking(TREES).decided(Membership(node=6), now) == Membership(
        node=6, tree_slot=6, slot=60
    )
    assert Ranking(TREES).decided(Membership(node=1), now) == Membership(
        node=1, tree_slot=1, slot=1
    )
    assert Ranking(TREES).decided(Membership(), now) == Membership()


def test_bits_of_all_excludes() -> None:
    """Those that some rule gives."""
    assert RANKING.excludes == 3
    assert Ranking().excludes == 0

"""Who belongs to which root, by who is whose child: on trees made of tuples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.records import (
    PROCESS_ALIVE,
    PROCESS_KERNEL,
    SLOT_EXCLUDED,
    Membership,
    Process,
    ProcessKey,
    TreeSettings,
)
from exporter.kernel.rules import ProcessRule
from exporter.model.closure import Root, close_over
from exporter.model.ranking import Ranking

INIT = ProcessKey(1, 1)
NOBODY = ProcessKey(0, 0)


def key(pid: int) -> ProcessKey:
    return ProcessKey(pid, pid * 1000)


def process(
    pid: int, parent: int = 1, flags: int = PROCESS_ALIVE, member: Membership | None = None
) -> Process:
    above = INIT if parent == 1 else key(parent)
    return Process(key(pid), above, member or Membership(), flags)


def first() -> Process:
    return Process(INIT, NOBODY, Membership(), PROCESS_ALIVE)


def tree(found: dict[ProcessKey, Membership], pid: int) -> int:
    return found[key(pid)].tree


def slot(found: dict[ProcessKey, Membership], pid: int) -> int:
    """Where it would be counted."""
    return Ranking().tree_slot(found[INIT if pid == 1 else key(pid)])


def test_descendants_of_any_depth() -> None:
    """All of them, in whatever order they are listed; nobody else."""
    chain = [process(pid, pid - 1) for pid in range(3, 2003)]
    for listed in (chain, chain[::-1]):
        found = close_over([*listed, process(2), process(5000), first()], {}, {key(2): Root(7)})
        assert {tree(found, pid) for pid in range(2, 2003)} == {7}
        assert tree(found, 5000) == 0
        assert found[INIT] == Membership()


def test_the_nearest_root_decides() -> None:
    """A root in a root's tree has its own; so has what is below."""
    listed = [process(2), process(3, 2), process(4, 3), process(5, 4), process(6, 2)]
    found = close_over(listed, {}, {key(2): Root(7), key(4): Root(8)})
    assert [tree(found, pid) for pid in (2, 3, 4, 5, 6)] == [7, 7, 8, 8, 7]


def test_an_orphan_belongs_to_whom_it_was_born() -> None:
    """Its parent is gone and init has it; the edge that the fork hook kept tells, over many."""
    edges = {key(9): key(8), key(8): key(3), key(3): key(2)}
    found = close_over([process(2), process(9), first()], edges, {key(2): Root(7)})
    assert tree(found, 9) == 7
    assert key(8) not in found
    assert key(3) not in found


def test_an_edge_goes_before_the_parent_of_today() -> None:
    """A subreaper in another tree has adopted it: that changes nothing."""
    listed = [process(2), process(3), process(9, 3)]
    roots = {key(2): Root(7), key(3): Root(8)}
    assert tree(close_over(listed, {}, roots), 9) == 8
    assert tree(close_over(listed, {key(9): key(2)}, roots), 9) == 7


def test_an_adopted_one_stays_in_its_tree() -> None:
    """Where a process was not in its parent's tree, only the kernel knew where it came from; also
    if that parent, in no tree, has ended since."""
    before = {key(2): Membership(tree=7), key(3): Membership(tree=7)}
    for listed, edges in (
        ([process(2), process(9), process(3, 9)], {}),
        ([process(2), process(3)], {key(3): key(9), key(9): INIT}),
    ):
        found = close_over(
            [*listed, first()], edges, {key(2): Root(7)}, before=before, keeps={7}.__contains__
        )
        assert tree(found, 3) == 7


def test_a_parent_that_was_about_to_end_adopted_nobody() -> None:
    """It was followed no more when the sync began: what is above it tells whose child this is."""
    before = {key(2): Membership(tree=7), key(3): Membership(tree=7)}
    for listed in (
        [process(2), process(3, 5), process(5, 2, flags=0)],
        [process(2), process(3, 2)],
    ):
        found = close_over(
            listed, {key(3): key(5), key(5): key(2)}, {key(2): Root(8)}, before=before,
            keeps={7, 8}.__contains__,
        )  # fmt: skip
        assert tree(found, 3) == 8


def test_who_has_ended_since_is_decided_about() -> None:
    """Its descendants may be too many, and too short-lived, to be listed: they ask what it is."""
    before = {key(pid): Membership(tree=7) for pid in (2, 3, 4)}
    edges = {key(3): key(2), key(4): key(3)}
    found = close_over(
        [process(2)], edges, {key(2): Root(8)}, before=before, keeps={7, 8}.__contains__
    )
    assert [tree(found, pid) for pid in (2, 3, 4)] == [8, 8, 8]


def test_without_follow_forks() -> None:
    """The root alone; its children belong to the tree around it, or to none."""
    listed = [process(2), process(3, 2), process(4, 3), process(5, 4)]
    found = close_over(listed, {}, {key(2): Root(7), key(3): Root(8, follow_forks=False)})
    assert [slot(found, pid) for pid in (2, 3, 4, 5)] == [7, 8, 7, 7]
    found = close_over(listed, {}, {key(3): Root(8, follow_forks=False)})
    assert [slot(found, pid) for pid in (2, 3, 4, 5)] == [0, 8, 0, 0]


def test_a_number_used_again_is_another_process() -> None:
    """The root had that PID and ended: who has it now is a stranger, its children are, too."""
    stranger = Process(ProcessKey(2, 999_999), INIT, Membership(), PROCESS_ALIVE)
    child = Process(key(3), stranger.key, Membership(), PROCESS_ALIVE)
    found = close_over([stranger, child, first()], {}, {key(2): Root(7)})
    assert found[stranger.key] == Membership()
    assert found[child.key] == Membership()


def test_circles_end() -> None:
    """Edges cannot close a circle, but if they do, every process still gets an answer."""
    listed = [process(2, 3), process(3, 4), process(4, 2), process(5, 5), process(6, 4)]
    found = close_over(listed, {}, {})
    assert set(found.values()) == {Membership()}
    found = close_over(listed, {}, {key(3): Root(7)})
    assert tree(found, 3) == tree(found, 2) == tree(found, 4) == tree(found, 6) == 7
    assert tree(found, 5) == 0


def test_all_and_pid_1_come_last() -> None:
    """`all` is for every process; PID 1 ranks with it; a tree goes before both."""
    listed = [first(), process(2), process(3, 2)]
    found = close_over(listed, {}, {key(2): Root(7)}, node=9)
    assert found[INIT] == Membership(node=9)
    assert found[key(3)] == Membership(tree=7, node=9)
    found = close_over(listed, {}, {INIT: Root(5, ranks_last=True), key(2): Root(7)})
    assert found[INIT] == Membership(node=5)
    assert found[key(3)] == Membership(tree=7, node=5)


def test_the_exporters_own_are_excluded() -> None:
    """Itself and its helpers are followed by nobody, `all` included."""
    listed = [first(), process(2), process(3, 2)]
    found = close_over(listed, {}, {key(2): Root(SLOT_EXCLUDED)}, node=9)
    assert slot(found, 2) == slot(found, 3) == 0
    assert slot(found, 1) == 9


def test_what_the_kernel_knows_stays() -> None:
    """Re-parented before we looked: only the fork hook knew. It counts while its slot is in use."""
    known = Membership(tree=7, slot=7)
    listed = [process(2), process(9), process(10, 9), first()]
    before = {key(2): known, key(9): known, key(10): known}
    roots = {key(2): Root(7)}
    found = close_over(listed, {}, roots, before=before, keeps={7}.__contains__)
    assert tree(found, 9) == tree(found, 10) == 7
    found = close_over(listed, {}, roots, before=before, keeps={8}.__contains__)
    assert tree(found, 9) == tree(found, 10) == 0


def test_a_new_root_inside_a_known_tree_is_nearer() -> None:
    """After a reload: it takes over what is below it, and only that."""
    known = Membership(tree=7, slot=7)
    listed = [process(2), process(3, 2), process(4, 3), process(5, 2), first()]
    before = dict.fromkeys((key(2), key(3), key(4), key(5)), known)
    roots = {key(2): Root(7), key(3): Root(8)}
    found = close_over(listed, {}, roots, before=before, keeps={7, 8}.__contains__)
    assert [tree(found, pid) for pid in (2, 3, 4, 5)] == [7, 8, 8, 7]


def test_born_below_a_new_root_during_the_sync() -> None:
    """The fork hook gave it the old tree, its parent having no new entry yet: the edge tells."""
    known = Membership(tree=7, slot=7)
    listed = [process(2), process(3, 2), process(4, 3, member=known), first()]
    before = dict.fromkeys((key(2), key(3)), known)
    roots = {key(2): Root(7), key(3): Root(8)}
    found = close_over(listed, {key(4): key(3)}, roots, before=before, keeps={7, 8}.__contains__)
    assert tree(found, 4) == 8


def test_the_dead_are_left_out_but_pass_on() -> None:
    """A zombie is nobody's member, and its children still are; a root that is hidden is kept."""
    listed = [process(2), process(3, 2, flags=0), process(4, 3), process(6, 5)]
    found = close_over(listed, {}, {key(2): Root(7), key(5): Root(8)})
    assert key(3) not in found
    assert tree(found, 4) == 7
    assert tree(found, 5) == tree(found, 6) == 8


def test_kernel_threads_are_no_special_case() -> None:
    """They are alive and children of kthreadd: `all` holds them, though they make no calls."""
    found = close_over([process(2, flags=PROCESS_ALIVE | PROCESS_KERNEL)], {}, {}, node=9)
    assert found == {key(2): Membership(node=9)}


# A `match` (slot 4, before 5), one of the process alone (6), and an `exclude` that slot 4 heeds.
MATCHES = Ranking(
    {4: TreeSettings(excluded_by=1), 5: TreeSettings(order=1), 6: TreeSettings(order=2)},
    (ProcessRule(4), ProcessRule(5), ProcessRule(6, alone=True), ProcessRule(excluded=1)),
)
FIRST, SECOND, ALONE, OUT = 1, 2, 4, 8


def matched(
    listed: list[Process],
    holds: dict[int, int] | None = None,
    edges: dict[ProcessKey, ProcessKey] | None = None,
    before: dict[ProcessKey, Membership] | None = None,
    earlier: dict[ProcessKey, Membership] | None = None,
    slots: tuple[int, ...] = (4, 5),
) -> dict[int, Membership]:
    """By number; `holds` are the rules that hold for what each runs."""
    found = close_over(
        listed, edges or {}, {}, before=before, keeps=slots.__contains__, ranking=MATCHES,
        holds=lambda key: (holds or {}).get(key.tgid, 0), earlier=earlier,
    )  # fmt: skip
    return {key.tgid: member for key, member in found.items()}


CHAIN = [process(2), process(3, 2), process(4, 3)]


def test_descendants_of_a_match() -> None:
    """They have it, whatever they run; the first of the list goes before what is nearer."""
    found = matched(CHAIN, {2: FIRST, 3: SECOND})
    assert [found[pid].match for pid in (2, 3, 4)] == [4, 4, 4]
    found = matched(CHAIN, {2: SECOND, 3: FIRST})
    assert [found[pid].match for pid in (2, 3, 4)] == [5, 4, 4]


def test_a_match_alone_is_not_inherited() -> None:
    """It is of what a process runs now, also where it was before."""
    found = matched(CHAIN, {3: ALONE}, before={key(2): Membership(alone=6)}, slots=(4, 5, 6))
    assert [found[pid].alone for pid in (2, 3, 4)] == [0, 6, 0]


def test_descendants_of_who_is_excluded() -> None:
    """They are, too; a target that does not heed it may have them."""
    found = matched(CHAIN, {2: FIRST, 3: OUT, 4: SECOND})
    assert [found[pid].excluded for pid in (2, 3, 4)] == [0, 1, 1]
    assert [MATCHES.tree_slot(found[pid]) for pid in (2, 3, 4)] == [4, 0, 5]


def test_what_once_held_stays() -> None:
    """Of what it ran before; not of a match that is gone, or of an `exclude` that is."""
    was = {key(3): Membership(match=5), key(4): Membership(match=4, excluded=3)}
    found = matched(CHAIN, before=was)
    assert [(found[pid].match, found[pid].excluded) for pid in (2, 3, 4)] == [
        (0, 0),
        (5, 0),
        (5, 1),
    ]
    found = matched(CHAIN, {3: FIRST}, before=was, slots=(4,))
    assert [found[pid].match for pid in (2, 3, 4)] == [0, 4, 4]
    assert matched(CHAIN, before=was, slots=())[3].match == 0


def test_an_excluded_one_remembers_its_match() -> None:
    """Let in again, it is where it was."""
    found = matched(CHAIN, before={key(3): Membership(match=4, excluded=1)})
    assert [(found[pid].match, found[pid].excluded) for pid in (3, 4)] == [(4, 1), (4, 1)]


def test_what_the_kernel_decided_meanwhile() -> None:
    """Who is listed as matched or excluded is so, though nobody is left who tells why."""
    listed = [process(3, member=Membership(match=5, excluded=3)), process(4, 3)]
    found = matched(listed)
    assert [(found[pid].match, found[pid].excluded) for pid in (3, 4)] == [(5, 1), (5, 1)]
    assert matched(listed, slots=())[3].match == 0


def test_what_an_earlier_round_found() -> None:
    """A process that has ended since passes on what it was, over the edges of its children."""
    earlier = {key(2): Membership(match=4, excluded=2), key(9): Membership(excluded=1)}
    edges = {key(4): key(3), key(3): key(2), key(5): key(9)}
    found = matched([process(4), process(5)], edges=edges, earlier=earlier)
    assert (found[4].match, found[4].excluded) == (4, 0)
    assert (found[5].match, found[5].excluded) == (0, 1)
    assert set(found) == {4, 5}


def test_no_rule_holds_for_the_unlisted() -> None:
    """What has ended runs nothing."""
    assert matched([process(4, 3)], {3: FIRST})[4].match == 0


@given(st.lists(st.integers(0, 30), min_size=2, max_size=30), st.sets(st.integers(2, 31)))
def test_random_forests(parents: list[int], listed_roots: set[int]) -> None:
    """Each process has the slot of the first root on its way up, as a plain walk finds it."""
    processes = [process(pid, min(parent, pid - 1) + 1) for pid, parent in enumerate(parents, 2)]
    processes = [p for p in processes if p.key != p.parent]
    roots = {key(pid): Root(pid) for pid in listed_roots}
    found = close_over(processes, {}, roots)
    above = {p.key: p.parent for p in processes}
    for p in processes:
        at: ProcessKey | None = p.key
        seen: set[ProcessKey] = set()
        while at is not None and at not in roots and at not in seen:
            seen.add(at)
            at = above.get(at)
        expected = roots[at].slot if at in roots else 0
        assert found[p.key].tree == expected

"""Label sets without room share `other`; what is exposed keeps its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.kernel.syscalls import OTHER
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.labels import LabelSet
from exporter.model.target import Target
from tests.unit.account_samples import (
    COSTS,
    POD,
    PRICES,
    READ,
    accounts,
    by_name,
    only,
    plain,
    pod,
    raw,
    reading,
)

NOTHING = TreeInfo()
CI = Target("ci", "pid", pid=1)


def opened(made: Accounts, slot: int, labels: LabelSet, since_ns: int = 5) -> None:
    made.open(slot, POD, labels, NOTHING, since_ns)


OTHERS = (("target", "pods"), ("namespace", "other"), ("pod", "other"))


def full_of_pods(more: int, **settings: object) -> Accounts:
    """Room for one label set of POD beside `other`, and for `more` samples."""
    limit = COSTS.target.most + 2 * PRICES.account.most + more
    limit += limit // 19  # what is spared
    made = accounts(limit, POD, tree_labels=("namespace", "pod"), **settings)
    opened(made, 1, pod("web"))
    return made


def test_label_sets_without_room_share_other() -> None:
    """Sums stay exact; the trees are counted, and what they would have cost."""
    made = full_of_pods(0)
    assert (made.trees_folded, made.folded) == (0, 0)
    for slot in (2, 3, 4):
        opened(made, slot, pod("db" if slot == 4 else f"db{slot}"))
    opened(made, 5, pod("db"))
    calls = [raw(slot, READ, 10**slot) for slot in range(1, 6)]
    found = by_name(made.build(reading(calls), {}, 20))
    assert {key: call.count for key, call in found.items()} == {
        (pod("web"), OTHER): 10, (OTHERS, OTHER): 111100,
    }  # fmt: skip
    assert made.trees_folded == 4
    calls_folded = 2 * PRICES.call.text  # read of web, read of other
    assert made.folded == 3 * PRICES.account.text + calls_folded
    assert made.used.most <= made.limit


def test_a_label_set_that_is_folded_stays_so_while_it_lives() -> None:
    """Even when there is room again; a new one takes it."""
    made = full_of_pods(0, keep_gone_ns=0)
    opened(made, 2, pod("db"))
    made.close(1, reading(), 10)
    made.expire(10)
    opened(made, 3, pod("db"))
    opened(made, 4, pod("new"))
    calls = [raw(2, READ, 5), raw(3, READ, 7), raw(4, READ, 1)]
    found = by_name(made.build(reading(calls), {}, 20))
    assert {labels: call.count for (labels, _), call in found.items()} == {
        OTHERS: 12, pod("new"): 1,
    }  # fmt: skip
    for slot in (2, 3):
        made.close(slot, reading(calls), 30)
    made.expire(30)
    made.close(4, reading(calls), 30)
    made.expire(30)
    opened(made, 5, pod("db"))
    (call,) = made.build(reading([raw(5, READ, 1)]), {}, 40).calls
    assert call.labels == pod("db")


@pytest.mark.parametrize(
    ("target", "labels", "folded"),
    [
        (POD, ("pod",), (("target", "pods"), ("pod", "other"))),
        (POD, None, (("target", "pods"), ("cgroup", "other"))),
        (POD, (), (("target", "pods"),)),
        (CI, None, (("target", "ci"),)),
        (CI, ("pod",), (("target", "ci"), ("pod", "other"))),
        (replace(CI, group_by="comm"), None, (("target", "ci"), ("comm", "other"))),
        (
            replace(POD, group_by="exe", static_labels=(("team", "a"),)), ("pod",),
            (("target", "pods"), ("pod", "other"), ("team", "a"), ("exe", "other")),
        ),
    ],
)  # fmt: skip
def test_each_of_a_trees_labels_is_other(
    target: Target, labels: tuple[str, ...] | None, folded: LabelSet
) -> None:
    """Static labels are the target's and stay; a target that is one tree has nothing to fold."""
    limit = COSTS.reserved(target).most
    made = accounts(limit, target, tree_labels=labels)
    made.open(1, target, (("target", target.name), ("pod", "x")), NOTHING, 5)
    (call,) = made.build(reading([raw(1, READ, 3)]), {}, 6).calls
    assert (call.labels, call.count) == (folded, 3)


def test_a_target_that_is_one_tree_takes_the_room_set_aside() -> None:
    """Nothing more is charged for it."""
    made = accounts(COSTS.reserved(CI).most, CI)
    made.open(1, CI, only("ci"), NOTHING, 5)
    assert made.used == COSTS.reserved(CI)
    assert made.trees_folded == 0


def test_a_reload_must_fit_beside_what_is_exposed() -> None:
    """New targets, and new prices of old ones, are told beforehand."""
    made = plain(200, "a")
    calls = [raw(1, number, 1) for number in range(60)]
    made.build(reading(calls), {}, 5)
    a = Target("a", "pid", pid=41)
    assert made.room_for([a])
    assert made.room_for([]), "it stays for a while, and fits"
    more = [a, *(Target(f"b{n}", "pid") for n in range(3))]
    assert not made.room_for(more)
    assert made.used.most <= 200
    dearer = replace(a, buckets=tuple(map(float, range(60))))
    assert not made.room_for([dearer])
    cheaper = replace(a, buckets=(1.0,))
    assert made.room_for([cheaper])
    before = made.used
    made.configure([cheaper], 6)
    assert made.used.text < before.text
    made.configure([a], 7)
    assert made.used == before


def test_static_labels_that_change_by_reload_find_room() -> None:
    """The old label set lives on for a while beside the new one, and both are paid for."""
    old = replace(CI, static_labels=(("team", "a"),))
    new = replace(CI, static_labels=(("team", "b"),))
    made = accounts(10**6, old)
    made.open(1, old, (*only("ci"), ("team", "a")), NOTHING, 5)
    one = made.used
    assert one == COSTS.reserved(CI)
    made.configure([new], 6)
    made.close(1, reading(), 6)
    made.open(2, new, (*only("ci"), ("team", "b")), NOTHING, 7)
    assert made.used == one + COSTS.of(CI).account

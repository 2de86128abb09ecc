"""A series is its label set: shared, kept, dropped, folded; and no counter ever falls."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.source import Sums
from exporter.kernel.syscalls import OTHER
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.admission import Price
from exporter.model.labels import LabelSet
from exporter.model.ledger import Total
from exporter.model.target import Target
from tests.unit.account_samples import (
    COSTS,
    POD,
    READ,
    WRITE,
    accounts,
    by_name,
    counts,
    life,
    only,
    pod,
    raw,
    reading,
    thread,
)

NOTHING = TreeInfo()
CI = Target("ci", "pid", pid=1)


def opened(made: Accounts, slot: int, labels: LabelSet, since_ns: int = 5) -> None:
    made.open(slot, POD, labels, NOTHING, since_ns)


def test_a_container_that_restarts_goes_on() -> None:
    """Its tree is another one, its labels are the same: sums go on, and so does `created`."""
    made = accounts(10**6, POD)
    opened(made, 1, pod("web"), since_ns=7)
    first = reading([raw(1, READ, 3, (1, 0, 2, 0), {5: 2}, 1)], slots=life(1, 1, 2, 3, 4, 5))
    (before,) = made.build(first, {}, 20).calls
    made.close(1, first, 30)
    (gone,) = made.build(reading(), {}, 40).calls
    assert gone == before, "the last scrape sees the last calls"
    opened(made, 2, pod("web"), since_ns=50)
    second = reading([raw(2, READ, 10, (0, 1, 1, 0), {5: 1})], slots=life(2, 10, 20, 30, 40, 50))
    exposed = made.build(second, {}, 60)
    (call,) = exposed.calls
    assert (call.untimed, call.sum_ns, call.buckets) == (13, 5, [1, 1, 3, 0])
    assert call.errors == (("EIO", 3), (OTHER, 1))
    assert call.created_ns == 7
    (tree,) = exposed.trees
    assert (tree.forks, tree.execs, tree.created_ns) == (11, 22, 7)
    assert tree.exits == {"ok": 33, "error": 44, "signal": 55}
    made.close(2, second, 70)
    made.configure([POD], 75)
    after = made.build(reading(), {}, 80)
    assert (after.calls, after.trees) == (exposed.calls, exposed.trees)


def test_close_counts_what_came_after_the_last_scrape() -> None:
    """The last reading decides; of other slots it takes nothing."""
    made = accounts(10**6, POD)
    opened(made, 1, pod("web"))
    opened(made, 2, pod("db"))
    made.build(reading([raw(1, READ, 3)]), {}, 20)
    made.close(1, reading([raw(1, READ, 5), raw(1, WRITE, 7), raw(2, READ, 1000)]), 30)
    exposed = made.build(reading([raw(1, READ, 10**6), raw(2, READ, 11)]), {}, 40)
    assert counts(exposed) == {("web", "read"): 5, ("web", "write"): 7, ("db", "read"): 11}
    created = {key[1]: call.created_ns for key, call in by_name(exposed).items() if "web" in
               dict(key[0]).values()}  # fmt: skip
    assert created == {"read": 5, "write": 20}, "write was 0 when it was read before"


def test_trees_with_equal_labels_are_one_series() -> None:
    """`labels: [namespace]` alone: all containers of it are summed, alive and gone."""
    made = accounts(10**6, POD, tree_labels=("namespace",))
    labels = (("target", "pods"), ("namespace", "shop"))
    for slot in (1, 2, 3):
        opened(made, slot, labels)
    calls = [raw(slot, READ, 10**slot) for slot in (1, 2, 3)]
    made.close(2, reading(calls), 10)
    exposed = made.build(reading([calls[0], calls[2]], [thread(7, 1, 0), thread(8, 3, 0)]), {}, 20)
    assert counts(exposed) == {("shop", "read"): 1110}
    assert [tree.processes for tree in exposed.trees] == [2]
    assert exposed.label_names == ("target", "namespace")


def test_what_is_gone_is_kept_for_a_while_and_begins_at_0_after() -> None:
    """Not by being idle, and not while another tree of the label set lives."""
    made = accounts(10**6, POD, keep_gone_ns=300)
    free = made.used
    opened(made, 1, pod("web"))
    opened(made, 2, pod("web"))
    made.build(reading([raw(1, READ, 5)]), {}, 20)
    made.close(1, reading([raw(1, READ, 6)]), 100)
    made.expire(10**6)
    assert counts(made.build(reading(), {}, 10**6)) == {("web", "read"): 6}
    made.close(2, reading(), 10**6)
    made.expire(10**6 + 299)
    assert counts(made.build(reading(), {}, 10**6)) == {("web", "read"): 6}
    made.expire(10**6 + 300)
    exposed = made.build(reading(), {}, 10**6)
    assert (exposed.calls, exposed.trees) == ([], [])
    assert made.used == free
    opened(made, 3, pod("web"), since_ns=2 * 10**6)
    (call,) = made.build(reading([raw(3, READ, 1)]), {}, 3 * 10**6).calls
    assert (call.count, call.created_ns) == (1, 2 * 10**6)


def test_a_tree_that_came_again_in_time_is_not_dropped() -> None:
    """The time begins anew when its last tree is gone."""
    made = accounts(10**6, POD, keep_gone_ns=300)
    opened(made, 1, pod("web"))
    made.close(1, reading([raw(1, READ, 6)]), 100)
    opened(made, 2, pod("web"))
    made.expire(10**6)
    assert counts(made.build(reading(), {}, 10**6)) == {("web", "read"): 6}


def test_a_target_off_the_list_is_down_for_a_while_and_then_gone() -> None:
    """With its series and the room set aside for it."""
    made = accounts(10**6, CI, POD, keep_gone_ns=300)
    made.open(1, CI, only("ci"), NOTHING, 5)
    read = reading([raw(1, READ, 7)], [thread(9, 1, 0)])
    assert [t.up for t in made.build(read, {"ci": 1}, 10).targets] == [True, False]
    made.configure([POD], 100)
    made.close(1, read, 100)
    exposed = made.build(reading(), {}, 110)
    assert {t.name: (t.up, t.trees) for t in exposed.targets} == {
        "pods": (False, 0), "ci": (False, 0),
    }  # fmt: skip
    assert counts(exposed) == {("ci", "read"): 7}
    made.expire(400)
    exposed = made.build(reading(), {}, 400)
    assert [t.name for t in exposed.targets] == ["pods"]
    assert (exposed.calls, exposed.trees) == ([], [])
    assert made.used == COSTS.reserved(POD)


def test_another_reload_does_not_prolong_what_is_gone() -> None:
    """The time counts from when it was taken off the list."""
    made = accounts(10**6, CI, POD, keep_gone_ns=300)
    made.configure([POD], 100)
    made.configure([POD], 200)
    made.expire(400)
    assert [t.name for t in made.build(reading(), {}, 400).targets] == ["pods"]


def test_a_target_off_the_list_stays_as_long_as_its_trees_do() -> None:
    """They are closed only when no thread can write to their slots any more."""
    made = accounts(10**6, CI, keep_gone_ns=300)
    made.open(1, CI, only("ci"), NOTHING, 5)
    made.configure([], 100)
    made.expire(10**6)
    exposed = made.build(reading([raw(1, READ, 7)]), {}, 10**6)
    assert [t.name for t in exposed.targets] == ["ci"]
    assert counts(exposed) == {("ci", "read"): 7}
    made.close(1, reading([raw(1, READ, 7)]), 10**6)
    made.expire(2 * 10**6)
    assert made.used == Price(0, 0)


def test_a_target_that_came_back_in_time_goes_on() -> None:
    """The same label set, so the same series."""
    made = accounts(10**6, CI, keep_gone_ns=300)
    made.open(1, CI, only("ci"), NOTHING, 5)
    made.configure([], 100)
    made.close(1, reading([raw(1, READ, 7)]), 100)
    made.configure([CI], 200)
    made.open(2, CI, only("ci"), NOTHING, 200)
    made.expire(10**6)
    exposed = made.build(reading([raw(2, READ, 1)]), {"ci": 1}, 10**6)
    assert counts(exposed) == {("ci", "read"): 8}
    assert [t.trees for t in exposed.targets] == [1]


def test_info_says_what_all_trees_say() -> None:
    """Where they disagree it is empty; what only one knows is no agreement; the last word stays."""
    made = accounts(10**6, POD, pod_labels=("app", "app.kubernetes.io/name"))
    infos = [
        TreeInfo("web", {"app": "x", "app.kubernetes.io/name": "n", "secret": "s"}),
        TreeInfo("web", {"app": "y", "app.kubernetes.io/name": "n"}),
    ]

    def info() -> dict[str, str]:
        return dict(made.build(reading(), {}, 5).trees[0].info)

    made.open(1, POD, pod("a"), infos[0], 5)
    own = {"kind": "kubernetes", "root": "", "workload": "web"}
    own["label_app_kubernetes_io_name"] = "n"
    assert info() == {**own, "label_app": "x"}
    made.open(2, POD, pod("a"), infos[1], 5)
    assert info() == own
    made.close(1, reading(), 6)
    assert info() == {**own, "label_app": "y"}
    made.inform(2, TreeInfo("web", {"app": "z"}))
    assert info()["label_app"] == "z"
    made.close(2, reading(), 6)
    assert info()["label_app"] == "z"


def test_names_of_labels_in_the_order_to_show() -> None:
    """Target, those of trees as listed, those of targets, those of programs; only what is there."""
    one = replace(POD, static_labels=(("team", "a"), ("zone", "z")), group_by="comm")
    two = Target("x", "cgroup", cgroup="/", static_labels=(("area", "b"),))
    made = accounts(10**6, one, two, tree_labels=("workload", "pod", "namespace"))
    assert made.build(reading(), {}, 5).label_names == ("target",)
    made.open(2, two, (*only("x"), ("area", "b")), NOTHING, 5)
    assert made.build(reading(), {}, 5).label_names == ("target", "area")
    made.open(1, one, pod("a", namespace="n", team="a", zone="z", comm="sh"), NOTHING, 5)
    assert made.build(reading(), {}, 5).label_names == (
        "target", "pod", "namespace", "team", "zone", "area", "comm",
    )  # fmt: skip


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=600), st.integers(0, 9))
def test_a_total_at_rest_is_the_same_total(buckets: list[int], untimed: int) -> None:
    """Packed and unpacked, and added to another: nothing is lost."""
    total = Total([Sums(untimed, 77, 0, buckets)], {"EIO": 3}, 2)
    again = Total()
    again.add(total.keep())
    assert (again.untimed, again.sum_ns, again.buckets) == (untimed, 77, buckets)
    assert (again.errors, again.homeless, again.count) == ({"EIO": 3}, 2, untimed + sum(buckets))
    again.add(total.keep())
    assert again.count == 2 * (untimed + sum(buckets))


def test_5000_short_lived_containers_leave_nothing() -> None:
    """Neither series nor memory grows, with more of them kept than there is room for."""
    made = accounts(2_000, POD, keep_gone_ns=100)
    buckets = tuple(7 if 4 < n < 8 else 0 for n in range(16))

    def churn(first: int, last: int) -> None:
        for slot in range(first, last):
            opened(made, slot, pod(f"job-{slot}"), since_ns=slot)
            calls = [raw(slot, number, 1, buckets, {5: 1}) for number in range(6)]
            if slot % 50 == 0:
                made.build(reading(calls), {}, slot)
            made.close(slot, reading(calls, slots=life(slot, 1)), slot)
            made.expire(slot)
            assert made.used.most <= made.limit
        made.expire(10**6)
        gc.collect()

    tracemalloc.start()
    try:
        churn(1, 1001)
        before = tracemalloc.get_traced_memory()[0]
        churn(1001, 5001)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after < before + 2**14
    assert made.used == COSTS.reserved(POD)
    assert (made._accounts, made._trees, made._sharing) == ({}, {}, Counter())

"""A series is its label set: shared, kept, dropped, folded; and no counter ever falls."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from exporter.kernel.source import RawCall, Reading, Sums
from exporter.kernel.syscalls import OTHER
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.admission import Price
from exporter.model.labels import LabelSet
from exporter.model.ledger import Total
from exporter.model.snapshot import Call, Snapshot
from exporter.model.target import Target
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape, costs
from tests.unit.account_samples import (
    COSTS,
    POD,
    PRICES,
    READ,
    WRITE,
    accounts,
    by_name,
    counts,
    life,
    only,
    plain,
    pod,
    raw,
    reading,
    thread,
)
from tests.unit.exposition_readers import from_text, native_series, render
from tests.unit.publish_samples import text_series

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


def full_of_pods(more: int, **settings: object) -> Accounts:
    """Room for one label set of POD beside `other`, and for `more` samples."""
    limit = COSTS.target.most + 2 * PRICES.account.most + more
    limit += limit // 19  # what is spared
    made = accounts(limit, POD, tree_labels=("namespace", "pod"), **settings)
    opened(made, 1, pod("web"))
    return made


OTHERS = (("target", "pods"), ("namespace", "other"), ("pod", "other"))


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


class Machine(RuleBasedStateMachine):
    """Trees come, call, go and come again; beside it, how many calls and errors there must be."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000
        self.shape = Shape(by="both", classic="class")
        self.one = replace(CI, buckets=(1.0,))
        self.many = replace(POD, static_labels=(("team", "a"),), buckets=(1.0,))
        self.made = Accounts(100, costs(self.shape), scale=2, keep_gone_ns=50)
        self.made.configure([self.one, self.many], 1)
        self.slots: dict[int, dict[int, RawCall]] = {}
        self.next = 1
        self.due = Counter[str]()  # calls and errors of label sets that are not dropped
        self.shown: dict[tuple[LabelSet, str], Call] = {}
        self.look()

    @rule(which=st.sampled_from(["ci", "a", "b", "c", "d"]))
    def open(self, which: str) -> None:
        if which == "ci":
            self.made.open(self.next, self.one, only("ci"), NOTHING, self.tick())
        else:
            self.made.open(self.next, self.many, pod(which, team="a"), NOTHING, self.tick())
        self.slots[self.next] = {}
        self.next += 1
        self.look()

    @precondition(lambda self: self.slots)
    @rule(data=st.data(), number=st.integers(0, 12), count=st.integers(1, 9), fails=st.booleans())
    def call(self, data: st.DataObject, number: int, count: int, fails: bool) -> None:
        slot = data.draw(st.sampled_from(sorted(self.slots)))
        old = self.slots[slot].get(number, raw(slot, number, 0, (0,) * 256))
        buckets = [*old.sums.buckets]
        buckets[100] += count
        errors = dict(old.errors)
        if fails:
            errors[number % 3 + 1] = errors.get(number % 3 + 1, 0) + count
        self.slots[slot][number] = old._replace(
            sums=old.sums._replace(buckets=buckets, sum_ns=old.sums.sum_ns + count), errors=errors
        )
        self.due += Counter(calls=count, errors=count * fails)
        if data.draw(st.booleans(), label="scrape"):
            self.look()

    @precondition(lambda self: self.slots)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(sorted(self.slots)))
        self.made.close(slot, self.reading(), self.tick())
        del self.slots[slot]
        self.look()

    @rule(pause=st.sampled_from([1, 20, 60]))
    def wait(self, pause: int) -> None:
        self.look()
        self.now += pause
        self.made.expire(self.now)
        left = {tree.labels for tree in self.made.build(self.reading(), {}, self.tick()).trees}
        for key in [key for key in self.shown if key[0] not in left]:
            gone = self.shown.pop(key)
            self.due -= Counter(calls=gone.count, errors=sum(n for _, n in gone.errors))
        self.look()

    def tick(self) -> int:
        self.now += 1
        return self.now

    def reading(self) -> Reading:
        calls = [call for calls in self.slots.values() for call in calls.values()]
        threads = [thread(slot, slot, 1, 1, slot % 5) for slot in self.slots]
        threads += [thread(slot, slot, 1, 2, slot % 7) for slot in self.slots]
        return reading(calls, threads)

    def look(self) -> None:
        """A scrape: nothing is lost, nothing falls, what is shown is paid for."""
        exposed = self.made.build(self.reading(), {}, self.tick())
        found = by_name(exposed)
        assert sum(call.count for call in found.values()) == self.due["calls"]
        assert sum(n for call in found.values() for _, n in call.errors) == self.due["errors"]
        for key, before in self.shown.items():
            assert found[key].count >= before.count
            assert found[key].created_ns == before.created_ns
            assert (
                dict(before.errors).items()
                <= {
                    errno: min(n, dict(before.errors).get(errno, n))
                    for errno, n in found[key].errors
                }.items()
            ), "an error fell"
        for call in found.values():
            assert sum(n for _, n in call.errors) <= call.count
        self.shown = found
        snapshot = Snapshot(1, 1, 2, exposed.calls, exposed.in_flight, exposed.trees,
                            exposed.targets, {}, exposed.label_names)  # fmt: skip
        text = render(Format.TEXT, self.shape, snapshot)
        protobuf = render(Format.PROTOBUF, self.shape, snapshot)
        lines = [line for line in text_series(text.decode()) if "target=" in line]
        native = [labels for _, labels in native_series(protobuf) if "target" in dict(labels)]
        assert from_text(text)["proctree_exporter_series", ()] == len(lines)
        assert len(lines) <= self.made.limit
        assert len(native) <= self.made.limit
        assert self.made.used.most <= self.made.limit


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)

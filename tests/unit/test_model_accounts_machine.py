"""Trees at random, in a small budget: nothing is lost, nothing falls, the ceiling holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from exporter.kernel.source import RawCall, Reading
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Snapshot
from exporter.model.target import Target
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape, costs
from tests.unit.account_samples import (
    POD,
    by_name,
    only,
    pod,
    raw,
    reading,
    thread,
)
from tests.unit.exposition_readers import from_text, native_series, render
from tests.unit.publish_samples import text_series

NOTHING = TreeInfo()
CI = Target("ci", "pid", pid=1)


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

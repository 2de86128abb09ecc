"""Label sets at random: the spans of all intervals sum up to the counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import add

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from exporter.kernel.syscalls import OTHER
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Snapshot, TargetState, TreeState
from exporter.model.spans.intervals import MAX_EVENTS
from tests.unit.interval_samples import BEGIN, CI, DB, MAKE, SCALE, S, call, events, intervals


@dataclass
class Series:
    """A label set as its account has it."""

    created: int
    calls: dict[str, Call] = field(default_factory=dict)
    lives: bool = True
    #: What the spans since its admission have told: (call, what) -> number.
    told: Counter[tuple[str, str]] = field(default_factory=Counter)


class Machine(RuleBasedStateMachine):
    """Label sets that come, call, end, expire and come again, and are looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.made = intervals()
        self.series: dict[LabelSet, Series] = {}

    @rule(labels=st.sampled_from([CI, MAKE, DB]))
    def comes(self, labels: LabelSet) -> None:
        self.now += 1
        self.series.setdefault(labels, Series(BEGIN + self.now)).lives = True

    @precondition(lambda self: self.series)
    @rule(
        data=st.data(), names=st.lists(st.sampled_from([*"abcdef", OTHER]), unique=True) | st.just(
            [f"call{number}" for number in range(120)]
        ),
        durations=st.lists(st.integers(1, 2**40), max_size=3), untimed=st.integers(0, 3),
        failed=st.integers(0, 2),
    )  # fmt: skip
    def calls(
        self, data: st.DataObject, names: list[str], durations: list[int], untimed: int, failed: int
    ) -> None:
        labels = data.draw(st.sampled_from(sorted(self.series)))
        series = self.series[labels]
        new = call(labels, "", *durations, untimed=untimed)
        for name in names:
            old = series.calls.get(name) or call(labels, name)
            errors = dict(old.errors).get("EIO", 0) + failed
            series.calls[name] = Call(
                labels, name, old.untimed + new.untimed, old.sum_ns + new.sum_ns,
                list(map(add, old.buckets, new.buckets)), (("EIO", errors),) if errors else (),
                series.created,
            )  # fmt: skip

    @precondition(lambda self: self.series)
    @rule(data=st.data(), expires=st.booleans())
    def ends(self, data: st.DataObject, expires: bool) -> None:
        labels = data.draw(st.sampled_from(sorted(self.series)))
        self.series[labels].lives = False
        if expires:
            del self.series[labels]

    @rule(wanted=st.booleans())
    def is_looked_at(self, wanted: bool) -> None:
        """`wanted`: whether the target's spans are on now."""
        self.now += 30 * S
        calls = [c for series in self.series.values() for c in series.calls.values()]
        trees = [
            TreeState(labels, int(series.lives), {}, 0, 0, {}, series.created)
            for labels, series in self.series.items()
        ]
        targets = [TargetState(name, (), True, 1, intervals=wanted) for name in ("ci", "db")]
        taken = Snapshot(
            BEGIN + self.now, BEGIN, SCALE, calls, [], trees, targets, {},
            monotonic_ns=1000 * S + self.now,
        )  # fmt: skip
        for labels, span in self.made.spans(taken):
            assert BEGIN < span.start_ns <= span.end_ns == BEGIN + self.now
            assert len(span.events) <= MAX_EVENTS
            for name, numbers in events(span).items():
                told = self.series[labels].told
                told[name, "calls"] += int(str(numbers["proctree.count"]))
                told[name, "errors"] += int(str(numbers["proctree.errors"]))
                told[name, "sum"] += round(float(str(numbers["proctree.duration.sum"])) * 1e9)

    def teardown(self) -> None:
        self.is_looked_at(True)
        for series in self.series.values():
            assert not [what for what, number in series.told.items() if number < 0]
            for what, due in (
                ("calls", sum(c.count for c in series.calls.values())),
                ("errors", sum(n for c in series.calls.values() for _, n in c.errors)),
                ("sum", sum(c.sum_ns for c in series.calls.values())),
            ):
                assert sum(n for (_, kind), n in series.told.items() if kind == what) == due


TestMachine = Machine.TestCase

"""The ceiling of series: never exceeded, decisions never taken back, room given back exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from exporter.kernel.syscalls import OTHER
from exporter.model.admission import Admission, Costs

COSTS = Costs(target=17, call=19)
TARGETS = ("a", "b", "c")
CALLS = st.sampled_from([f"call{i}" for i in range(9)] + [OTHER])
ERRNOS = st.sampled_from([f"E{i}" for i in range(5)] + [OTHER])
LIMIT = 3 * COSTS.per_target + 100


class Machine(RuleBasedStateMachine):
    """Targets come and go, calls and errors turn up; beside it, what was decided before."""

    def __init__(self) -> None:
        super().__init__()
        self.admission = Admission(LIMIT, COSTS)
        self.targets: dict[str, int] = {}
        self.calls: dict[tuple[str, str], tuple[str, int]] = {}
        self.errors: dict[tuple[str, str, str], str] = {}
        self.now = 0

    @rule(name=st.sampled_from(TARGETS))
    def add(self, name: str) -> None:
        """Only where it fits: the config's check and the reload's see to that."""
        if name not in self.targets and self.admission.used + COSTS.per_target > LIMIT:
            return
        self.now += 1
        self.admission.add_target(name, self.now)
        assert self.admission.since(name) == self.targets.setdefault(name, self.now)

    @rule(name=st.sampled_from(TARGETS))
    def forget(self, name: str) -> None:
        self.admission.forget_target(name)
        self.targets.pop(name, None)
        self.calls = {k: v for k, v in self.calls.items() if k[0] != name}
        self.errors = {k: v for k, v in self.errors.items() if k[0] != name}

    @precondition(lambda self: self.targets)
    @rule(data=st.data(), call=CALLS, errno=ERRNOS)
    def see(self, data: st.DataObject, call: str, errno: str) -> None:
        self.now += 1
        target = data.draw(st.sampled_from(sorted(self.targets)))
        shown, since = self.admission.call(target, call, self.now)
        assert shown in (call, OTHER)
        assert self.targets[target] <= since <= self.now
        assert self.calls.setdefault((target, call), (shown, since)) == (shown, since)
        named = self.admission.error(target, shown, errno)
        assert named in (errno, OTHER)
        assert self.errors.setdefault((target, shown, errno), named) == named

    @invariant()
    def never_over_the_limit(self) -> None:
        assert self.admission.used <= LIMIT

    @invariant()
    def used_is_what_was_admitted(self) -> None:
        """Each target with its `other`; each call with room for its errors' `other`."""
        calls = {k for k, (shown, _) in self.calls.items() if shown == k[1] != OTHER}
        errors = {k for k, shown in self.errors.items() if shown == k[2] != OTHER}
        expected = len(self.targets) * COSTS.per_target
        expected += len(calls) * (COSTS.call + COSTS.error) + len(errors) * COSTS.error
        assert self.admission.used == expected

    @invariant()
    def folded_is_what_was_not(self) -> None:
        calls = {k for k, (shown, _) in self.calls.items() if shown != k[1]}
        errors = {k for k, shown in self.errors.items() if shown != k[2]}
        assert self.admission.folded == len(calls) * COSTS.call + len(errors) * COSTS.error


TestMachine = Machine.TestCase


def test_the_limit_is_reached_exactly() -> None:
    """A call that just fits is admitted; one sample less, and it is not."""
    fits = COSTS.per_target + COSTS.call + COSTS.error
    for limit, shown in ((fits, "read"), (fits - 1, OTHER)):
        admission = Admission(limit, COSTS)
        admission.add_target("a", 1)
        assert admission.call("a", "read", 2)[0] == shown
        assert admission.call("a", "write", 3)[0] == OTHER


def test_a_folded_call_stays_folded_when_there_is_room_again() -> None:
    """It never moves out of `other`: that would make `other` shrink."""
    admission = Admission(2 * COSTS.per_target + COSTS.call, COSTS)
    admission.add_target("a", 1)
    admission.add_target("b", 1)
    assert admission.call("a", "read", 2) == (OTHER, 1)
    admission.forget_target("b")
    assert admission.call("a", "read", 3) == (OTHER, 1)
    assert admission.call("a", "write", 3) == ("write", 3)


@given(st.lists(st.tuples(st.sampled_from(TARGETS), CALLS, ERRNOS)))
def test_forgetting_all_gives_all_back(seen: list[tuple[str, str, str]]) -> None:
    """Whatever happened: once no target is left, nothing is used and nothing folded."""
    admission = Admission(LIMIT, COSTS)
    for name in TARGETS:
        admission.add_target(name, 0)
    for target, call, errno in seen:
        admission.error(target, admission.call(target, call, 1)[0], errno)
    for name in TARGETS:
        admission.forget_target(name)
        admission.forget_target(name)
    assert (admission.used, admission.folded) == (0, 0)

"""The ceiling of series: never exceeded, decisions never taken back, in both budgets."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from exporter.kernel.syscalls import OTHER
from exporter.model.admission import Budget, Costs, Price, Prices
from exporter.model.classes import class_of
from exporter.model.places import Places
from exporter.model.target import Target

PRICES = Prices(
    own=Price(11, 11), call=Price(1, 2), class_=Price(9, 1), error=Price(1, 1),
    in_flight=Price(2, 2),
)  # fmt: skip
CALLS = st.sampled_from(["read", "write", "openat", "futex", "brk", "mmap", "kill", "x", OTHER])
ERRNOS = st.sampled_from([f"E{i}" for i in range(5)] + [OTHER])
LIMITS = st.sampled_from([20, 24, 40, 60, 100, 1000])


class Machine(RuleBasedStateMachine):
    """Three label sets share a budget; beside it, what was decided before."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(0)
        self.places: list[Places] = []
        self.calls: dict[tuple[int, str], tuple[str, int]] = {}
        self.errors: dict[tuple[int, str, str], str | None] = {}
        self.now = 10

    @precondition(lambda self: not self.places)
    @rule(room=LIMITS)
    def begin(self, room: int) -> None:
        self.budget = Budget(3 * PRICES.account.most + room)
        self.budget.used = PRICES.account * 3
        self.places = [Places(self.budget, PRICES, 5) for _ in range(3)]

    @precondition(lambda self: self.places)
    @rule(which=st.integers(0, 2), call=CALLS, errno=ERRNOS)
    def see(self, which: int, call: str, errno: str) -> None:
        self.now += 1
        places = self.places[which]
        shown = places.call(call, self.now)
        since = places.calls[shown]
        assert shown in (call, OTHER)
        assert 5 <= since <= self.now
        assert self.calls.setdefault((which, call), (shown, since)) == (shown, since)
        named = places.error(shown, errno)
        assert named in (errno, OTHER, None)
        assert named is not None or shown != OTHER
        assert self.errors.setdefault((which, shown, errno), named) == named

    @invariant()
    def never_over_the_limit(self) -> None:
        assert self.budget.used.text <= self.budget.limit
        assert self.budget.used.native <= self.budget.limit

    @invariant()
    def used_is_what_is_exposed(self) -> None:
        """What is set aside, and each call, class and error that was admitted, once."""
        expected = PRICES.account * len(self.places)
        for which, places in enumerate(self.places):
            calls = {k for (w, k), (shown, _) in self.calls.items() if w == which and k == shown}
            calls -= {OTHER}
            classes = set(map(class_of, calls)) - {OTHER}
            errors = {(call, shown) for (w, call, _), shown in self.errors.items()
                      if w == which and shown} - {(OTHER, OTHER)}  # fmt: skip
            price = (
                PRICES.call * len(calls) + PRICES.class_ * len(classes)
                + PRICES.error * len(errors)
            )  # fmt: skip
            assert places.price(PRICES) == price
            expected += price
        assert self.budget.used == expected

    @invariant()
    def folded_is_what_was_not(self) -> None:
        calls = [k for k, (shown, _) in self.calls.items() if shown != k[1]]
        # `other` itself is no name that is lost, wherever it goes.
        errors = [k for k, shown in self.errors.items() if shown != k[2] != OTHER]
        folded = sum(places.folded for places in self.places)
        assert folded == len(calls) * PRICES.call.text + len(errors) * PRICES.error.text


TestMachine = Machine.TestCase


def places(room: Price) -> Places:
    """With exactly so much room for new names."""
    budget = Budget(10_000)
    budget.used = Price(9_500 - room.text, 9_500 - room.native)
    return Places(budget, PRICES, 1)


def test_the_limit_is_reached_exactly_in_both_budgets() -> None:
    """A call fits with its class, or alone where its class is there; with one less, it does not."""
    first = PRICES.call + PRICES.class_
    assert places(first).call("read", 2) == "read"
    assert places(first - Price(1, 0)).call("read", 2) == OTHER
    assert places(first - Price(0, 1)).call("read", 2) == OTHER
    two = places(first + PRICES.call)
    assert [two.call(name, 2) for name in ("read", "write", "openat")] == ["read", "write", OTHER]
    classless = places(PRICES.call)
    assert classless.call("no_call_of_ours", 2) == "no_call_of_ours", "its class is there anyway"


def test_a_folded_call_stays_folded_when_there_is_room_again() -> None:
    """It never moves out of `other`: that would make `other` shrink."""
    full = places(Price(0, 0))
    assert full.call("read", 2) == OTHER
    full._budget.used = Price(0, 0)
    assert full.call("read", 3) == OTHER
    assert full.call("write", 3) == "write"


def test_a_part_is_spared_for_errors_of_calls_that_were_admitted() -> None:
    """A new name of an error is refused; the call's `other` still has a place, and keeps it."""
    full = places(PRICES.call + PRICES.class_)
    assert full.call("read", 2) == "read"
    assert full.error("read", "EIO") == OTHER
    assert full.error("read", "ENOENT") == OTHER
    full._budget.used = Price(0, 0)
    assert full.error("read", "EIO") == OTHER
    assert full.error("read", "EBADF") == "EBADF"


def test_without_any_room_failed_calls_move_and_no_count_falls() -> None:
    """As many calls go as errors, but none that was shown under its name already."""
    full = places(PRICES.call + PRICES.class_)
    assert full.call("read", 2) == "read"
    full._budget.used = Price(10_000, 0)
    assert full.error("read", "EIO") is None
    assert full.move("read", count=7, homeless=3) == 3, "it was never shown"
    assert full.move("read", count=9, homeless=3) == 3, "6 are shown now"
    assert full.move("read", count=9, homeless=5) == 3, "the 2 were shown as read: they wait"
    assert full.move("read", count=10, homeless=5) == 4
    assert full.move("read", count=20, homeless=5) == 5
    full._budget.used = Price(0, 0)
    assert full.error("read", "EIO") is None, "for good"
    assert full.move("read", count=21, homeless=6) == 6


def test_what_was_shown_before_is_known_where_it_is_tight() -> None:
    """A call that was shown with 5 and has 9 now may give up 4."""
    for shown, moved in (({"read": 5}, 4), ({}, 0)):
        full = places(PRICES.call + PRICES.class_)
        full.call("read", 2)
        full.remember(shown)
        full._budget.used = Price(10_000, 0)
        assert full.error("read", "EIO") is None
        assert full.move("read", count=9, homeless=6) == moved


def test_prices_go_by_the_targets_bounds() -> None:
    """A target with more classic buckets pays more; one that does not say has the default ones."""
    one = Price(1, 1)
    costs = Costs(
        target=one * 2, own=one * 11, call=one, call_bound=Price(1, 0), class_=Price(3, 1),
        class_bound=Price(1, 0), error=one, in_flight=one * 2, bounds=13,
    )  # fmt: skip
    default, two = Target("a", "pid"), Target("b", "pid", buckets=(0.5, 1.0))
    assert costs.of(default).call == Price(14, 1)
    assert costs.of(two).call == Price(3, 1)
    assert costs.of(two).class_ == Price(5, 1)
    assert costs.reserved(two) == Price(2 + 11 + 3 + 5 + 1 + 2, 2 + 11 + 1 + 1 + 1 + 2)

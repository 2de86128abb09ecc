"""From the kernel's numbers to names: merged, limited, and exact to the last call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.records import (
    CODE_ABI_SHIFT,
    NUMBER_OTHER,
    NUMBER_UNKNOWN,
    NUMBERS,
)
from exporter.kernel.source import RawCall
from exporter.kernel.syscalls import OTHER, UNKNOWN, Abi, load_names
from exporter.model.names import Names, thread_state
from tests.unit.account_samples import (
    BUCKETS,
    COSTS,
    GETPID,
    GETPPID,
    PRICES,
    by_name,
    life,
    only,
    plain,
    raw,
    reading,
    thread,
)

NAMES = Names()
A, B = only("a"), only("b")


def code(abi: Abi, number: int) -> int:
    return abi << CODE_ABI_SHIFT | number


@pytest.mark.parametrize(
    ("abi", "number", "name"),
    [
        (Abi.X86_64, 110, "getppid"),
        (Abi.I386, 20, "getpid"),
        (Abi.X86_64, 20, "writev"),
        (Abi.X86_64, NUMBER_UNKNOWN, UNKNOWN),
        (Abi.I386, NUMBER_UNKNOWN, UNKNOWN),
        (Abi.X86_64, 1023, UNKNOWN),
        (Abi.X86_64, NUMBER_OTHER, OTHER),
        (Abi.ARM, NUMBERS - 16 + 2, "cacheflush"),
    ],
)
def test_names(abi: Abi, number: int, name: str) -> None:
    """A number means nothing without its ABI."""
    assert NAMES.call(code(abi, number)) == name


def test_every_number_of_every_table_has_its_name() -> None:
    """Through the code that the kernel uses, ARM's private calls included."""
    for abi in Abi:
        for number, name in load_names(abi).items():
            place = number if number < NUMBERS else NUMBERS - 16 + number % 16
            assert NAMES.call(code(abi, place)) == name


def test_errors_have_names() -> None:
    """By number; what the kernel could not place is unknown."""
    assert [NAMES.error(n) for n in (2, 0, 133, 4000)] == ["ENOENT", UNKNOWN, "EHWPOISON", UNKNOWN]


def test_calls_of_two_abis_with_one_name_are_one_series() -> None:
    """Counts, times, buckets and errors are added; `unknown` of both, too."""
    calls = [
        raw(1, code(Abi.X86_64, 39), 1, (1, 2, 0, 0), {22: 1}, 5),
        raw(1, code(Abi.I386, 20), 2, (0, 3, 0, 4), {22: 1, 2: 1}, 7),
        raw(1, code(Abi.X86_64, NUMBER_UNKNOWN), 11),
        raw(1, code(Abi.I386, NUMBER_UNKNOWN), 13),
    ]
    found = by_name(plain(10**6, "a").build(reading(calls), {}, 5))
    getpid = found[A, "getpid"]
    assert (getpid.untimed, getpid.sum_ns, getpid.buckets) == (3, 10, [1, 5, 0, 4])
    assert getpid.count == 13
    assert getpid.errors == (("EINVAL", 2), ("ENOENT", 1), (OTHER, 12))
    assert found[A, UNKNOWN].count == 24
    assert calls[0].sums.buckets == [1, 2, 0, 0], "what was read is not changed"


def test_slots_that_are_not_open_are_nobodys() -> None:
    """Those of trees that wait for their metadata."""
    calls = [raw(1, GETPPID, 5), raw(2, GETPPID, 11), raw(3, GETPPID, 1000)]
    found = by_name(plain(10**6, "a", "b").build(reading(calls), {}, 5))
    assert {key: call.count for key, call in found.items()} == {
        (A, "getppid"): 5, (B, "getppid"): 11,
    }  # fmt: skip


def test_nothing_is_shown_of_what_was_never_called() -> None:
    """The kernel has an `other` for each tree from the start: it shows when it has something."""
    calls = [raw(1, code(Abi.X86_64, NUMBER_OTHER), 0), raw(1, GETPPID, 0)]
    assert plain(10**6, "a").build(reading(calls), {}, 5).calls == []


def test_the_kernels_other_and_ours_are_one() -> None:
    """What found no room there and what is over the limit here: one series."""
    calls = [
        raw(1, code(Abi.X86_64, NUMBER_OTHER), 5),
        raw(1, GETPPID, 7),
        raw(1, GETPID, 11, errors={2: 3}),
    ]
    full = plain(COSTS.target.most + PRICES.account.most, "a")
    (call,) = full.build(reading(calls), {}, 5).calls
    assert (call.syscall, call.count, call.created_ns) == (OTHER, 23, 1)
    assert call.errors == ((OTHER, 3),)


READINGS = st.lists(
    st.tuples(
        st.integers(1, 2), st.integers(0, 30), st.integers(0, 9),
        st.tuples(*[st.integers(0, 9)] * BUCKETS),
        st.dictionaries(st.integers(0, 5), st.integers(0, 3), max_size=3), st.integers(0, 3),
    ),
    unique_by=lambda call: call[:2],
)  # fmt: skip


def grown(call: RawCall, times: int) -> RawCall:
    sums = call.sums
    more = sums._replace(
        untimed=sums.untimed * times + sum(call.errors.values()) + sums.other_errors,
        sum_ns=sums.sum_ns * times,
        buckets=[n * times for n in sums.buckets],
    )
    return call._replace(sums=more, errors=dict(call.errors))


@given(READINGS, st.integers(0, 60), st.booleans())
def test_sums_are_exact_below_and_above_the_limit(
    parts: list[tuple[int, int, int, tuple[int, ...], dict[int, int], int]], room: int, again: bool
) -> None:
    """No call, error or nanosecond gets lost, none is made up, no counter falls, whatever is
    folded; and errors never exceed the calls of their series."""
    made = plain(2 * (COSTS.target.most + PRICES.account.most) + room, "a", "b")
    before: dict[tuple[object, str], int] = {}
    for times in (1, 1 + again):
        read = [grown(raw(*part), times) for part in parts]
        exposed = made.build(reading(read), {}, 5)
        for slot, labels in ((1, A), (2, B)):
            mine = [call for call in exposed.calls if call.labels == labels]
            theirs = [r for r in read if r.slot == slot]
            assert sum(c.count for c in mine) == sum(
                r.sums.untimed + sum(r.sums.buckets) for r in theirs
            )
            assert sum(c.sum_ns for c in mine) == sum(r.sums.sum_ns for r in theirs)
            assert sum(n for c in mine for _, n in c.errors) == sum(
                r.sums.other_errors + sum(r.errors.values()) for r in theirs
            )
        for key, call in by_name(exposed).items():
            assert sum(n for _, n in call.errors) <= call.count
            assert call.count >= before.get(key, 0)
            before[key] = call.count
        assert made.used.most <= made.limit


def test_errors_without_any_room_take_their_calls_along() -> None:
    """The last errors that found no room are in `other`, with as many calls; sums are exact."""
    full = plain(COSTS.target.most + PRICES.account.most + 40, "a")
    calls = [raw(1, number, 10) for number in range(60)]
    first = full.build(reading(calls), {}, 5)
    names = {call.syscall for call in first.calls}
    assert OTHER in names, "not all fit"
    failed = [raw(1, number, 20, errors={5: 4}) for number in range(60)]
    found = by_name(full.build(reading(failed), {}, 6))
    assert {call for _, call in found} == names, "what was admitted stays"
    moved = [call for call in found.values() if call.count == 16]
    assert moved, "the spare room was not enough"
    assert all(call.errors == () for call in moved)
    other = found[A, OTHER]
    folded = 60 - (len(found) - 1)
    assert other.count == 20 * folded + 4 * len(moved)
    assert other.errors == ((OTHER, 4 * folded + 4 * len(moved)),)
    assert sum(call.count for call in found.values()) == 60 * 20
    assert sum(n for call in found.values() for _, n in call.errors) == 60 * 4


def test_calls_in_flight() -> None:
    """How many and how old the oldest is, by name; a thread in no call is in none."""
    threads = [
        thread(1, 1, 1, 40, 0), thread(1, 1, 1, 30, 0), thread(2, 2, 1, 10, 0),
        thread(3, 1, 0), thread(4, 9, 1, 5, 0), thread(5, 1, 1, 200, 1),
    ]  # fmt: skip
    found = plain(10**6, "a", "b").build(reading(threads=threads, now=100), {}, 5).in_flight
    assert {(f.labels, f.syscall): (f.count, f.oldest_ns) for f in found} == {
        (A, "read"): (2, 70), (B, "read"): (1, 90), (A, "write"): (1, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (0, {(A, OTHER): (3, 90), (B, "close"): (1, 60)}),
        (1, {(A, OTHER): (3, 90), (B, "close"): (1, 60)}),
        (2, {(A, "read"): (1, 90), (A, OTHER): (2, 80), (B, "close"): (1, 60)}),
        (4, {(A, "read"): (1, 90), (A, "write"): (1, 80), (A, "open"): (1, 70),
             (B, "close"): (1, 60)}),
    ],
)  # fmt: skip
def test_the_oldest_calls_in_flight_are_named_while_there_is_room(
    room: int, shown: dict[tuple[object, str], tuple[int, int]]
) -> None:
    """The rest is `other`, which has room set aside; one that is alone takes its place."""
    full = plain(2 * (COSTS.target.most + PRICES.account.most) + room, "a", "b")
    threads = [thread(1, 1, 1, 10 * (n + 1), n) for n in (1, 2, 0)] + [thread(2, 2, 1, 40, 3)]
    threads = [t._replace(entry_ns=10 + 10 * t.code) for t in threads]
    found = full.build(reading(threads=threads, now=100), {}, 5).in_flight
    assert {(f.labels, f.syscall): (f.count, f.oldest_ns) for f in found} == shown
    assert full.used == (COSTS.target + PRICES.account) * 2, "gauges take nothing for good"


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (0, "running"), (1, "sleeping"), (2, "uninterruptible"), (4, "stopped"), (8, "stopped"),
        (0x402, "uninterruptible"), (0x101, "sleeping"), (0x102, "uninterruptible"),
    ],
)  # fmt: skip
def test_thread_states(state: int, word: str) -> None:
    """TASK_IDLE (0x402) and TASK_KILLABLE (0x102) are bits beside the one that tells."""
    assert thread_state(state) == word


def test_life_of_trees() -> None:
    """Processes by their threads, life by their slots; one that has nothing is down, with zeros."""
    threads = [thread(1, 1, 0), thread(1, 1, 1), thread(2, 1, 2)]
    states = {**life(1, 2, 3, 5, 7, 11), **life(9, 100)}
    exposed = plain(10**6, "a", "b").build(reading(threads=threads, slots=states), {"a": 1}, 5)
    a, b = exposed.trees
    assert (a.labels, a.processes, a.forks, a.execs) == (A, 2, 2, 3)
    assert a.threads == {"running": 1, "sleeping": 1, "uninterruptible": 1, "stopped": 0}
    assert a.exits == {"ok": 5, "error": 7, "signal": 11}
    assert a.info == {"kind": "pid", "root": "41"}
    assert (b.labels, b.processes, b.forks) == (B, 0, 0)
    assert set(b.threads.values()) == set(b.exits.values()) == {0}
    assert [(t.name, t.up, t.trees) for t in exposed.targets] == [("a", True, 1), ("b", False, 0)]


def test_a_target_is_up_while_a_tree_of_it_is_held_back() -> None:
    """It lives, though nothing of it is exposed yet."""
    made = plain(10**6, "a")
    read = reading(threads=[thread(1, 7, 0)])
    assert [t.up for t in made.build(read, {}, 5).targets] == [False]
    assert [t.up for t in made.build(read, {}, 5, {7: "a"}).targets] == [True]
    two = plain(10**6, "a", "b")
    read = reading(threads=[thread(1, 7, 0), thread(2, 2, 0)])
    assert [t.up for t in two.build(read, {}, 5, {7: "a"}).targets] == [True, True]

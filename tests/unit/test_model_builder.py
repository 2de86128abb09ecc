"""From the kernel's numbers to names: merged, limited, and exact to the last call."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.kernel.records import (
    CODE_ABI_SHIFT,
    NUMBER_OTHER,
    NUMBER_UNKNOWN,
    NUMBERS,
    SlotState,
    Thread,
)
from exporter.kernel.source import RawCall, Reading, Sums
from exporter.kernel.syscalls import OTHER, UNKNOWN, Abi, load_names
from exporter.model.admission import Admission, Costs
from exporter.model.builder import (
    Names,
    build_calls,
    build_in_flight,
    build_targets,
    thread_state,
)
from exporter.model.snapshot import Call
from exporter.model.target import Target

NAMES = Names()
BUCKETS = 4
COSTS = Costs(target=10, call=7)


def code(abi: Abi, number: int) -> int:
    return abi << CODE_ABI_SHIFT | number


def reading(
    calls: list[RawCall] | None = None, threads: list[Thread] | None = None,
    slots: Mapping[int, SlotState] | None = None, now: int = 0,
) -> Reading:  # fmt: skip
    return Reading(calls or [], threads or [], slots or {}, {}, [], {}, now)


def raw(
    slot: int, code_: int, untimed: int, buckets: tuple[int, ...] = (0,) * BUCKETS,
    errors: Mapping[int, int] | None = None, other_errors: int = 0,
) -> RawCall:  # fmt: skip
    return RawCall(slot, code_, Sums(untimed, sum(buckets), other_errors, [*buckets]), errors or {})


def admission(limit: int = 10**6, *targets: str) -> Admission:
    made = Admission(limit, COSTS)
    for name in targets or ("a",):
        made.add_target(name, 1)
    return made


def by_name(calls: list[Call]) -> dict[tuple[str, str], Call]:
    named = {(call.target, call.syscall): call for call in calls}
    assert len(named) == len(calls), "a label set is exposed twice"
    return named


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
    found = by_name(build_calls(reading(calls), NAMES, {1: "a"}, admission(), 5))
    getpid = found["a", "getpid"]
    assert (getpid.untimed, getpid.sum_ns, getpid.buckets) == (3, 10, [1, 5, 0, 4])
    assert getpid.count == 13
    assert getpid.errors == (("EINVAL", 2), ("ENOENT", 1), (OTHER, 12))
    assert found["a", UNKNOWN].count == 24
    assert calls[0].sums.buckets == [1, 2, 0, 0], "what was read is not changed"


def test_slots_with_one_target_are_one_series() -> None:
    """A target that came back has a new slot: its counters go on from the old one's."""
    calls = [raw(1, 110, 5), raw(2, 110, 7), raw(3, 110, 11), raw(4, 110, 1000)]
    made = admission(10**6, "a", "b")
    found = by_name(build_calls(reading(calls), NAMES, {1: "a", 2: "a", 3: "b"}, made, 5))
    assert {key: call.count for key, call in found.items()} == {
        ("a", "getppid"): 12, ("b", "getppid"): 11,
    }  # fmt: skip


def test_nothing_is_shown_of_what_was_never_called() -> None:
    """The kernel has an `other` for each tree from the start: it shows when it has something."""
    calls = [raw(1, code(Abi.X86_64, NUMBER_OTHER), 0), raw(1, 110, 0)]
    assert build_calls(reading(calls), NAMES, {1: "a"}, admission(), 5) == []


def test_the_kernels_other_and_ours_are_one() -> None:
    """What found no room there and what is over the limit here: one series."""
    calls = [
        raw(1, code(Abi.X86_64, NUMBER_OTHER), 5),
        raw(1, 110, 7),
        raw(1, 39, 11, errors={2: 3}),
    ]
    made = admission(COSTS.per_target)
    (call,) = build_calls(reading(calls), NAMES, {1: "a"}, made, 5)
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


@given(READINGS, st.integers(0, 200))
def test_sums_are_exact_below_and_above_the_limit(
    parts: list[tuple[int, int, int, tuple[int, ...], dict[int, int], int]], room: int
) -> None:
    """No call, error or nanosecond gets lost, and none is made up, whatever is folded."""
    read = [raw(*part) for part in parts]
    kept = [r for r in read if r.sums.untimed or r.sums.sum_ns]
    made = admission(2 * COSTS.per_target + room, "a", "b")
    for _ in range(2):
        calls = build_calls(reading(read), NAMES, {1: "a", 2: "b"}, made, 5)
        for slot, target in ((1, "a"), (2, "b")):
            mine = [call for call in calls if call.target == target]
            theirs = [r for r in kept if r.slot == slot]
            assert sum(c.count for c in mine) == sum(
                r.sums.untimed + sum(r.sums.buckets) for r in theirs
            )
            assert sum(c.sum_ns for c in mine) == sum(r.sums.sum_ns for r in theirs)
            assert sum(n for c in mine for _, n in c.errors) == sum(
                r.sums.other_errors + sum(r.errors.values()) for r in theirs
            )
        by_name(calls)
        assert made.used <= made.limit


def thread(tgid: int, slot: int, state: int, entry: int = 0, code_: int = 0) -> Thread:
    return Thread(tgid, 1, entry, tgid * 10, slot, code_, state)


def test_calls_in_flight() -> None:
    """How many and how old the oldest is, by name; a thread in no call is in none."""
    threads = [
        thread(1, 1, 1, 40, 0), thread(1, 1, 1, 30, 0), thread(2, 2, 1, 10, 0),
        thread(3, 1, 0), thread(4, 9, 1, 5, 0), thread(5, 1, 1, 200, 1),
    ]  # fmt: skip
    found = build_in_flight(
        reading(threads=threads, now=100), NAMES, {1: "a", 2: "b"}, admission(10**6, "a", "b"), 5
    )
    assert {(f.target, f.syscall): (f.count, f.oldest_ns) for f in found} == {
        ("a", "read"): (2, 70), ("b", "read"): (1, 90), ("a", "write"): (1, 0),
    }  # fmt: skip


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


def test_targets() -> None:
    """Processes by their threads, life by their slots; one that has nothing is down, with zeros."""
    targets = {n: Target(n, "pid", 41, None, True, None, 1) for n in ("a", "b")}
    threads = [thread(1, 1, 0), thread(1, 1, 1), thread(2, 2, 2)]
    states = {
        1: SlotState(2, 3, 5, 7, 11, 13, 1, 0, 0, 0),
        2: SlotState(100, 0, 1, 0, 0, 0, 2, 0, 0, 0),
    }
    a, b = build_targets(
        reading(threads=threads, slots=states), {1: "a", 2: "a"}, targets, {"a": 1},
        admission(10**6, "a", "b"), {},
    )  # fmt: skip
    assert (a.up, a.trees, a.processes, a.root) == (True, 1, 2, "41")
    assert a.threads == {"running": 1, "sleeping": 1, "uninterruptible": 1, "stopped": 0}
    assert (a.forks, a.execs) == (102, 3)
    assert a.exits == {"ok": 6, "error": 7, "signal": 11}
    assert (b.up, b.trees, b.processes, b.forks) == (False, 0, 0, 0)
    assert set(b.threads.values()) == set(b.exits.values()) == {0}

"""Monotonic times become times of day by the offset that held then, whatever happens to clocks."""

from __future__ import annotations

import threading
import time

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from exporter.kernel.clock import Clock

S = 10**9
EPOCH = 1_700_000_000 * S
TOLERANCE = 100_000 + 200  # what no tick calls a change, and what the reading itself takes


class Machine:
    """Its three clocks; each reading of one takes 20 ns, or longer where the reader must wait."""

    def __init__(self, wall: int = EPOCH, uptime: int = 1000 * S, suspended: int = 0) -> None:
        self.now, self.set_by, self.suspended = uptime, wall - uptime, suspended
        self.waits: list[int] = []

    def monotonic(self) -> int:
        self.now += 20 + (self.waits.pop(0) if self.waits else 0)
        return self.now

    def wall(self) -> int:
        return self.monotonic() + self.set_by

    def boot(self) -> int:
        return self.monotonic() + self.suspended

    def run(self, ns: int) -> None:
        self.now += ns

    def set(self, by_ns: int) -> None:
        self.set_by += by_ns

    def suspend(self, ns: int) -> None:
        """Everything stands still but for the time of day and the time since boot."""
        self.set_by += ns
        self.suspended += ns

    def clock(self) -> Clock:
        return Clock(self.monotonic, self.wall, self.boot)


def close(one: int, other: int, by: int = 200) -> bool:
    return abs(one - other) <= by


def test_the_real_clocks() -> None:
    """What is converted is what the time of day says, to the tolerance."""
    clock = Clock()
    before = time.time_ns()
    told = clock.wall_ns(time.monotonic_ns())
    assert before - 10**7 <= told <= time.time_ns() + 10**7
    boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert close(clock.boot_to_monotonic(boot), time.monotonic_ns(), 10**8)


def test_each_time_has_the_offset_that_held_then() -> None:
    """Before a step the old one, after it the new one, for as long as anybody asks."""
    machine = Machine()
    clock = machine.clock()
    times = []
    for step in (0, 3600 * S, -2 * S, 1 * S):
        machine.set(step)
        clock.tick()
        machine.run(5 * S)
        times.append((machine.now, machine.now + machine.set_by))
        clock.tick()
    for monotonic, wall in times:
        assert close(clock.wall_ns(monotonic), wall)


def test_a_change_is_dated_at_the_last_tick_that_had_not_seen_it() -> None:
    """What happened between two ticks has the new offset, what was before the old one."""
    machine = Machine()
    clock = machine.clock()
    machine.run(S)
    clock.tick()
    seen = machine.now
    machine.run(S)
    machine.set(60 * S)
    clock.tick()
    assert close(clock.wall_ns(seen - 1000), seen - 1000 + EPOCH - 1000 * S)
    assert close(clock.wall_ns(seen + 1000), seen + 1000 + EPOCH - 1000 * S + 60 * S)


def test_what_is_older_than_the_clock_has_its_first_offset() -> None:
    """So has what fell out of the history, which has 900 changes."""
    machine = Machine()
    clock = machine.clock()
    assert close(clock.wall_ns(5), EPOCH - 1000 * S + 5)
    for _ in range(1000):
        machine.run(S)
        machine.set(S)
        clock.tick()
    assert close(clock.wall_ns(5), EPOCH - 1000 * S + 5 + 101 * S)


def test_small_changes_add_up_to_one() -> None:
    """Steps below the tolerance are not forgotten: no offset is ever wrong by more than it."""
    machine = Machine()
    clock = machine.clock()
    for _ in range(100):
        machine.run(S)
        machine.set(30_000)
        clock.tick()
        assert close(clock.wall_ns(machine.now), machine.now + machine.set_by, TOLERANCE)


def test_of_several_readings_the_tightest_counts() -> None:
    """A reader that has to wait for the CPU does not take that for a change."""
    for waits in ([10 * S, 0], [0, 10 * S], [0] * 4 + [10 * S], [0, 0, 0, 10 * S]):
        machine = Machine()
        machine.waits = list(waits)
        clock = machine.clock()
        machine.waits = list(waits)
        clock.tick()
        assert clock.wall_ns(machine.now) == clock.wall_ns(0) + machine.now
        assert close(clock.wall_ns(machine.now), machine.now + machine.set_by)


def test_a_reader_that_always_waits_sees_no_change_that_there_may_not_be() -> None:
    """Half a second of doubt hides a change of as much, until a better reading."""
    machine = Machine()
    clock = machine.clock()
    machine.set(S // 4)
    machine.waits = [S // 8] * 20
    clock.tick()
    assert close(clock.wall_ns(machine.now), machine.now + EPOCH - 1000 * S)
    machine.waits = []
    clock.tick()
    assert close(clock.wall_ns(machine.now), machine.now + machine.set_by)


def test_processes_start_times_go_without_suspensions() -> None:
    """A process that started before a suspension, and one that started after it."""
    machine = Machine(suspended=50 * S)
    clock = machine.clock()
    machine.run(S)
    before = machine.now, machine.now + machine.suspended
    machine.run(S)
    clock.tick()
    machine.suspend(3600 * S)
    machine.run(S // 2)
    between = machine.now, machine.now + machine.suspended
    clock.tick()
    machine.run(S)
    after = machine.now, machine.now + machine.suspended
    for monotonic, boot in (before, between, after):
        assert close(clock.boot_to_monotonic(boot), monotonic)


def test_a_suspension_that_the_time_of_day_has_missed() -> None:
    """A machine whose real-time clock stood still too: start times are right all the same."""
    machine = Machine()
    clock = machine.clock()
    machine.suspend(3600 * S)
    machine.set(-3600 * S)
    clock.tick()
    assert close(clock.boot_to_monotonic(machine.now + machine.suspended), machine.now)


def test_a_start_before_the_exporters_is_right_by_the_time_of_day() -> None:
    """Though nobody knows how long the machine had been suspended by then."""
    machine = Machine(suspended=7200 * S)
    clock = machine.clock()
    started = 30 * S  # since boot, before all suspensions
    assert close(clock.wall_ns(clock.boot_to_monotonic(started)), EPOCH - 8200 * S + started)


def test_a_start_goes_with_the_time_of_day_and_stands_still_else() -> None:
    """Somebody who sets the clock does not make a process older; no reading moves its start."""
    machine = Machine(suspended=50 * S)
    clock = machine.clock()
    started = 30 * S  # since boot
    told = clock.boot_to_wall(started)
    assert close(told, EPOCH - 1050 * S + started)
    for _ in range(9):
        machine.run(S)
        clock.tick()
        assert clock.boot_to_wall(started) == told
    machine.set(3600 * S)
    machine.suspend(1800 * S)
    clock.tick()
    assert close(clock.boot_to_wall(started), told + 3600 * S)


STEPS = st.integers(-3600 * S, 3600 * S)


class Spans(RuleBasedStateMachine):
    """Clocks that are set, machines that are suspended, while spans begin and end."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = Machine()
        self.clock = self.machine.clock()

    @rule(ns=st.integers(0, 20 * S), ticks=st.booleans())
    def run_on(self, ns: int, ticks: bool) -> None:
        self.machine.run(ns)
        if ticks:
            self.clock.tick()

    @rule(by=STEPS)
    def set(self, by: int) -> None:
        self.machine.set(by)

    @rule(ns=st.integers(0, 3600 * S))
    def suspend(self, ns: int) -> None:
        self.machine.suspend(ns)

    @invariant()
    def now_is_now_once_the_clock_has_looked(self) -> None:
        self.clock.tick()
        assert close(
            self.clock.wall_ns(self.machine.now), self.machine.now + self.machine.set_by, TOLERANCE
        )
        boot = self.machine.now + self.machine.suspended
        assert close(self.clock.boot_to_monotonic(boot), self.machine.now, TOLERANCE)


TestSpans = Spans.TestCase


def test_readers_beside_the_one_who_ticks() -> None:
    """Each answer is by one of the offsets that there were, never by half of a change."""
    machine = Machine()
    clock = machine.clock()
    moment = machine.now
    answers: set[int] = set()
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            answers.add(clock.wall_ns(moment))
            clock.boot_to_monotonic(moment)

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(3000):
        machine.run(S)
        machine.set(S)
        clock.tick()
    done.set()
    for reader in readers:
        reader.join()
    base = moment + EPOCH - 1000 * S
    assert all(abs((answer - base + S // 2) % S - S // 2) < 2000 for answer in answers)

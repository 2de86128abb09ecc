"""From what the kernel tells to the queue: whom it looks for, and where all went at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import count

from opentelemetry.proto.trace.v1.trace_pb2 import Span as Encoded

from exporter.kernel.records import ProcessKey
from exporter.kernel.span_events import Called, Exited, Forked, Record, SpanEvents
from exporter.model.spans.processes import Listed
from exporter.model.spans.span import CallSpan
from exporter.model.spans.traces import SpanLimits
from exporter.model.target import SpanWords, Target
from exporter.publish.otlp.queue import SpanQueue
from exporter.telemetry.known import Owners
from exporter.telemetry.spans import SpanThread
from tests.harness import PATIENCE_S

TREE, UNNAMED = 1, 2
OPENAT = 257  # x86_64
ROOT = ProcessKey(10, 10)
NOBODY = ProcessKey(1, 1)
WEB = (("service.name", "web"),)
LONG_NS = int(PATIENCE_S * 1e9)


class Ring(SpanEvents):
    """What was told, as the ring gives it; a wait ends by being woken only."""

    def __init__(self) -> None:
        self.told: list[Record] = []
        self.woken = threading.Event()
        self.wait = self._wait
        self.wake = self.woken.set

    def take(self) -> Iterator[Record]:
        """As the ring does: what is told later is for the next time."""
        for _ in range(len(self.told)):
            yield self.told.pop(0)

    def _wait(self, seconds: float) -> bool:
        return self.woken.wait(PATIENCE_S)


class World:
    """The thread, the ring and the queue; `listed` is what a listing would find."""

    def __init__(self, processes: int = 1000) -> None:
        self.ring, self.queue = Ring(), SpanQueue(100_000, 100_000)
        self.listed: list[Listed] = []
        self.while_listing: Callable[[], None] = lambda: None
        self.noted: list[CallSpan] = []
        words = SpanWords(processes=True, syscalls=("openat",))
        self.targets = dict.fromkeys((TREE, UNNAMED), Target("it", "cgroup", spans=words))
        self.names = {TREE: WEB}
        owners = Owners(self.targets.get, self.targets.get, self.names.get)
        limits = SpanLimits(processes=processes)
        self.thread = SpanThread(
            self.ring, self.queue, owners, limits, self._list, self.noted.append, LONG_NS
        )
        self.pids = count(100)

    def _list(self, knows: Callable[[ProcessKey], bool]) -> list[Listed]:
        self.while_listing()
        return list(self.listed)

    def fork(self, slot: int = TREE, parent: ProcessKey = ROOT) -> ProcessKey:
        now_ns = time.monotonic_ns()
        key = ProcessKey(next(self.pids), now_ns)
        self.ring.told.append(Forked(slot, key, now_ns, parent))
        return key

    def exit(self, key: ProcessKey, slot: int = TREE) -> None:
        now_ns = time.monotonic_ns()
        self.ring.told.append(Exited(slot, key, now_ns, ROOT, 0, b"it"))

    def call(self, key: ProcessKey, slot: int = TREE) -> None:
        now_ns = time.monotonic_ns()
        code, tid = OPENAT, key.tgid
        self.ring.told.append(Called(slot, key, now_ns, now_ns - 10, 3, tid, code, b""))

    def list(self, key: ProcessKey, parent: ProcessKey = NOBODY, slot: int = TREE) -> None:
        self.listed.append(Listed(slot, key, parent, "it"))

    def stop(self, limit_ns: int = LONG_NS) -> None:
        self.thread.stop(time.monotonic_ns() + limit_ns)
        assert self.thread.is_done(PATIENCE_S)

    def spans(self) -> list[Encoded]:
        return [Encoded.FromString(span) for _, span in self.queue.take(0)]


def pid(span: Encoded) -> int:
    (found,) = (one.value.int_value for one in span.attributes if one.key == "process.pid")
    return int(found)


def by_pid(spans: list[Encoded]) -> dict[int, Encoded]:
    found = {pid(span): span for span in spans}
    assert len(found) == len(spans)
    return found


def test_who_is_there_at_the_start_is_the_parent_of_what_was_told() -> None:
    """However early: it is found before that is learnt."""
    world = World()
    world.list(ROOT)
    child = world.fork()
    world.list(child, ROOT)
    world.thread.start()
    world.exit(child)
    world.stop()
    spans = by_pid(world.spans())
    assert spans[child.tgid].parent_span_id == spans[ROOT.tgid].span_id


def test_a_tree_of_which_something_is_told_for_the_first_time() -> None:
    """Who lives there is looked for before that is learnt: it has a parent."""
    world = World()
    world.thread.start()
    world.thread._listed_ns -= 2 * 10**9  # longer ago than a second
    world.list(ROOT)
    child = world.fork()
    world.stop()
    spans = by_pid(world.spans())
    assert spans[child.tgid].parent_span_id == spans[ROOT.tgid].span_id


def test_what_happens_while_all_are_listed() -> None:
    """One that is born and listed, one that is gone again: each has one span, and that is whole."""
    world = World()
    world.list(ROOT)

    def happens() -> None:
        born, gone = world.fork(), world.fork()
        world.exit(gone)
        world.list(born, ROOT)
        world.list(gone, ROOT)

    world.while_listing = happens
    world.thread.start()
    world.stop()
    spans = by_pid(world.spans())
    assert len(spans) == 3
    created = [
        pid(span)
        for span in spans.values()
        if any(one.key == "process.creation.time" for one in span.attributes)
    ]
    assert created == [ROOT.tgid]


def test_a_listing_that_fails() -> None:
    """Nothing of what was told is lost with it."""
    world = World()

    def fails() -> None:
        raise OSError

    world.while_listing = fails
    child = world.fork()
    world.thread.start()
    world.exit(child)
    world.stop()
    assert [pid(span) for span in world.spans()] == [child.tgid]


def test_all_that_was_told_is_in_the_queue_at_the_end() -> None:
    """What is open, too; nothing is lost of what there is time for."""
    world = World()
    world.list(ROOT)
    world.thread.start()
    for _ in range(1000):
        child = world.fork()
        world.call(child)
        world.exit(child)
    world.stop()
    spans = world.spans()
    assert len({span.span_id for span in spans}) == len(spans) == 2001
    assert (world.thread.unsent, len(world.noted)) == (0, 1000)


def test_without_time_all_is_counted() -> None:
    """What is open, calls that were told, and processes of which nothing was known: each once."""
    world = World()
    world.list(ROOT)
    known = world.fork()
    world.thread.start()
    for _ in range(500):
        child = world.fork()
        world.call(child)
        world.exit(child)
    world.exit(known)
    world.stop(0)
    assert world.spans() == []
    assert world.thread.unsent == 2 + 500 + 500


def test_an_end_before_the_start() -> None:
    """Where the exporter fails meanwhile: nothing was begun, so nothing is waited for."""
    world = World()
    world.thread.stop(time.monotonic_ns() + LONG_NS)
    assert (world.thread.is_done(0), world.thread.unsent) == (True, 0)


def test_without_time_what_waits_for_a_name_is_counted() -> None:
    """By its own reason."""
    world = World()
    world.thread.start()
    child = world.fork(UNNAMED)
    world.exit(child, UNNAMED)
    world.stop(0)
    assert (world.thread.unsent, world.thread.refused()["held_back"]) == (0, 2)


def test_what_was_begun_to_be_learnt_when_the_time_was_over() -> None:
    """What is learnt by then is sent; the rest, and what is open, is counted, and nothing twice."""
    world = World()
    world.list(ROOT)
    world.thread.start()
    for _ in range(3000):
        world.exit(world.fork())
    made = []

    def full(items: object) -> int:
        """A piece was learnt: from here on there is no time."""
        made.append(items)
        world.thread._end_by_ns = 0
        return put(items)  # type: ignore[arg-type]

    put, world.queue.put_many = world.queue.put_many, full  # type: ignore[method-assign]
    world.stop()
    spans = world.spans()
    assert 1 < len(spans) < 1000
    assert len(spans) + world.thread.unsent == 3001

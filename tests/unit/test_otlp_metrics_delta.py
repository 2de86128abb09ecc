"""Differences: all that a backend took adds up to the counter, whatever failed on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from exporter.model.histogram import bucket_count, index_of
from exporter.model.labels import LabelSet
from exporter.model.resource import Resource
from exporter.model.snapshot import Call, Snapshot, TreeState
from exporter.publish.otlp.histogram import Histogram
from exporter.publish.otlp.metrics import MetricsEncoder
from exporter.publish.otlp.points import Request
from exporter.publish.shape import Shape
from tests.unit.otlp_readers import OWN, Point, points, positive
from tests.unit.publish_samples import CREATED_NS, call, only, snapshot

SECOND = 10**9
DELTA, CUMULATIVE = 1, 2


def encoder(max_points: int = 5000) -> MetricsEncoder:
    return MetricsEncoder(OWN, "1", delta=True, max_points=max_points)


def at(seconds: int, *calls: Call, **fields: Any) -> Snapshot:
    """With these calls and no others, so long after they were created."""
    time_ns = CREATED_NS + seconds * SECOND
    return replace(snapshot(), time_ns=time_ns, calls=list(calls), in_flight=[], **fields)


def sent(subject: MetricsEncoder, reading: Snapshot, *, taken: bool = True) -> list[Point]:
    requests = subject.encode(reading, Shape())
    if taken:
        for request in requests:
            subject.acknowledge(request)
    return list(points(requests))


def one(found: list[Point], name: str, **attributes: str) -> Point:
    wanted = {f"proctree.{key}": value for key, value in attributes.items()}
    (point,) = (
        p for p in found if p.metric.name == name and wanted.items() <= p.attributes.items()
    )
    return point


def span_of(point: Point) -> tuple[int, int]:
    """Seconds since the series was created: from, to."""
    times = (point.data.start_time_unix_nano, point.data.time_unix_nano)
    return ((times[0] - CREATED_NS) // SECOND, (times[1] - CREATED_NS) // SECOND)


def test_what_is_a_difference() -> None:
    """Counters and histograms; sums that may fall stay what they are, as the standard has it."""
    for point in sent(encoder(), snapshot()):
        kind = point.metric.WhichOneof("data")
        if kind != "gauge":
            monotonic = kind == "exponential_histogram" or point.metric.sum.is_monotonic
            temporality = getattr(point.metric, kind).aggregation_temporality
            assert temporality == (DELTA if monotonic else CUMULATIVE)


def test_what_is_no_difference_is_told_whole() -> None:
    """Processes that are there are there, however often it is said."""
    subject = encoder()
    for _ in range(2):
        found = sent(subject, snapshot())
        ci = next(p for p in found if p.metric.name == "proctree.tree.processes" and p.number)
        assert (ci.number, ci.data.start_time_unix_nano) == (2, CREATED_NS)


def test_a_first_difference_is_all_since_the_series_began() -> None:
    """And the next one goes on where it ended."""
    subject = encoder()
    first = one(sent(subject, at(10, call("ci", "read", 5, 6))), "proctree.syscall.count")
    assert (first.number, span_of(first)) == (2, (0, 10))
    second = one(sent(subject, at(40, call("ci", "read", 5, 6, 7))), "proctree.syscall.count")
    assert (second.number, span_of(second)) == (1, (10, 40))


def test_what_was_not_taken_is_in_the_next_difference() -> None:
    """Counts, sums and buckets, and the time since the last that was taken."""
    subject = encoder()
    sent(subject, at(10, call("ci", "read", 5)))
    for failed in (20, 30):
        sent(subject, at(failed, call("ci", "read", 5, 500)), taken=False)
    found = sent(subject, at(40, call("ci", "read", 5, 500, 9000, errors=(("EIO", 1),))))
    count = one(found, "proctree.syscall.count")
    assert (count.number, span_of(count)) == (2, (10, 40))
    data = one(found, "proctree.syscall.duration").data
    assert (data.count, data.sum) == (2, 9500 / 10**9)
    offset = -30 << 2
    assert positive(data) == {offset + index_of(ns, 2): 1 for ns in (500, 9000)}
    error = one(found, "proctree.syscall.errors")
    assert (error.number, span_of(error)) == (1, (0, 40))


def test_a_reading_without_news_says_so() -> None:
    """0 calls in that time, and no bucket: a series is not gone because nothing happened."""
    subject = encoder()
    sent(subject, at(10, call("ci", "read", 5)))
    found = sent(subject, at(20, call("ci", "read", 5)))
    assert one(found, "proctree.syscall.count").number == 0
    data = one(found, "proctree.syscall.duration").data
    assert (data.count, data.sum, list(data.positive.bucket_counts)) == (0, 0.0, [])
    later = one(sent(subject, at(30, call("ci", "read", 5, 5))), "proctree.syscall.count")
    assert (later.number, span_of(later)) == (1, (20, 30))


def test_a_series_that_comes_again_begins_at_zero() -> None:
    """Its time of creation says so; what it was before is not taken off."""
    subject = encoder()
    sent(subject, at(10, call("ci", "read", 5, 6)))
    assert not [p for p in sent(subject, at(20)) if p.metric.name == "proctree.syscall.count"]
    again = replace(call("ci", "read", 5, 6, 7), created_ns=CREATED_NS + 25 * SECOND)
    found = one(sent(subject, at(30, again)), "proctree.syscall.count")
    assert (found.number, span_of(found)) == (3, (25, 30))


def test_a_series_that_is_gone_is_forgotten() -> None:
    """Nothing is kept of it: what comes and goes takes no memory."""
    subject = encoder()
    for seconds in (10, 30):
        found = one(sent(subject, at(seconds, call("ci", "read", 5))), "proctree.syscall.count")
        assert (found.number, span_of(found)) == (1, (0, seconds))
        sent(subject, at(seconds + 10))


def test_a_series_that_began_anew_between_two_readings() -> None:
    """By its time of creation, though its number is higher than it was."""
    subject = encoder()
    sent(subject, at(10, call("ci", "read", 5, 6)))
    again = replace(call("ci", "read", 5, 6, 7), created_ns=CREATED_NS + 15 * SECOND)
    found = one(sent(subject, at(20, again)), "proctree.syscall.count")
    assert (found.number, span_of(found)) == (3, (15, 20))


def test_a_number_that_fell_is_a_new_one() -> None:
    """As Prometheus takes it; whatever the time of creation says."""
    subject = encoder()
    sent(subject, at(10, call("ci", "read", 5, 600)))
    found = sent(subject, at(20, call("ci", "read", 5)))
    assert one(found, "proctree.syscall.count").number == 1
    data = one(found, "proctree.syscall.duration").data
    assert (data.count, data.sum) == (1, 5 / 10**9)


def test_what_was_taken_in_part_is_known_in_part() -> None:
    """Each request is acknowledged by itself."""
    subject, reading = encoder(max_points=1), at(10, call("ci", "read", 5), call("ci", "write", 5))
    for request in subject.encode(reading, Shape()):
        (point,) = points([request])
        if point.attributes.get("proctree.syscall") == "read":
            subject.acknowledge(request)
    found = sent(subject, replace(reading, time_ns=reading.time_ns + SECOND))
    for name, number in (("read", 0), ("write", 1)):
        assert one(found, "proctree.syscall.count", syscall=name).number == number
        assert one(found, "proctree.syscall.duration", syscall=name).data.count == number


def test_cumulative_remembers_nothing() -> None:
    """Nor is there anything to acknowledge."""
    subject = MetricsEncoder(OWN, "1")
    first, second = (subject.encode(snapshot(), Shape()) for _ in range(2))
    assert first == second
    assert all(not request.numbers for request in first)


HISTOGRAM = st.dictionaries(st.integers(0, 30), st.integers(1, 2**60), max_size=6)


def cut(filled: dict[int, int], sum_ns: int) -> Histogram:
    """As the encoder makes them, by hand."""
    if not filled:
        return Histogram(0, sum_ns, 0, ())
    first, last = min(filled), max(filled)
    counts = [filled.get(index, 0) for index in range(first, last + 1)]
    return Histogram(sum(filled.values()), sum_ns, first, counts)


@given(HISTOGRAM, HISTOGRAM, st.integers(0, 2**60), st.integers(0, 2**60))
def test_a_histogram_less_its_past_is_its_news(
    old: dict[int, int], new: dict[int, int], old_ns: int, new_ns: int
) -> None:
    """In every bucket; packed or not."""
    before = cut(old, old_ns)
    after = cut(dict(Counter(old) + Counter(new)), old_ns + new_ns)
    for past in (before, before.packed()):
        since = after.minus(past)
        assert since is not None
        assert since._replace(counts=list(since.counts)) == cut(new, new_ns)._replace(
            counts=list(cut(new, new_ns).counts)
        )


@given(HISTOGRAM, HISTOGRAM)
def test_a_histogram_that_lost_anything_began_anew(
    old: dict[int, int], new: dict[int, int]
) -> None:
    """One bucket is enough, and so is the sum."""
    fell = any(new.get(index, 0) < count for index, count in old.items())
    assert (cut(new, 1).minus(cut(old, 1)) is None) == fell
    assert cut(new, 1).minus(cut(old, 2)) is None


LABELS: list[LabelSet] = [only("a"), only("b")]
OF: dict[LabelSet, Resource] = {one: (("service.name", one[0][1]),) for one in LABELS}


class Backend(RuleBasedStateMachine):
    """Trees come, call, go and come again; a backend takes some requests and loses others."""

    @initialize(max_points=st.integers(1, 30))
    def begin(self, max_points: int) -> None:
        self.encoder = encoder(max_points)
        self.time_ns = CREATED_NS
        self.created: dict[LabelSet, int] = {}
        self.calls: dict[tuple[LabelSet, str], Counter[int]] = {}  # bucket -> calls
        self.untimed = Counter[tuple[LabelSet, str]]()
        self.sums = Counter[tuple[LabelSet, str]]()
        self.got: dict[tuple[str, str], Counter[object]] = {}
        self.due: dict[tuple[str, str], Counter[object]] = {}
        self.end_of: dict[tuple[str, str, str], int] = {}

    def tick(self) -> int:
        self.time_ns += SECOND
        return self.time_ns

    @rule(labels=st.sampled_from(LABELS), name=st.sampled_from(["read", "write"]),
          bucket=st.integers(100, 110), count=st.integers(1, 9), timed=st.booleans())  # fmt: skip
    def call(self, labels: LabelSet, name: str, bucket: int, count: int, timed: bool) -> None:
        self.created.setdefault(labels, self.tick())
        key = (labels, name)
        buckets = self.calls.setdefault(key, Counter())
        due = self.due.setdefault((labels[0][1], name), Counter())
        due["count"] += count
        if timed:
            buckets[bucket] += count
            self.sums[key] += count
            due[bucket + (-30 << 2)] += count
            due["sum"] += count
        else:
            self.untimed[key] += count

    @rule(labels=st.sampled_from(LABELS))
    def go(self, labels: LabelSet) -> None:
        """Once all is sent: the last numbers of what vanishes must have arrived."""
        self.export()
        self.created.pop(labels, None)
        for key in [key for key in self.calls if key[0] == labels]:
            del self.calls[key], self.untimed[key], self.sums[key]

    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        self.export(data)

    def export(self, luck: st.DataObject | None = None) -> None:
        """Without luck all is taken."""
        self.tick()
        size = bucket_count(2)
        calls = [
            Call(labels, name, self.untimed[labels, name], self.sums[labels, name],
                 [buckets[index] for index in range(size)], (), self.created[labels])
            for (labels, name), buckets in self.calls.items()
        ]  # fmt: skip
        live = [labels for labels in LABELS if labels in self.created]
        trees = [TreeState(one, 1, {}, 0, 0, {}, self.created[one]) for one in live]
        reading = replace(
            snapshot(), time_ns=self.time_ns, started_ns=CREATED_NS, label_names=("target",),
            calls=calls, trees=trees, in_flight=[], resources=OF,
        )  # fmt: skip
        for request in self.encoder.encode(reading, Shape()):
            if luck is None or luck.draw(st.booleans(), label="taken"):
                self.encoder.acknowledge(request)
                self.take(request)

    def take(self, request: Request) -> None:
        for point in points([request]):
            name = point.attributes.get("proctree.syscall")
            target = point.attributes.get("proctree.target")
            if name is None or target is None:
                continue
            got = self.got.setdefault((target, name), Counter())
            key = (target, name, point.metric.name)
            begin = point.data.start_time_unix_nano
            assert begin >= self.end_of.get(key, 0), "no time is told twice"
            self.end_of[key] = point.data.time_unix_nano
            if point.metric.name == "proctree.syscall.count":
                assert point.number is not None
                got["count"] += point.number
            elif point.number is None:
                got["sum"] += round(point.data.sum * 10**9)
                for index, count in positive(point.data).items():
                    got[index] += count

    def teardown(self) -> None:
        if hasattr(self, "encoder"):
            self.export()
            found = {key: +numbers for key, numbers in self.got.items() if +numbers}
            assert found == {key: +numbers for key, numbers in self.due.items() if +numbers}


TestBackend = Backend.TestCase
TestBackend.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)

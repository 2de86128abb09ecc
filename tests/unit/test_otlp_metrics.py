"""Over OTLP goes what Prometheus gets: the same numbers, to the last call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.histogram import bucket_count, otel_offset
from exporter.model.labels import LabelSet
from exporter.model.resource import Resource
from exporter.model.snapshot import Call, InFlight, Snapshot, TargetState, TreeState
from exporter.publish.negotiate import Format
from exporter.publish.otlp.names import BY_PROMETHEUS, SCHEMA_URL
from exporter.publish.shape import Shape
from tests.unit.exposition_readers import SHAPES, Series, from_text, render
from tests.unit.metrics_proto import decode
from tests.unit.otlp_readers import (
    OWN,
    as_prometheus,
    below,
    clean,
    encode,
    labels_of,
    messages,
    plain,
    points,
    positive,
)
from tests.unit.publish_samples import CREATED_NS, POD, RESOURCES, call, only, snapshot
from tests.unit.test_publish_units import spread


def without_empty(series: Series) -> Series:
    name, labels = series
    return name, tuple((label, value) for label, value in labels if value)


def assert_same(subject: Snapshot, shape: Shape, max_points: int = 5000) -> None:
    """Every number of every series, both ways; classic buckets are sums of OTLP's."""
    numbers, buckets = as_prometheus(encode(subject, shape, max_points), subject)
    text = {
        without_empty(series): value
        for series, value in from_text(render(Format.TEXT, shape, subject)).items()
        if series[0].removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")
        in BY_PROMETHEUS
    }
    classic = {series: value for series, value in text.items() if series[0].endswith("_bucket")}
    alone = set()
    if shape.calls_in_protobuf and not shape.calls_in_text:  # native ones are in no text
        alone = {s for s in numbers if s[0].startswith("proctree_syscall_duration_seconds")}
    rest = {series: value for series, value in numbers.items() if series not in alone}
    assert rest == {series: value for series, value in text.items() if series not in classic}
    for (name, labels), value in classic.items():
        own = tuple(pair for pair in labels if pair[0] != "le")
        le = dict(labels)["le"]
        assert below(buckets[name.removesuffix("_bucket"), own], le, subject.scale) == value
    assert buckets == native_of(subject, replace(shape, native=True)) or not shape.native


def native_of(subject: Snapshot, shape: Shape) -> dict[Series, dict[int, int]]:
    """Prometheus' native histograms; its index is one more than OTLP's."""
    found = {}
    for family in decode(render(Format.PROTOBUF, shape, subject)):
        for metric in family.metric:
            if metric.HasField("histogram"):
                value = metric.histogram
                spans = [(span.offset, span.length) for span in value.positive_span]
                labels = sorted((pair.name, pair.value) for pair in metric.label if pair.value)
                found[family.name, tuple(labels)] = {
                    index - 1: count
                    for index, count in spread(spans, list(value.positive_delta)).items()
                }
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_worlds_tell_the_same_numbers(shape: Shape) -> None:
    """Every counter, gauge, count, sum and bucket; what one leaves out the other does, too."""
    assert_same(snapshot(), shape)
    doubled = replace(snapshot(), calls=[*snapshot().calls, *snapshot().calls])
    assert_same(doubled, shape)


TEXT = st.sampled_from(["a", "b", "", 'x"\n\\', "\udc80", "\udcff", "ü\x00", "other"])
NAMES = st.sampled_from(["read", "openat", "futex", "exit_group", "other", "\udcfe"])
COUNT = st.integers(0, 2**40)
ERRORS = st.dictionaries(st.sampled_from(["EIO", "ENOENT", "other"]), COUNT, max_size=3)


@st.composite
def snapshots(draw: st.DrawFn, scale: int = 1) -> Snapshot:
    """Of any label sets, some of which become equal only when they are cleaned."""
    names = ("target", "pod", "comm")
    one_set = st.tuples(TEXT.filter(bool), TEXT, TEXT)
    values = draw(st.lists(one_set, min_size=1, max_size=6, unique=True))
    sets: list[LabelSet] = [tuple(zip(names, one, strict=True)) for one in values]
    sets = list(dict.fromkeys(tuple(p for p in one if p[1]) for one in sets))
    of_sets = st.sampled_from(sets)
    size = bucket_count(scale)
    calls = [
        Call(
            draw(of_sets), draw(NAMES), draw(COUNT), draw(COUNT),
            [filled.get(index, 0) for index in range(size)],
            tuple(sorted(draw(ERRORS).items())), draw(st.integers(1, 2**62)),
        )
        for filled in draw(
            st.lists(st.dictionaries(st.integers(0, size - 1), COUNT, max_size=5), max_size=6)
        )
    ]  # fmt: skip
    return Snapshot(
        time_ns=2**61, started_ns=2**60, scale=scale, calls=calls,
        in_flight=[InFlight(draw(of_sets), draw(NAMES), draw(COUNT), draw(COUNT))],
        trees=[
            TreeState(one, draw(COUNT), {"running": draw(COUNT)}, draw(COUNT), draw(COUNT),
                      {"ok": draw(COUNT)}, 2**60)
            for one in sets
        ],
        targets=[
            TargetState(name, (("team", "x"),), draw(st.booleans()), draw(COUNT))
            for name in {dict(one)["target"] for one in sets}
        ],
        lost_calls=draw(st.dictionaries(st.sampled_from(["a", "b\udc80", "b\udc81"]), COUNT)),
        label_names=names,
        resources={one: identity_of(one) for one in sets},
    )  # fmt: skip


def identity_of(labels: LabelSet) -> Resource:
    """Those that differ in the program alone have one."""
    shared = tuple((name, value) for name, value in labels if name != "comm")
    return (("service.instance.id", ascii(shared)), ("service.name", shared[0][1]))


@given(snapshots(), st.sampled_from(SHAPES), st.integers(1, 40))
def test_any_snapshot_is_the_same_in_both_worlds(
    subject: Snapshot, shape: Shape, max_points: int
) -> None:
    """However names hurt, and however many requests it takes."""
    assert_same(subject, shape, max_points)


def test_two_pods_are_two_resources() -> None:
    """With the same target, call and attributes they are told apart by their Resource alone."""
    pods: list[LabelSet] = [(("target", "pods"), ("pod", name)) for name in ("web-0", "web-1")]
    subject = replace(
        snapshot(),
        calls=[call(pods[0], "read", 5), call(pods[1], "read", 5, 6)],
        trees=[], in_flight=[], label_names=("target", "pod"),
        resources={one: (("k8s.pod.name", one[1][1]), ("service.name", "web")) for one in pods},
    )  # fmt: skip
    counts = {
        point.resource["k8s.pod.name"]: (point.attributes, point.number)
        for point in points(encode(subject))
        if point.metric.name == "proctree.syscall.count"
    }
    attributes = {"proctree.target": "pods", "proctree.syscall": "read"}
    assert counts == {"web-0": (attributes, 1), "web-1": (attributes, 2)}


def test_programs_of_a_tree_are_one_resource_and_one_metric() -> None:
    """`group_by` is an attribute; no metric is there twice in a scope."""
    sets: list[LabelSet] = [(("target", "ci"), ("comm", name)) for name in ("cc", "ld")]
    subject = replace(
        snapshot(), calls=[call(one, "read", 5) for one in sets], trees=[], in_flight=[],
        label_names=("target", "comm"), resources=dict.fromkeys(sets, RESOURCES[only("ci")]),
    )  # fmt: skip
    found = [p for p in points(encode(subject)) if p.metric.name == "proctree.syscall.count"]
    assert [p.attributes["process.executable.name"] for p in found] == ["cc", "ld"]
    for message in messages(encode(subject)):
        for whole in message.resource_metrics:
            (scope,) = whole.scope_metrics
            assert len({metric.name for metric in scope.metrics}) == len(scope.metrics)


def test_no_resource_is_there_twice_in_a_request() -> None:
    """Nor does anything go out under a Resource that nobody gave."""
    (message,) = messages(encode(snapshot()))
    found = [plain(whole.resource.attributes) for whole in message.resource_metrics]
    expected = [dict(OWN), *map(clean, RESOURCES.values())]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_who_says_so() -> None:
    """Scope, version and schema stand with every Resource."""
    for message in messages(encode(snapshot(), max_points=7)):
        for whole in message.resource_metrics:
            (scope,) = whole.scope_metrics
            assert (scope.scope.name, scope.scope.version) == ("proctree-exporter", "1.2")
            assert whole.schema_url == scope.schema_url == SCHEMA_URL


def test_a_request_has_so_many_points_at_most() -> None:
    """All are full but the last; together they are what one would be."""
    whole = encode(snapshot())
    parts = encode(snapshot(), max_points=10)
    assert [request.points for request in parts[:-1]] == [10] * (len(parts) - 1)
    assert sum(request.points for request in parts) == whole[0].points
    assert [request.points for request in parts] == [len(list(points([one]))) for one in parts]
    assert as_prometheus(parts, snapshot()) == as_prometheus(whole, snapshot())


def test_what_never_returns_is_counted_and_has_no_duration() -> None:
    """As in Prometheus: an empty histogram, and no bucket."""
    found = {
        point.metric.name: point
        for point in points(encode(snapshot()))
        if point.attributes.get("proctree.syscall") == "exit_group"
    }
    assert found["proctree.syscall.count"].number == 7
    data = found["proctree.syscall.duration"].data
    assert (data.count, data.sum, list(data.positive.bucket_counts)) == (0, 0.0, [])


@pytest.mark.parametrize("scale", range(4))
def test_each_bucket_of_the_kernel_has_its_index(scale: int) -> None:
    """Alone in a histogram, it begins and ends it."""
    for index in (0, 1, bucket_count(scale) // 2, bucket_count(scale) - 1):
        counts = [0] * bucket_count(scale)
        counts[index] = 3
        one = replace(call("ci", "read"), buckets=counts, sum_ns=7)
        subject = replace(snapshot(), scale=scale, calls=[one])
        (data,) = (p.data for p in points(encode(subject)) if p.number is None)
        assert (data.scale, positive(data)) == (scale, {index + otel_offset(scale): 3})


def test_kinds_of_numbers() -> None:
    """Counters are monotonic and cumulative, what adds up is a sum, what does not is a gauge."""
    for point in points(encode(snapshot(), Shape(by="both"))):
        metric = point.metric
        (twin,) = (twin for twin in BY_PROMETHEUS.values() if twin.name == metric.name)
        kind = metric.WhichOneof("data")
        assert metric.unit == twin.unit
        assert metric.description == twin.metric.help
        assert kind == {"gauge": "gauge", "histogram": "exponential_histogram"}.get(
            twin.instrument, "sum"
        )
        assert (twin.metric.kind == "counter") == (twin.instrument == "counter")
        if kind == "sum":
            assert metric.sum.is_monotonic == (twin.instrument == "counter")
        if kind != "gauge":
            assert getattr(metric, kind).aggregation_temporality == 2  # CUMULATIVE


def test_times() -> None:
    """The reading's, and since when each series has been counted up from 0."""
    subject = snapshot()
    late = replace(call("ci", "write", 1), created_ns=CREATED_NS + 5)
    subject = replace(subject, calls=[*subject.calls[1:], late])
    for point in points(encode(subject)):
        assert point.data.time_unix_nano == subject.time_ns
        start = point.data.start_time_unix_nano
        if point.metric.WhichOneof("data") == "gauge":
            assert start == 0
        elif point.resource == dict(OWN) or point.metric.name == "proctree.syscall.active":
            assert start == subject.started_ns
        elif point.attributes.get("proctree.syscall") == "write":
            assert start == CREATED_NS + 5
        else:
            assert start == CREATED_NS


def test_no_series_begins_after_it_was_read() -> None:
    """Where the clock was set back, its beginning is the reading."""
    subject = replace(snapshot(), time_ns=CREATED_NS - 5)
    for point in points(encode(subject)):
        assert point.data.start_time_unix_nano <= point.data.time_unix_nano == CREATED_NS - 5


def test_hostile_names_arrive_as_valid_text() -> None:
    """In attributes, in Resources and their lists; what is no UTF-8 is U+FFFD."""
    found = [p for p in points(encode(snapshot())) if p.resource.get("k8s.pod.name")]
    assert found
    for point in found:
        assert point.resource == {
            "container.id": "ab" * 32, "container.image.tags": ("1.25", "x\ufffd"),
            "k8s.pod.name": 'web-"0"', "service.instance.id": "ab" * 32,
            "service.name": "w\\eb\n", "team": "a\ufffd",
        }  # fmt: skip
        assert point.attributes["proctree.target"] == 'cgroup:/a"b\\c\nd\ufffd'
        assert labels_of(point, snapshot())["pod"] == 'web-"0"'


def test_label_sets_that_become_one_have_one_resource() -> None:
    """Where names differ only in what is no UTF-8: that of the first, and the sum of both."""
    sets = [only("a\udc80"), only("a\udc81")]
    subject = replace(
        snapshot(), calls=[call(one, "read", 5) for one in sets], trees=[], in_flight=[],
        label_names=("target",),
        resources={one: (("service.instance.id", ascii(one)),) for one in sets},
    )  # fmt: skip
    (found,) = (p for p in points(encode(subject)) if p.metric.name == "proctree.syscall.count")
    assert found.number == 2
    assert found.resource == {"service.instance.id": ascii(sets[0])}


def test_what_resources_tell_is_no_attribute() -> None:
    """Of a pod's points: the target, the call, the error, the state, and nothing else."""
    pods = [p for p in points(encode(snapshot(), Shape(by="both"))) if "k8s.pod.name" in p.resource]
    keys = {key for point in pods for key in point.attributes}
    assert keys == {
        "proctree.target", "proctree.syscall", "proctree.syscall.class", "proctree.thread.state",
        "proctree.process.outcome",
    }  # fmt: skip


def test_a_label_set_without_a_resource_is_an_error() -> None:
    """Numbers go out as somebody's or not at all."""
    without = {labels: one for labels, one in RESOURCES.items() if labels != POD}
    with pytest.raises(KeyError):
        encode(replace(snapshot(), resources=without))


def test_targets_are_told_by_the_exporter() -> None:
    """Whether they are up, with their static labels: there may be no tree to tell it."""
    ups = [p for p in points(encode(snapshot())) if p.metric.name == "proctree.target.up"]
    assert all(p.resource == dict(OWN) for p in ups)
    assert [(p.attributes.get("team"), p.number) for p in ups] == [("a\ufffd", 0), (None, 1)]


@pytest.mark.parametrize("name", ["lost_calls", "lost_events", "dropped_spans", "export_failures"])
def test_our_own_losses_are_told(name: str) -> None:
    """By reason, as in Prometheus."""
    subject = replace(snapshot(), **{name: {"x": 3}})
    (found,) = (p for p in points(encode(subject)) if p.metric.name == f"proctree.exporter.{name}")
    assert (found.attributes, found.number) == ({"proctree.reason": "x"}, 3)

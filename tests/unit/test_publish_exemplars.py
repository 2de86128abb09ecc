"""A bucket points at a call that fell into it, in each format that can say so."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.model.histogram import bucket_count, index_of
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Exemplar, Snapshot
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape
from tests.unit.exposition_readers import SHAPES, from_openmetrics, from_text, render
from tests.unit.metrics_proto import decode
from tests.unit.publish_samples import CREATED_NS, HOSTILE, POD, SCALE, call, only, snapshot

S, MS = 10**9, 10**6
DURATIONS = "proctree_syscall_duration_seconds"
CLASSES = "proctree_syscall_class_duration_seconds"


def exemplar(duration_ns: int, number: int) -> Exemplar:
    """The higher the number, the newer."""
    return Exemplar(duration_ns, CREATED_NS + number, number.to_bytes(16), number.to_bytes(8))


def with_exemplars(labels: LabelSet | str, name: str, durations: Iterable[int]) -> Call:
    """A call whose exemplars are all of its calls, of a bucket the last; newer ones come later."""
    durations = list(durations)
    found = {index_of(d, SCALE): exemplar(d, n) for n, d in enumerate(durations, start=1)}
    return replace(call(labels, name, *durations), exemplars=dict(sorted(found.items())))


def of(*calls: Call) -> Snapshot:
    return replace(snapshot(), calls=list(calls))


Found = dict[tuple[str, str], list[tuple[float, float, Any]]]


def from_lines(body: bytes) -> Found:
    """(metric, call or class) -> [(le, count, exemplar)], as the client library reads them."""
    found: Found = {}
    for family in text_string_to_metric_families(body.decode()):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                name = sample.labels.get("syscall") or sample.labels["class"]
                one = (float(sample.labels["le"]), sample.value, sample.exemplar)
                found.setdefault((family.name, name), []).append(one)
            else:
                assert sample.exemplar is None
    return found


def numbers(exemplars: Iterable[Any]) -> list[int]:
    """Of each its number, by its ids."""
    found = []
    for one in exemplars:
        labels = {pair.name: pair.value for pair in one.label}
        assert labels.keys() == {"trace_id", "span_id"}
        found.append(int(labels["span_id"], 16))
        assert labels == ids(found[-1])
    return found


def ids(number: int) -> dict[str, str]:
    return {"trace_id": f"{number:032x}", "span_id": f"{number:016x}"}


def histograms(body: bytes) -> dict[tuple[str, str], Any]:
    """The same of protobuf, whole."""
    return {
        (family.name, metric.label[-1].value): metric.histogram
        for family in decode(body)
        for metric in family.metric
        if metric.HasField("histogram")
    }


def test_openmetrics() -> None:
    """Behind the number of its bucket: ids, seconds, and when."""
    body = render(Format.OPENMETRICS, None, of(with_exemplars("ci", "read", [1500, 20 * S])))
    lines = [line for line in body.decode().splitlines() if " # " in line]
    assert [line.partition("le=")[2] for line in lines] == [
        '"3.814697265625e-06"} 1 # {trace_id="00000000000000000000000000000001",'
        'span_id="0000000000000001"} 1.5e-06 1700000000.123456790',
        '"+Inf"} 2 # {trace_id="00000000000000000000000000000002",'
        'span_id="0000000000000002"} 20.0 1700000000.123456791',
    ]


def test_the_client_library_reads_them() -> None:
    """Ids, value and time, to the nanosecond; 128 characters at most."""
    found = from_lines(
        render(Format.OPENMETRICS, None, of(with_exemplars(POD, "futex", [7 * MS, 300 * MS])))
    )
    seen = [one for _, _, one in found[DURATIONS, "futex"] if one]
    assert [(one.value, one.labels) for one in seen] == [(0.007, ids(1)), (0.3, ids(2))]
    assert (seen[0].timestamp.sec, seen[0].timestamp.nsec) == divmod(CREATED_NS + 1, S)
    early = replace(
        call("ci", "read", MS), exemplars={index_of(MS, SCALE): Exemplar(MS, S + 5, b"", b"")}
    )
    assert b" 0.001 1.000000005\n" in render(Format.OPENMETRICS, None, of(early))
    assert sum(len(key) + len(value) for key, value in seen[0].labels.items()) <= 128


def test_of_a_classic_bucket_the_newest() -> None:
    """It holds many of the kernel's."""
    durations = [1100 * MS, 1500 * MS, 2000 * MS, 3000 * MS, 1400 * MS]
    subject = of(with_exemplars("ci", "read", durations))
    assert len(subject.calls[0].exemplars) == 5
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    assert [(le, one.labels) for le, _, one in found if one] == [(4.0, ids(5))]
    histogram = histograms(render(Format.PROTOBUF, None, subject))[DURATIONS, "read"]
    filled = [b for b in histogram.bucket if b.HasField("exemplar")]
    assert [(b.upper_bound, numbers([b.exemplar])) for b in filled] == [(4.0, [5])]
    assert (filled[0].exemplar.value, filled[0].exemplar.timestamp.nanos) == (1.4, 123_456_794)


def test_protobuf_names_inf_only_where_it_has_an_exemplar() -> None:
    """Prometheus makes it of the count; the client library of Go does the same."""
    subject = of(
        with_exemplars("ci", "read", [20 * S]), with_exemplars("ci", "write", [S]),
    )  # fmt: skip
    found = histograms(render(Format.PROTOBUF, None, subject))
    read, write = found[DURATIONS, "read"], found[DURATIONS, "write"]
    assert (len(read.bucket), len(write.bucket)) == (14, 13)
    assert (read.bucket[-1].upper_bound, read.bucket[-1].cumulative_count) == (math.inf, 1)
    assert numbers([read.bucket[-1].exemplar]) == [1]


def test_native_histograms_have_a_list() -> None:
    """The ten newest, by time; and none where native histograms are off."""
    durations = [2**n * 1000 for n in (3, 1, 2, 12, 11, 10, 9, 8, 7, 6, 5, 4, 13)]
    subject = of(with_exemplars("ci", "read", durations))
    found = histograms(render(Format.PROTOBUF, None, subject))[DURATIONS, "read"]
    assert numbers(found.exemplars) == list(range(4, 14))
    values = [one.value for one in found.exemplars]
    assert values == [d / S for d in durations[3:]]
    assert all(one.timestamp.seconds == 1_700_000_000 for one in found.exemplars)
    off = histograms(render(Format.PROTOBUF, Shape(native=False), subject))[DURATIONS, "read"]
    assert len(off.exemplars) == 0
    assert any(b.HasField("exemplar") for b in off.bucket)
    only_native = histograms(render(Format.PROTOBUF, Shape(classic=False), subject))
    assert numbers(only_native[DURATIONS, "read"].exemplars) == list(range(4, 14))


def test_classes_carry_the_newest_of_their_calls() -> None:
    """Of each of the kernel's buckets."""
    older = with_exemplars("ci", "read", [5 * MS, 900 * MS])
    newer = replace(
        call("ci", "write", 5 * MS), exemplars={index_of(5 * MS, SCALE): exemplar(5 * MS, 9)}
    )
    found = from_lines(render(Format.OPENMETRICS, Shape(by="class"), of(older, newer)))
    assert [one.labels for _, _, one in found[CLASSES, "file"] if one] == [ids(9), ids(2)]
    protobuf = histograms(render(Format.PROTOBUF, Shape(by="class"), of(older, newer)))
    assert numbers(protobuf[CLASSES, "file"].exemplars) == [2, 9]


def test_equal_label_sets_carry_the_newest_of_both() -> None:
    """As they are summed."""
    subject = of(
        with_exemplars("ci", "read", [MS, 5 * MS]),
        replace(call("ci", "read", MS), exemplars={index_of(MS, SCALE): exemplar(MS, 7)}),
    )
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    assert [one.labels for _, _, one in found if one] == [ids(7), ids(2)]


def test_bounds_of_a_target() -> None:
    """Where a target has its own, its buckets point all the same; without any, +Inf does."""
    subject = of(with_exemplars(only(HOSTILE), "read", [150 * MS, 400 * MS, 3 * S]))
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    assert [(le, one.labels) for le, _, one in found if one] == [
        (0.25, ids(1)), (1.0, ids(2)), (math.inf, ids(3)),
    ]  # fmt: skip
    found = from_lines(render(Format.OPENMETRICS, Shape(classic=False), subject))[DURATIONS, "read"]
    assert [(le, one.labels) for le, _, one in found if one] == [(math.inf, ids(3))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_text_format_knows_none(shape: Shape) -> None:
    """0.0.4 is the same with and without; in OpenMetrics the numbers are."""
    subject = of(with_exemplars(POD, "futex", [7 * MS, 300 * MS, 20 * S]))
    bare = replace(subject, calls=[replace(call, exemplars={}) for call in subject.calls])
    assert render(Format.TEXT, shape, subject) == render(Format.TEXT, shape, bare)
    numbers = from_openmetrics(render(Format.OPENMETRICS, shape, subject))
    assert numbers == from_text(render(Format.TEXT, shape, bare))


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed (apt: prometheus)")
def test_promtool_has_nothing_to_say() -> None:
    """It reads the text format only."""
    body = Exposition(Shape(by="both")).render(
        of(with_exemplars("ci", "read", [7 * MS, 300 * MS])), Format.TEXT
    )
    done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_rounding_puts_outside_is_not_shown() -> None:
    """134,217,728 s and a nanosecond is that number of seconds, as a float: it is not above."""
    one = snapshot()
    bound = index_of(2**27 * S, SCALE)
    targets = [replace(target, bounds=(bound,)) for target in one.targets]
    subject = replace(of(with_exemplars("ci", "read", [2**27 * S + 1])), targets=targets)
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    assert found == [(2.0**27, 0, None), (math.inf, 1, None)]
    subject = replace(of(with_exemplars("ci", "read", [2**27 * S])), targets=targets)
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    assert [one and one.value for _, _, one in found] == [2.0**27, None]


def near(index: int) -> list[int]:
    """Durations at the upper end of a kernel bucket, and just above."""
    low, high = 1, 2**62
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if index_of(middle, SCALE) <= index else (low, middle - 1)
    return [low, low + 1]


DURATION = st.integers(1, 2**62) | st.integers(0, bucket_count(SCALE) - 20).flatmap(
    lambda index: st.sampled_from(near(index))
)


@given(st.lists(DURATION, min_size=1, max_size=20), st.booleans())
def test_an_exemplar_lies_within_its_bucket(durations: list[int], own_bounds: bool) -> None:
    """Above the bucket before, and not above its own, as the numbers are written."""
    subject = of(with_exemplars(HOSTILE if own_bounds else "ci", "read", durations))
    found = from_lines(render(Format.OPENMETRICS, None, subject))[DURATIONS, "read"]
    histogram = histograms(render(Format.PROTOBUF, None, subject))[DURATIONS, "read"]
    below, in_lines = -math.inf, []
    for le, count, one in found:
        if one:
            assert below < one.value <= le
            assert count > 0
            in_lines.append((le, one.value))
        below = le
    in_protobuf = [
        (b.upper_bound, b.exemplar.value) for b in histogram.bucket if b.HasField("exemplar")
    ]
    assert in_protobuf == in_lines
    if max(durations) < 2**50:  # longer ones may be rounded out of their bucket
        filled = sum(b > a for a, b in pairwise([0, *(count for _, count, _ in found)]))
        assert len(in_lines) == filled

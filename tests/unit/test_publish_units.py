"""The small parts that formats are made of: bounds, spans, varints, the process's own."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.histogram import bucket_count, upper_bound
from exporter.publish.buckets import bounds_of, distribution, go_float, native
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.process import process_families, process_registry
from exporter.publish.protobuf import protobuf, varint, zigzag
from exporter.publish.shape import Shape
from tests.unit.metrics_proto import decode
from tests.unit.publish_samples import buckets, call, snapshot


def prometheus_bound(index: int, schema: int) -> float:
    """The upper bound of native bucket `index`, as Prometheus' documentation defines it."""
    return math.ldexp(2.0 ** ((index % (1 << schema)) / (1 << schema)), index >> schema)


def spread(spans: list[tuple[int, int]], deltas: list[int]) -> dict[int, int]:
    """Native index -> count, read back as Prometheus reads spans and deltas."""
    found, at, number = {}, 0, 0
    left = iter(deltas)
    for offset, length in spans:
        at += offset
        for _ in range(length):
            number += next(left)
            found[at] = number
            at += 1
    assert next(left, None) is None
    return found


@pytest.mark.parametrize("scale", range(4))
def test_native_index_names_the_upper_bound(scale: int) -> None:
    """One more than OpenTelemetry's: the bound of its index is the bound of our bucket."""
    for index in range(bucket_count(scale)):
        counts = [0] * bucket_count(scale)
        counts[index] = 7
        ((at, number),) = spread(*native(counts, scale)).items()
        assert number == 7
        assert prometheus_bound(at, scale) == pytest.approx(upper_bound(index, scale), rel=1e-15)
    assert spread(*native(buckets(10**9, scale=scale), scale)) == {0: 1}  # 1 s ends bucket 0
    assert spread(*native(buckets(10**9 + 1, scale=scale), scale)) == {1: 1}


@given(st.data(), st.integers(0, 3))
def test_spans_and_deltas_lose_nothing(data: st.DataObject, scale: int) -> None:
    """Read back, they are the nonzero buckets, shifted."""
    size = bucket_count(scale)
    filled = data.draw(st.dictionaries(st.integers(0, size - 1), st.integers(1, 2**62)))
    counts = [filled.get(index, 0) for index in range(size)]
    shift = 1 - (30 << scale)
    assert spread(*native(counts, scale)) == {i + shift: n for i, n in filled.items()}


@given(st.lists(st.integers(1, 2**40), max_size=60), st.integers(0, 3))
def test_classic_buckets_count_what_is_at_or_below(durations_ns: list[int], scale: int) -> None:
    """Each is compared with the durations themselves, exactly: a power of four is a ratio."""
    bounds = bounds_of(None, scale)
    made = distribution(buckets(*durations_ns, scale=scale), sum(durations_ns), bounds, scale)
    for seconds, count in zip(bounds.seconds, made.cumulative, strict=False):
        up, down = seconds.as_integer_ratio()
        assert count == sum(d * down <= up * 10**9 for d in durations_ns)
    assert made.cumulative[-1] == len(durations_ns)


def test_bounds_can_be_the_ends_and_none() -> None:
    """The last kernel bucket, the first, and no classic bucket at all."""
    counts = buckets(1, 10**9)
    last = bucket_count(2) - 1
    assert distribution(counts, 0, bounds_of((0, last), 2), 2).cumulative == [1, 2, 2]
    assert distribution(counts, 0, bounds_of((), 2), 2).cumulative == [2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"), (16.0, "16.0"), (0.25, "0.25"), (2.0**-10, "0.0009765625"),
        (2.0**-20, "9.5367431640625e-07"), (524288.0, "524288.0"), (2.0**20, "1.048576e+06"),
        (2.0**34, "1.7179869184e+10"), (1e6, "1e+06"), (2.0**-30, "9.313225746154785e-10"),
    ],
)  # fmt: skip
def test_le_is_written_as_prometheus_writes_it(value: float, text: str) -> None:
    """strconv.FormatFloat(f, 'g', -1, 64), with .0 where it would look like an integer."""
    assert go_float(value) == text


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_varints_are_read_by_protobuf(unsigned: int, signed: int) -> None:
    """Counts up to 2**64 - 1 and deltas of either sign survive."""
    shift = 4 << 3 | 2
    histogram = b"\x08" + varint(unsigned) + b"\x68" + zigzag(signed)
    metric = b"\x3a" + varint(len(histogram)) + histogram
    family = bytes([shift]) + varint(len(metric)) + metric
    (read,) = decode(varint(len(family)) + family)
    assert read.metric[0].histogram.sample_count == unsigned
    assert list(read.metric[0].histogram.positive_delta) == [signed]


@pytest.mark.parametrize("native_too", [True, False])
def test_native_histograms_go_out_as_the_shape_says(native_too: bool) -> None:
    """Schema is the scale, the zero bucket is empty; an empty histogram is native all the same."""
    body = Exposition(Shape(native=native_too), process=False).render(snapshot(), Format.PROTOBUF)
    (family,) = (f for f in decode(body) if f.name == "proctree_syscall_duration_seconds")
    for metric in family.metric:
        histogram = metric.histogram
        assert histogram.HasField("schema") is native_too
        assert (histogram.zero_threshold > 0) is native_too
        assert len(histogram.bucket) in (2, 13)
        if native_too:
            assert (histogram.schema, histogram.zero_count) == (2, 0)
            spans = [(span.offset, span.length) for span in histogram.positive_span]
            found = spread(spans, list(histogram.positive_delta))
            assert sum(found.values()) == histogram.sample_count


def test_native_only_keeps_the_classic_buckets_away() -> None:
    """classic: false leaves the count, the sum and, in text, +Inf."""
    exposition = Exposition(Shape(classic=False), process=False)
    body = exposition.render(snapshot(), Format.PROTOBUF)
    assert not any(m.histogram.bucket for f in decode(body) for m in f.metric)
    text = exposition.render(snapshot(), Format.TEXT).decode()
    assert 'le="+Inf"' in text
    assert 'le="1.0"' not in text


def test_process_metrics_are_the_librarys_own() -> None:
    """Names, kinds, help and labels as its registry has them; in all formats, no name twice."""
    from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    theirs: dict[str, Any] = {}
    for metric in registry.collect():
        suffix = "_total" if metric.type == "counter" else ""
        labels = set(metric.samples[0].labels)
        theirs[metric.name + suffix] = (metric.type, metric.documentation, labels)
    ours = {f.metric.name: (f.metric.kind, f.metric.help, set(f.labels))
            for f in process_families(process_registry())}  # fmt: skip
    assert ours == theirs
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "python_info"} <= set(
        ours
    )
    for format_ in Format:
        assert b"process_open_fds" in Exposition().render(snapshot(), format_)


def test_nothing_is_kept_of_series_that_are_gone() -> None:
    """A thousand renderings of ever new names leave no names behind."""
    import gc

    exposition = Exposition(process=False)

    def rendered(number: int) -> None:
        subject = snapshot()
        object.__setattr__(subject, "calls", [call(f"gone-{number}", "read", 5)])
        for format_ in Format:
            exposition.render(subject, format_)

    for number in range(20):
        rendered(number)
    gc.collect()
    held = [o for o in gc.get_objects() if isinstance(o, dict | list | tuple)
            and any(isinstance(x, str) and x.startswith("gone-") for x in o)]  # fmt: skip
    assert held == []


def test_protobuf_of_nothing_is_nothing() -> None:
    """A family without points is no message."""
    assert list(protobuf([], True)) == []

"""One finished workload, every format the real exporter speaks: the same numbers in all of them."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from tests.caller import caller
from tests.harness import Exporter, exporter
from tests.unit import metrics_proto

TEXT = "text/plain;version=0.0.4"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)
CALLS = 40_009
Numbers = dict[tuple[str, frozenset[tuple[str, str]]], float]

# Names of targets are hostile input: quotes, backslashes, braces, what is not ASCII.
NAME = 'it "\\{}, \u00e9\u2603'


@pytest.fixture(scope="module")
def running() -> Iterator[Exporter]:
    """An exporter whose only target has made its calls, has failed some, and has ended."""
    script = (
        "import os, sys\n"
        "sys.stdin.readline()\n"
        f"for _ in range({CALLS}): os.getppid()\n"
        "for _ in range(101):\n"
        "    try: os.rmdir('/nonexistent')\n"
        "    except OSError: pass\n"
    )
    command = [sys.executable, "-S", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        name = NAME.replace("\\", "\\\\").replace('"', '\\"')
        config = f'[{{name: "{name}", pid: {process.pid}}}]'
        try:
            with exporter(config) as ready:
                assert process.stdin
                process.stdin.write("go\n")
                process.stdin.close()
                assert process.wait() == 0
                yield ready
        finally:
            process.kill()


def no_twins(pairs: list[tuple[tuple[str, frozenset[tuple[str, str]]], float]]) -> Numbers:
    """About the target only: what the exporter says of itself changes while we look."""
    numbers = dict(pairs)
    assert len(numbers) == len(pairs), "a label set is exposed twice"
    return {key: number for key, number in numbers.items() if dict(key[1]).get("target")}


def from_families(families: Iterable[Metric]) -> Numbers:
    samples = [sample for family in families for sample in family.samples]
    return no_twins([((s.name, frozenset(s.labels.items())), s.value) for s in samples])


def from_text(body: bytes) -> Numbers:
    return from_families(plain(body.decode()))


def from_openmetrics(body: bytes) -> Numbers:
    return from_families(openmetrics(body.decode()))  # type: ignore[no-untyped-call]


def from_protobuf(body: bytes) -> Numbers:
    pairs = []
    for family in metrics_proto.decode(body):
        for metric in family.metric:
            labels = frozenset((pair.name, pair.value) for pair in metric.label)
            if metric.HasField("histogram"):
                histogram = metric.histogram
                count = histogram.sample_count
                pairs.append(((f"{family.name}_count", labels), count))
                pairs.append(((f"{family.name}_sum", labels), histogram.sample_sum))
                bounds = [(repr(b.upper_bound), b.cumulative_count) for b in histogram.bucket]
                bounds = [(le, n) for le, n in bounds if le != "inf"] + [("+Inf", count)]
                for le, number in bounds:
                    key = (f"{family.name}_bucket", labels | {("le", le)})
                    pairs.append((key, number))
            else:
                value = metric.counter if metric.HasField("counter") else metric.gauge
                pairs.append(((family.name, labels), value.value))
    return no_twins(pairs)


def same_bounds(numbers: Numbers) -> Numbers:
    """1e-06, 1.0E-6 and 0.000001 are one bound."""

    def plain_le(labels: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        return frozenset((k, repr(float(v)) if k == "le" else v) for k, v in labels)

    changed = {(name, plain_le(labels)): number for (name, labels), number in numbers.items()}
    assert len(changed) == len(numbers)
    return changed


def of(numbers: Numbers, name: str, **labels: str) -> float:
    return numbers[name, frozenset({"target": NAME, **labels}.items())]


def test_all_formats_say_the_same(running: Exporter) -> None:
    """Text, OpenMetrics and protobuf, each read by somebody else's parser."""
    text = same_bounds(from_text(running.get(Accept=TEXT)))
    assert of(text, "proctree_syscalls_total", syscall="getppid") == CALLS
    assert of(text, "proctree_syscall_duration_seconds_count", syscall="getppid") == CALLS
    errors = of(text, "proctree_syscall_errors_total", syscall="rmdir", errno="ENOENT")
    assert errors == 101
    assert of(text, "proctree_process_exits_total", outcome="ok") == 1
    assert of(text, "proctree_target_up") == 0
    assert same_bounds(from_openmetrics(running.get(Accept=OPENMETRICS))) == text
    assert same_bounds(from_protobuf(running.get(Accept=PROTOBUF))) == text


def test_without_a_wish_it_is_text(running: Exporter) -> None:
    """No Accept header, and one that nobody understands."""
    expected = from_text(running.get(Accept=TEXT))
    assert from_text(running.get()) == expected
    assert from_text(running.get(Accept="image/png")) == expected


@pytest.mark.parametrize(
    ("accept", "read"),
    [(TEXT, from_text), (OPENMETRICS, from_openmetrics), (PROTOBUF, from_protobuf)],
    ids=["text", "openmetrics", "protobuf"],
)
def test_gzip_says_the_same(
    accept: str, read: Callable[[bytes], Numbers], running: Exporter
) -> None:
    """Compressed where it is asked for, one whole gzip member, and smaller."""
    body = running.get(Accept=accept)
    packed = running.get(Accept=accept, **{"Accept-Encoding": "gzip"})
    assert len(packed) < len(body)
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    unpacked = unpacker.decompress(packed)
    assert unpacker.eof
    assert unpacker.unused_data == b""
    assert gzip.decompress(packed) == unpacked
    assert read(unpacked) == read(body)


def test_the_histograms_parts_agree(running: Exporter) -> None:
    """+Inf is _count is the number of calls; native buckets add up to the same number."""
    numbers = same_bounds(from_text(running.get()))
    for (name, labels), count in numbers.items():
        if name == "proctree_syscall_duration_seconds_count":
            infinite = ("proctree_syscall_duration_seconds_bucket", labels | {("le", "inf")})
            assert numbers[infinite] == count
            assert numbers["proctree_syscalls_total", labels] >= count
    histograms = 0
    for family in metrics_proto.decode(running.get(Accept=PROTOBUF)):
        for metric in family.metric:
            if metric.HasField("histogram"):
                histograms += 1
                assert metric.histogram.schema == 2
                at = total = 0
                for delta in metric.histogram.positive_delta:
                    at += delta
                    assert at >= 0
                    total += at
                assert total + metric.histogram.zero_count == metric.histogram.sample_count
                spans = sum(span.length for span in metric.histogram.positive_span)
                assert spans == len(metric.histogram.positive_delta)
    counts = [key for key in numbers if key[0] == "proctree_syscall_duration_seconds_count"]
    assert histograms == len(counts) > 0


def test_openmetrics_ends_with_eof_and_text_does_not(running: Exporter) -> None:
    """And neither has `_created` lines or timestamps."""
    body = running.get(Accept=OPENMETRICS)
    assert body.endswith(b"\n# EOF\n")
    assert body.count(b"# EOF") == 1
    text = running.get(Accept=TEXT)
    assert b"# EOF" not in text
    assert b"_created" not in text
    for family in openmetrics(body.decode()):  # type: ignore[no-untyped-call]
        assert all(sample.timestamp is None for sample in family.samples)


def test_scrapes_are_sorted(running: Exporter) -> None:
    """So that two can be compared: series of a family are in one order, and so are families."""
    families = [family.name for family in plain(running.get().decode())]
    assert families == sorted(families)
    first, second = (
        [line.rpartition(b" ")[0] for line in running.get().splitlines()] for _ in range(2)
    )
    assert first == second


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not on PATH: use make test")
@pytest.mark.parametrize("by", ["syscall", "class", "both"])
def test_promtool_has_nothing_to_say(by: str, tmp_path: Path) -> None:
    """`promtool check metrics` on the real output, with every kind of metric in it."""
    with caller() as it:
        config = (
            f"{{targets: [{{name: it, pid: {it.pid}}}, {{name: gone, pid: {2**22 - 1}}}],"
            f" self_cost: true, histograms: {{by: {by}}}}}"
        )
        with exporter(config) as running:
            it.call(CALLS)
            body = running.get()
        assert b"proctree_exporter_bpf_runs_total" in body
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        from_text(body)

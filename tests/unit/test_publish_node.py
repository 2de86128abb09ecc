"""A node full of pods: under the ceiling in text and in protobuf, and nothing is folded."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from exporter.kernel.source import Reading
from exporter.kernel.syscalls import OTHER
from exporter.model import typical
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts
from exporter.model.classes import class_of
from exporter.model.histogram import bucket_count
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Snapshot
from exporter.model.target import Target
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape, costs
from tests.unit.exposition_readers import from_protobuf, from_text, native_series, render
from tests.unit.metrics_proto import decode
from tests.unit.publish_samples import text_series

LIMIT = 20_000
PODS = 110
SHAPE = Shape(by="both", classic="class")
#: 2**-16 s to 2**2 s by 64; and 2**-16 s to 2**4 s by 16.
FOUR = tuple(2.0**k for k in (-16, -10, -4, 2))
SIX = tuple(2.0**k for k in range(-16, 5, 4))
#: Calls of these only seldom come once a service runs: another program's, or of its start.
START = {"ipc", "security", "system"}


def labels(number: int) -> LabelSet:
    return (
        ("target", "pods"), ("namespace", f"team-{number % 7}"),
        ("pod", f"web-5c9d7f8b6d-{number:05}"), ("container", "app"), ("workload", f"web-{number}"),
    )  # fmt: skip


def node(
    bounds: tuple[float, ...], pods: int, limit: int, left_out: frozenset[str] = frozenset()
) -> tuple[Accounts, Snapshot]:
    """So many pods as model/typical.py has them, with durations, in a snapshot."""
    target = Target("pods", "kubernetes", buckets=bounds)
    made = Accounts(limit, costs(SHAPE), scale=2, keep_gone_ns=300,
                    tree_labels=("namespace", "pod", "container", "workload"))  # fmt: skip
    made.configure([target], 1)
    for slot in range(1, pods + 1):
        made.open(slot, target, labels(slot), TreeInfo(f"web-{slot}"), 1)
    exposed = made.build(_timed(typical.reading(pods), left_out), {"pods": pods}, 10**18)
    return made, Snapshot(
        10**18, 10**18, 2, exposed.calls, exposed.in_flight, exposed.trees, exposed.targets, {},
        exposed.label_names, series_limit=limit, series_folded=made.folded,
    )  # fmt: skip


def _timed(reading: Reading, left_out: frozenset[str]) -> Reading:
    """The same calls, 1,000 times each, with durations about 30 us."""
    random_ = random.Random(1)
    lines = []
    for _ in range(97):
        buckets = [0] * bucket_count(2)
        for _ in range(1000):
            buckets[min(max(int(random_.gauss(60, 8)), 0), len(buckets) - 1)] += 1
        lines.append(buckets)
    numbers = {raw.code for raw in reading.calls}
    names = dict(zip(dict.fromkeys(raw.code for raw in reading.calls), typical.CALLS, strict=True))
    assert len(names) == len(numbers)
    calls = [
        raw._replace(sums=raw.sums._replace(
            untimed=0, sum_ns=30_000_000, buckets=lines[n % len(lines)]))
        for n, raw in enumerate(reading.calls)
        if class_of(names[raw.code]) not in left_out
    ]  # fmt: skip
    return Reading(calls, reading.threads, {}, {}, [], {}, reading.monotonic_ns)


def test_the_typical_container_is_one() -> None:
    """60 calls, of nearly all classes; a dozen errors of them; four in flight."""
    assert len(set(typical.CALLS)) == 60
    classes = Counter(map(class_of, typical.CALLS))
    assert OTHER not in classes
    assert len(classes) == 11
    assert {call for call, _ in typical.ERRORS} <= set(typical.CALLS)
    assert set(typical.IN_FLIGHT) <= set(typical.CALLS)


def test_110_pods_with_60_calls_each_stay_under_20000_series() -> None:
    """Counts and errors by call, classic histograms by class, native ones by call: all of them."""
    made, snapshot = node(FOUR, PODS, LIMIT)
    text = render(Format.TEXT, SHAPE, snapshot)
    protobuf = render(Format.PROTOBUF, SHAPE, snapshot)
    names = Counter(line.partition("{")[0] for line in text_series(text.decode()))
    assert names["proctree_syscalls_total"] == PODS * 60
    assert names["proctree_syscall_errors_total"] == PODS * 12
    assert names["proctree_syscall_class_duration_seconds_bucket"] == PODS * 11 * 5
    assert names["proctree_syscalls_in_flight"] == PODS * 4
    assert "proctree_syscall_duration_seconds_count" not in names
    families = {family.name: family for family in decode(protobuf)}
    by_call = families["proctree_syscall_duration_seconds"].metric
    assert len(by_call) == PODS * 60
    assert all(m.histogram.HasField("schema") and not m.histogram.bucket for m in by_call)
    by_class = families["proctree_syscall_class_duration_seconds"].metric
    assert all(m.histogram.HasField("schema") and len(m.histogram.bucket) == 4 for m in by_class)
    numbers = from_text(text)
    assert numbers["proctree_exporter_series_folded", ()] == 0
    assert not any(dict(ls).get("syscall") == OTHER for _, ls in numbers)
    about_targets = sum("target=" in line for line in text_series(text.decode()))
    assert numbers["proctree_exporter_series", ()] == about_targets == 18_592
    native = [ls for _, ls in native_series(protobuf) if "target" in dict(ls)]
    assert len(native) == 17_932
    assert made.used.most <= LIMIT
    assert len(names) + len(numbers) < LIMIT, "the exporter's own included"
    assert from_protobuf(protobuf).keys() >= numbers.keys()


def test_six_buckets_hold_them_while_few_calls_are_seldom() -> None:
    """For 110 pods of eight classes; of all eleven, about a hundred pods fit."""
    _, snapshot = node(SIX, PODS, LIMIT, left_out=frozenset(START))
    text = render(Format.TEXT, SHAPE, snapshot)
    numbers = from_text(text)
    assert numbers["proctree_exporter_series_folded", ()] == 0
    assert not any(dict(ls).get("syscall") == OTHER for _, ls in numbers)
    assert numbers["proctree_exporter_series", ()] < LIMIT
    _, snapshot = node(SIX, PODS, LIMIT)
    numbers = from_text(render(Format.TEXT, SHAPE, snapshot))
    assert numbers["proctree_exporter_series_folded", ()] > 0
    assert numbers["proctree_exporter_series", ()] <= LIMIT


@pytest.mark.parametrize("pods", [1, 50, 400, 1500])
@pytest.mark.parametrize("limit", [1000, LIMIT])
def test_the_ceiling_is_hard_and_sums_are_exact(pods: int, limit: int) -> None:
    """However many there are: no call and no error is missing, and no label set is there twice."""
    made, snapshot = node(FOUR, pods, limit)
    text = render(Format.TEXT, SHAPE, snapshot)
    numbers = from_text(text)
    totals: Counter[str] = Counter()
    for (name, _), value in numbers.items():
        totals[name] += int(value)
    assert totals["proctree_syscalls_total"] == pods * 60 * 1000
    assert totals["proctree_syscall_class_duration_seconds_count"] == pods * 60 * 1000
    assert totals["proctree_syscall_errors_total"] == pods * 12
    assert totals["proctree_syscalls_in_flight"] == pods * 4
    assert numbers["proctree_exporter_series", ()] <= limit
    native = native_series(render(Format.PROTOBUF, SHAPE, snapshot))
    assert sum("target" in dict(ls) for _, ls in native) <= limit
    assert made.used.most <= limit

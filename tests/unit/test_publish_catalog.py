"""What is in the catalog is exposed, when it should be, and costs what it is said to cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from exporter.model.admission import Price
from exporter.model.snapshot import MapFill, ProgramCost, Snapshot
from exporter.model.target import Target
from exporter.publish.catalog import BY_NAME, CATALOG
from exporter.publish.families import READERS
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape, costs
from tests.unit.exposition_readers import (
    CLEAN,
    SHAPES,
    from_openmetrics,
    from_protobuf,
    from_text,
    native_series,
    render,
)
from tests.unit.publish_samples import call, snapshot, text_series


def test_every_metric_of_the_catalog_has_a_reader() -> None:
    """The catalog is the list: nothing is exposed that it lacks, nothing it has is forgotten."""
    assert set(READERS) == set(BY_NAME)
    assert len(BY_NAME) == len(CATALOG)
    full = replace(snapshot(), dropped_spans={"queue_full": 0}, export_failures={"refused": 0})
    body = render(Format.TEXT, Shape(by="both"), full).decode()
    shown = {line.split()[2] for line in body.splitlines() if line.startswith("# TYPE")}
    assert shown == set(BY_NAME)


def test_all_states_and_outcomes_are_always_there() -> None:
    """For a target that is down as well: 4 states, 3 outcomes, all 0."""
    numbers = from_text(render(Format.TEXT))
    states = {dict(ls)["state"] for name, ls in numbers if name == "proctree_tree_threads"
              and dict(ls)["target"] == CLEAN}  # fmt: skip
    outcomes = {dict(ls)["outcome"] for name, ls in numbers
                if name == "proctree_process_exits_total"
                and dict(ls)["target"] == CLEAN}  # fmt: skip
    assert states == {"running", "sleeping", "uninterruptible", "stopped"}
    assert outcomes == {"ok", "error", "signal"}


def test_what_is_empty_is_not_shown() -> None:
    """No reasons, no calls in flight, no self cost: no family, not even its head."""
    bare = Snapshot(1, 1, 2, [], [], [], [], {})
    body = render(Format.TEXT, None, bare).decode()
    for name in ("lost_calls", "in_flight", "bpf_run", "map_entries", "target_up", "pod_metadata"):
        assert name not in body
    running = replace(bare, programs=[ProgramCost("x", 5, 1)], maps=[MapFill("m", 0, 1)])
    assert "bpf_runs_total" in render(Format.TEXT, None, running).decode()


def samples(shape: Shape, subject: Snapshot) -> Price:
    """Lines of text, and series as Prometheus takes them from protobuf."""
    text = len(list(text_series(render(Format.TEXT, shape, subject).decode())))
    return Price(text, len(native_series(render(Format.PROTOBUF, shape, subject))))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_price_of_a_call_is_what_it_adds(shape: Shape) -> None:
    """Exactly so many samples more of text, and series more of protobuf, for the model's limit."""
    for tree, state in zip(snapshot().trees, snapshot().targets, strict=True):
        alive = replace(tree, began_ns=1)
        buckets = None if state.bounds is None else tuple(map(float, state.bounds))
        target = Target(state.name, "pid", buckets=buckets)
        prices = costs(shape).of(target)
        flight = replace(snapshot().in_flight[0], labels=tree.labels)
        errors = (("EIO", 1), ("ENOENT", 1))
        none = replace(snapshot(), calls=[], in_flight=[], trees=[], targets=[])
        bare = replace(none, targets=[state])
        quiet = replace(bare, trees=[alive])
        one = replace(quiet, calls=[call(tree.labels, "read", 5)])
        more = replace(one, calls=[*one.calls, call(tree.labels, "write", 5)])
        failed = replace(one, calls=[call(tree.labels, "read", 5, errors=errors)])
        stuck = replace(one, in_flight=[flight])
        all_ = [samples(shape, subject) for subject in (none, bare, quiet, one, more)]
        steps = [after - before for before, after in pairwise(all_)]
        assert steps[0] == costs(shape).target
        assert steps[1] == prices.own
        assert steps[2] == prices.call + prices.class_
        assert steps[3] == prices.call, "of the same class"
        assert samples(shape, failed) - all_[3] == prices.error * 2
        assert samples(shape, stuck) - all_[3] == prices.in_flight
        assert costs(shape).reserved(target) == (
            steps[0] + steps[1] + steps[2] + prices.error + prices.in_flight
        )


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_series_is_how_many_samples_there_are(shape: Shape, format_: Format) -> None:
    """proctree_exporter_series is the number of lines about targets in text, whatever is asked."""
    read = {Format.TEXT: from_text, Format.OPENMETRICS: from_openmetrics,
            Format.PROTOBUF: from_protobuf}[format_]  # fmt: skip
    doubled = replace(snapshot(), calls=[*snapshot().calls, *snapshot().calls])
    none = replace(snapshot(), trees=[], targets=[], calls=[], in_flight=[])
    for subject in (snapshot(), doubled, none):
        lines = list(text_series(render(Format.TEXT, shape, subject).decode()))
        about_targets = sum('target="' in line for line in lines)
        assert (
            read(render(format_, shape, subject))["proctree_exporter_series", ()] == about_targets
        )


def test_classes_sum_their_calls() -> None:
    """By class there are the same numbers, only added up."""
    numbers = from_text(render(Format.TEXT, Shape(by="both")))
    for target in ("ci", CLEAN):
        for suffix in ("_count", "_sum"):
            by_call, by_class = (
                sum(v for (n, ls), v in numbers.items()
                    if n == name + suffix and dict(ls)["target"] == target)
                for name in ("proctree_syscall_duration_seconds",
                             "proctree_syscall_class_duration_seconds")
            )  # fmt: skip
            assert by_call == pytest.approx(by_class, rel=1e-12)

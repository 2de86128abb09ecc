"""What is in the catalog is exposed, when it should be, and costs what it is said to cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.model.snapshot import MapFill, ProgramCost, Snapshot
from exporter.publish.catalog import BY_NAME, CATALOG
from exporter.publish.families import READERS
from exporter.publish.negotiate import Format
from exporter.publish.shape import (
    SAMPLES_PER_ERROR,
    SAMPLES_PER_IN_FLIGHT,
    SAMPLES_PER_TARGET,
    Shape,
    samples_per_call,
    samples_per_class,
)
from tests.unit.exposition_readers import (
    CLEAN,
    SHAPES,
    from_openmetrics,
    from_protobuf,
    from_text,
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
    bare = Snapshot(1, 1, 2, [], [], [], {})
    body = render(Format.TEXT, None, bare).decode()
    for name in ("lost_calls", "in_flight", "bpf_run", "map_entries", "target_up"):
        assert name not in body
    running = replace(bare, programs=[ProgramCost("x", 5, 1)], maps=[MapFill("m", 0, 1)])
    assert "bpf_runs_total" in render(Format.TEXT, None, running).decode()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_price_of_a_call_is_what_it_adds(shape: Shape) -> None:
    """samples_per_* is exactly the number of lines more, for the limit of the model."""

    def samples(subject: Snapshot) -> int:
        return len(list(text_series(render(Format.TEXT, shape, subject).decode())))

    for state in snapshot().targets:
        without = replace(snapshot(), calls=[], in_flight=[], targets=[state])
        base = samples(without)
        errors = (("EIO", 1), ("ENOENT", 1))
        plain = samples_per_call(shape, state.bounds) + samples_per_class(shape, state.bounds)
        one = replace(without, calls=[call(state.name, "read", 5)])
        failed = replace(without, calls=[call(state.name, "read", 5, errors=errors)])
        stuck = replace(one, in_flight=[replace(snapshot().in_flight[0], target=state.name)])
        assert samples(one) - base == plain
        assert samples(failed) - base == plain + 2 * SAMPLES_PER_ERROR
        assert samples(stuck) - base == plain + SAMPLES_PER_IN_FLIGHT
        assert base - samples(replace(without, targets=[])) == SAMPLES_PER_TARGET


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_series_is_how_many_samples_there_are(shape: Shape, format_: Format) -> None:
    """proctree_exporter_series is the number of lines about targets in text, whatever is asked."""
    read = {Format.TEXT: from_text, Format.OPENMETRICS: from_openmetrics,
            Format.PROTOBUF: from_protobuf}[format_]  # fmt: skip
    doubled = replace(snapshot(), calls=[*snapshot().calls, *snapshot().calls])
    for subject in (snapshot(), doubled, replace(snapshot(), targets=[], calls=[], in_flight=[])):
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

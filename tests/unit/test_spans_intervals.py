"""Spans of intervals tell what the counters tell, to the last call."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.kernel.syscalls import OTHER
from exporter.model.histogram import index_of, upper_bound
from exporter.model.labels import LabelSet
from exporter.model.spans.intervals import MAX_EVENTS
from exporter.model.spans.span import Attributes
from tests.unit.interval_samples import (
    BEGIN,
    CI,
    DB,
    MAKE,
    SCALE,
    S,
    call,
    events,
    intervals,
    one,
    snapshot,
)


def test_a_span_tells_what_came_since_the_one_before() -> None:
    """From snapshot to snapshot, the first from its series' admission; each a trace of its own."""
    made = intervals()
    first = one(made.spans(snapshot(10, call(CI, "read", 1000, 2000, untimed=1, failed=2))))
    second = one(
        made.spans(snapshot(40, call(CI, "read", 1000, 2000, 5_000_000_000, untimed=1, failed=2)))
    )
    assert (first.start_ns, first.end_ns) == (BEGIN - 5 * S, BEGIN + 10 * S)
    assert (second.start_ns, second.end_ns) == (BEGIN + 10 * S, BEGIN + 40 * S)
    assert first[:2] != second[:2]
    assert first.trace_id != second.trace_id
    assert first.span_id != second.span_id
    assert {len(first.trace_id), len(second.trace_id)} == {16}
    assert (len(first.span_id), first.parent_id, first.slot) == (8, b"", 0)
    assert first.name == "ci"
    assert events(first) == {
        "read": {
            "proctree.syscall": "read", "proctree.count": 3, "proctree.errors": 2,
            "proctree.duration.sum": 3e-06,
            "proctree.duration.p50": upper_bound(index_of(1000, SCALE), SCALE),
            "proctree.duration.p99": upper_bound(index_of(2000, SCALE), SCALE),
        }
    }  # fmt: skip
    assert events(second)["read"]["proctree.count"] == 1
    assert events(second)["read"]["proctree.duration.sum"] == 5.0
    assert events(second)["read"]["proctree.errors"] == 0
    assert [event.time_ns for event in second.events] == [second.end_ns]


def test_whose_a_span_is() -> None:
    """One for each label set of a target that asks; it carries the target and the program."""
    made = intervals()
    calls = [call(CI, "read", 5), call(MAKE, "read", 5, 6), call(DB, "write", 7)]
    sets = (CI, MAKE, DB)
    found = dict(made.spans(snapshot(1, *calls, sets=sets)))
    attributes: dict[LabelSet, Attributes] = {
        CI: (("proctree.target", "ci"),),
        MAKE: (("proctree.target", "ci"), ("process.executable.name", "make")),
        DB: (("proctree.target", "db"), ("process.executable.path", "/usr/bin/db")),
    }
    assert {labels: span.attributes for labels, span in found.items()} == attributes
    assert [span.name for span in found.values()] == ["ci", "ci", "db"]
    found = dict(made.spans(snapshot(2, *calls, sets=sets, off=("ci",))))
    assert found.keys() == {DB}


def test_calls_without_a_duration_have_no_quantiles() -> None:
    """They count, and they fail."""
    span = one(intervals().spans(snapshot(1, call(CI, "exit_group", untimed=3, failed=1))))
    assert events(span)["exit_group"] == {
        "proctree.syscall": "exit_group", "proctree.count": 3, "proctree.errors": 1,
        "proctree.duration.sum": 0.0,
    }  # fmt: skip


def test_nothing_is_told_of_calls_that_were_not_made() -> None:
    """No event; the span of those who live all the same; none of those who are gone."""
    made = intervals()
    reads = call(CI, "read", 5)
    made.spans(snapshot(1, reads, call(CI, "write", 5)))
    span = one(made.spans(snapshot(2, reads, call(CI, "write", 5, 5))))
    assert events(span).keys() == {"write"}
    writes = call(CI, "write", 5, 5)
    assert one(made.spans(snapshot(3, reads, writes))).events == ()
    assert made.spans(snapshot(4, reads, writes, processes=0)) == []
    span = one(made.spans(snapshot(5, reads, call(CI, "write", 5, 5, 5), processes=0)))
    assert (span.start_ns, span.end_ns) == (BEGIN + 4 * S, BEGIN + 5 * S)


def test_an_error_is_told_though_its_call_was_told_before() -> None:
    """A snapshot has read the errors before the calls."""
    made = intervals()
    made.spans(snapshot(1, call(CI, "read", 5)))
    span = one(made.spans(snapshot(2, call(CI, "read", 5, failed=1))))
    assert (events(span)["read"]["proctree.count"], events(span)["read"]["proctree.errors"]) == (
        0,
        1,
    )


@pytest.mark.parametrize("number", [99, 100, 101, 250])
@pytest.mark.parametrize("other", [False, True])
def test_those_with_most_time_come_first(number: int, other: bool) -> None:
    """A hundred events at most; the rest, and what is `other` already, is one of them, the last."""
    calls = [call(CI, f"call{n}", 1000 + n, failed=1) for n in range(number)]
    calls += [call(CI, OTHER, 10**6, 5)] * other
    span = one(intervals().spans(snapshot(1, *calls)))
    found = events(span)
    shown = min(number, MAX_EVENTS - (number + other > MAX_EVENTS or other))
    names = [f"call{n}" for n in range(number)][::-1][:shown]
    assert [*found] == [*names, *[OTHER] * (number > shown or other)]
    if OTHER in found:
        rest = number - shown
        assert found[OTHER]["proctree.count"] == rest + 2 * other
        assert found[OTHER]["proctree.errors"] == rest
        expected = sum(1000 + n for n in range(rest)) + (10**6 + 5) * other
        assert found[OTHER]["proctree.duration.sum"] == expected / 1e9


@given(st.lists(st.integers(1, 10**11), min_size=1, max_size=300))
@example([10] * 98 + [1000] * 2)
@example([10] * 99 + [1000] * 1)
def test_quantiles_are_bounds(durations: list[int]) -> None:
    """Half of the calls, and 99 of 100, took at most so long, and the next ones hardly less."""
    span = one(intervals().spans(snapshot(1, call(CI, "read", *durations))))
    found = events(span)["read"]
    ranked = sorted(durations)
    for name, part in (("p50", 50), ("p99", 99)):
        exact = ranked[-(-len(ranked) * part // 100) - 1]
        assert found[f"proctree.duration.{name}"] == upper_bound(index_of(exact, SCALE), SCALE)


def test_a_label_set_that_comes_again_begins_anew() -> None:
    """Whether a snapshot was without it, or it was dropped and admitted in between."""
    made = intervals()
    made.spans(snapshot(1, call(CI, "read", 5, 6)))
    made.spans(snapshot(2, sets=()))
    created = BEGIN + 2 * S + 5
    span = one(made.spans(snapshot(3, call(CI, "read", 5), created=created)))
    assert (span.start_ns, events(span)["read"]["proctree.count"]) == (created, 1)
    span = one(made.spans(snapshot(4, call(CI, "read", 5, 6, 7), created=created + S)))
    assert events(span)["read"]["proctree.count"] == 3
    assert span.start_ns == created + S, "the snapshot before did not have it yet"
    span = one(made.spans(snapshot(5, call(CI, "read", 5), created=created + S)))
    assert events(span)["read"]["proctree.count"] == 1, "a number that fell began anew"
    span = one(made.spans(snapshot(6, call(CI, "read", 500, 600, 700), created=created + S)))
    assert events(span)["read"]["proctree.count"] == 3, "so did one whose buckets fell"
    made.spans(snapshot(7, sets=()))
    span = one(made.spans(snapshot(8, call(CI, "read", 500, 600, 700, 800), created=created + S)))
    assert events(span)["read"]["proctree.count"] == 4, "what is not exposed is forgotten"


def test_spans_that_were_off_for_a_while_leave_nothing_out() -> None:
    """A reload takes them away and brings them back: the next one tells of all that time."""
    made = intervals()
    made.spans(snapshot(1, call(CI, "read", 5)))
    assert made.spans(snapshot(2, call(CI, "read", 5, 5), off=("ci",))) == []
    span = one(made.spans(snapshot(3, call(CI, "read", 5, 5, 5))))
    assert (span.start_ns, events(span)["read"]["proctree.count"]) == (BEGIN + 1 * S, 2)
    fresh = intervals()
    fresh.spans(snapshot(1, call(CI, "read", 5), off=("ci",)))
    span = one(fresh.spans(snapshot(2, call(CI, "read", 5, 5))))
    assert (span.start_ns, events(span)["read"]["proctree.count"]) == (BEGIN - 5 * S, 2)


@pytest.mark.parametrize("step", [-3600 * S, 3600 * S, 50 * 365 * 86400 * S])
def test_a_clock_that_is_set_makes_no_span_longer(step: int) -> None:
    """Nor does one end before it begins: the first one, one on the way, a new one."""
    made = intervals()
    first = one(made.spans(snapshot(10, call(CI, "read", 5), step=step)))
    assert first.end_ns == BEGIN + 10 * S + step
    assert first.start_ns == max(BEGIN - 5 * S, first.end_ns - 15 * S) if step > 0 else first.end_ns
    made = intervals()
    made.spans(snapshot(10, call(CI, "read", 5)))
    second = dict(made.spans(snapshot(40, call(CI, "read", 5, 5), sets=(CI, DB), step=step)))
    assert (second[CI].start_ns, second[CI].end_ns) == (BEGIN + 10 * S, BEGIN + 40 * S)
    assert 0 <= second[DB].end_ns - second[DB].start_ns <= 30 * S
    third = one(made.spans(snapshot(70, call(CI, "read", 5, 5), step=step)))
    assert (third.start_ns, third.end_ns) == (BEGIN + 40 * S + step, BEGIN + 70 * S + step)
    again = one(made.spans(snapshot(100, call(CI, "read", 5), created=BEGIN + 75 * S, step=step)))
    assert 0 <= again.end_ns - again.start_ns <= 30 * S

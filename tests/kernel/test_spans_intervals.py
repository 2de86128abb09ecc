"""Spans of the aggregate map, metrics by OTLP and exemplars: one story told by all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.caller import caller
from tests.harness import workload
from tests.kernel.spans import traced
from tests.kernel.trees import until

Build = Callable[..., Path]


def test_their_sums_are_the_counters(build: Build) -> None:
    """Counts, errors and times of all intervals, the last one too, to the last call."""
    asked = {"name": "it", "spans": {"intervals": True}}
    with (
        workload(build("short_lives"), "997", "31", "13") as tree,
        traced({**asked, "pid": tree.pid}, otlp={"interval": "200ms"}) as it,
    ):
        tree.expect("ready")
        tree.go()
        tree.expect("done")
        scrape = until(it.running, lambda _: it.number() >= 3)
        spans = it.end()
    assert spans
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for span in spans:
        assert (span.name, span.attributes["proctree.target"]) == ("it", "it")
        assert len(span.events) <= 100
        for event in span.events:
            name = event.attributes["proctree.syscall"]
            assert event.name == name
            counts[name] += event.attributes["proctree.count"]
            errors[name] += event.attributes["proctree.errors"]
    assert scrape.calls("it", "getppid") == 997 * 13
    # What it is waiting in has no end yet, and nothing else goes on: these are its last numbers.
    assert +counts == scrape.all("proctree_syscalls_total", target="it")
    assert sum(errors.values()) == sum(
        scrape.all("proctree_syscall_errors_total", target="it").values()
    )
    assert len({span.trace for span in spans}) == len(spans) > 3
    assert all(span.start_ns < span.end_ns for span in spans)


def test_exemplars_lead_to_spans(build: Build) -> None:
    """Those that a scraper of OpenMetrics sees are ids of spans that were sent, of that call, as
    long as the span, in the bucket that they stand at."""
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    asked: dict[str, Any] = {"syscalls": ["getppid"], "max_per_second": 1_000_000}
    with caller() as it, traced({"name": "it", "pid": it.pid, "spans": asked}) as exported:
        it.call(1009)
        until(exported.running, lambda s: s.calls("it", "getppid") == 1009)

        def seen() -> list[re.Match[str]]:
            text = exported.running.get(**accept).decode()
            return list(re.finditer(
                r'duration_seconds_bucket\{target="it",syscall="getppid",le="([^"]+)"\} \d+'
                r' # \{trace_id="([0-9a-f]{32})",span_id="([0-9a-f]{16})"\} (\S+) \S+', text
            ))  # fmt: skip

        while not (found := seen()):
            pass
        assert "# {" not in exported.running.get().decode()  # plain text has no exemplars
        spans = {(span.trace.hex(), span.id.hex()): span for span in exported.end()}
    assert len(spans) == 1009
    for match in found:
        bound, trace, id_, value = match.groups()
        span = spans[trace, id_]
        assert round(float(value) * 1e9) == span.end_ns - span.start_ns
        assert float(value) <= float(bound)

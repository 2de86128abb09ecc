"""Single calls as spans: which, below what, with what; and what a storm of them costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.caller import caller
from tests.harness import workload
from tests.kernel.spans import ERROR, traced
from tests.kernel.trees import until

Build = Callable[..., Path]
REFUSED = "proctree_exporter_dropped_spans_total"


@pytest.fixture
def story(build: Build) -> Path:
    return build("story", "-static")


def target(pid: int, **spans: Any) -> dict[str, Any]:
    return {"name": "it", "pid": pid, "spans": spans}


def test_as_many_slow_ones_as_there_were(story: Path) -> None:
    """Of 17 sleeps of 20 ms and 23 of 1 ms: 17, each as long as it was."""
    steps = ["wait", *["sleep=20"] * 17, *["sleep=1"] * 23, "fork", "exit=0"]
    with (
        workload(story, *steps) as tree,
        traced(target(tree.pid, slower_than="20ms", syscalls=["clock_nanosleep"])) as it,
    ):
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        scrape = it.running.scrape()
        spans = it.end()
    assert scrape.calls("it", "clock_nanosleep") == 17 + 23
    assert Counter(span.name for span in spans) == {"clock_nanosleep": 17}
    for span in spans:
        assert span.end_ns - span.start_ns >= 20_000_000
        assert span.status[0] == 0
        assert span.attributes == {
            "process.pid": tree.pid, "thread.id": tree.pid, "proctree.target": "it",
            "proctree.syscall": "clock_nanosleep",
        }  # fmt: skip
        assert span.parent == b""
    assert len({span.trace for span in spans}) == 1


def test_errors_that_are_asked_for(story: Path, tmp_path: Path) -> None:
    """31 times EBADF, 7 times ENOENT, which is asked for: 7, with the paths as they were given."""
    paths = [str(tmp_path / f"no {n}") for n in range(7)]
    steps = ["wait", "bad=31", *(f"missing={path}" for path in paths)]
    with (
        workload(story, *steps) as tree,
        traced(target(tree.pid, processes=True, errors=["ENOENT"])) as it,
    ):
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        scrape = it.running.scrape()
        spans = it.end()
    assert scrape.errors("it", "close") == {"EBADF": 31}
    calls = [span for span in spans if span.is_call]
    (process,) = [span for span in spans if not span.is_call]
    assert [span.attributes["file.path"] for span in calls] == paths
    for span in calls:
        assert (span.name, span.attributes["error.type"]) == ("openat", "ENOENT")
        assert span.status == (ERROR, "ENOENT")
        assert (span.parent, span.trace) == (process.id, process.trace)
        assert process.start_ns <= span.start_ns <= span.end_ns <= process.end_ns


def test_every_call_that_is_named(story: Path, tmp_path: Path) -> None:
    """With nothing but names: each; a descriptor is told as the file that it is open at."""
    file = tmp_path / "file"
    steps = ["wait", *[f"sync={file}"] * 13]
    with (
        workload(story, *steps) as tree,
        traced(target(tree.pid, syscalls=["fsync", "openat"])) as it,
    ):
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        spans = it.end()
    found = Counter((span.name, span.attributes["file.path"]) for span in spans)
    assert found == {("openat", str(file)): 13, ("fsync", str(file)): 13}


def test_a_thread(story: Path) -> None:
    """A call says which thread made it."""
    with (
        workload(story, "wait", "thread=5", "sleep=1") as tree,
        traced(target(tree.pid, syscalls=["clock_nanosleep"])) as it,
    ):
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        spans = it.end()
    threads = Counter(span.attributes["thread.id"] for span in spans)
    assert threads.pop(tree.pid) == 1
    assert list(threads.values()) == [5]
    assert {span.attributes["process.pid"] for span in spans} == {tree.pid}


def test_a_span_is_as_long_as_was_counted() -> None:
    """To the nanosecond: so that it is in the bucket which it is an exemplar of."""
    asked = {"syscalls": ["getppid"], "max_per_second": 1_000_000}
    with caller() as it, traced(target(it.pid, **asked)) as trace:
        it.call(1009)
        scrape = until(trace.running, lambda s: s.calls("it", "getppid") == 1009)
        counted_s = scrape.value(
            "proctree_syscall_duration_seconds_sum", target="it", syscall="getppid"
        )
        spans = trace.end()
    assert len(spans) == 1009
    assert sum(span.end_ns - span.start_ns for span in spans) == round(counted_s * 10**9)


def test_a_storm_takes_as_many_tokens_as_there_are(build: Build) -> None:
    """Of a million calls that match, those beyond `max_per_second` are refused in the kernel, and
    each is counted: as a call, and as a span that is not."""
    asked = {"syscalls": ["getppid"], "max_per_second": 100}
    with (
        workload(build("million")) as tree,
        traced(target(tree.pid, **asked)) as it,
    ):
        tree.expect("ready")
        tree.go()
        tree.expect("done")
        scrape = until(it.running, lambda s: s.calls("it", "getppid") == 1_000_000)
        refused = scrape.value(REFUSED, reason="token_bucket")
        assert scrape.lost() == 0
        spans = it.end()
    assert refused + len(spans) == 1_000_000
    assert 100 <= len(spans) < 100_000


def test_a_sample(build: Build) -> None:
    """Of a million calls about as many as were asked for; and each of them with `sample: 1`."""
    asked = {"sample": 0.01, "max_per_second": 1_000_000}
    with (
        workload(build("million")) as tree,
        traced(target(tree.pid, **asked)) as it,
    ):
        tree.expect("ready")
        tree.go()
        tree.expect("done")
        scrape = it.running.scrape()
        dropped = scrape.all(REFUSED), scrape.all("proctree_exporter_lost_events_total")
        assert not any(number for numbers in dropped for number in numbers.values()), dropped
        spans = [span for span in it.end() if span.name == "getppid"]
    assert scrape.calls("it", "getppid") == 1_000_000
    assert 9_400 < len(spans) < 10_600  # 6 standard deviations

"""Each process of a tree is a span: who started whom, what ran, how it ended."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import workload
from tests.kernel.spans import ERROR, Span, traced
from tests.kernel.trees import forks, until

Build = Callable[..., Path]
PROCESSES = {"processes": True}


def target(pid: int, **spans: Any) -> dict[str, Any]:
    return {"name": "it", "pid": pid, "spans": {**PROCESSES, **spans}}


@pytest.fixture
def story(build: Build) -> str:
    return str(build("story", "-static"))


def by_pid(spans: list[Span]) -> dict[int, Span]:
    found = {span.pid: span for span in spans}
    assert len(found) == len(spans)
    return found


def test_a_story(story: str) -> None:
    """A root that was there before, its child, and the child's program, with all that they did."""
    began_ns = time.time_ns()
    steps = ["wait", "fork", "setpgid", "exec", story, "exit=3"]
    with workload(Path(story), *steps) as tree, traced(target(tree.pid)) as it:
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        spans = it.end()
    root = by_pid(spans)[tree.pid]
    (child,) = [span for span in spans if span is not root]
    assert root.name == child.name == Path(story).name
    assert (root.parent, child.parent) == (b"", root.id)
    assert root.trace == child.trace
    assert (len(root.trace), len(root.id)) == (16, 8)
    assert child.attributes["process.parent_pid"] == tree.pid
    assert child.attributes["process.executable.path"] == story
    assert child.attributes["proctree.target"] == "it"
    assert "process.command_args" not in child.attributes
    assert [event.name for event in root.events] == []
    assert [event.name for event in child.events] == ["setpgid", "exec"]
    assert (root.attributes["process.exit.code"], root.status[0]) == (0, 0)
    assert (child.attributes["process.exit.code"], child.status) == (3, (ERROR, "exit 3"))
    assert "process.creation.time" in root.attributes
    assert "process.creation.time" not in child.attributes
    assert began_ns <= root.start_ns <= child.start_ns <= child.end_ns <= root.end_ns
    assert root.end_ns <= time.time_ns()
    assert all(child.start_ns <= event.time_ns <= child.end_ns for event in child.events)


def test_sessions(story: str) -> None:
    """What has one of its own says so; a call that fails is no such event."""
    steps = ["wait", "fork", "setsid", "fork", "setpgid", "exit=0"]
    with workload(Path(story), *steps) as tree, traced(target(tree.pid)) as it:
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        spans = it.end()
    events = {
        span.attributes["process.parent_pid"]: [event.name for event in span.events]
        for span in spans
    }
    middle = next(span.pid for span in spans if span.attributes["process.parent_pid"] == tree.pid)
    assert events == {os.getpid(): [], tree.pid: ["setsid"], middle: ["setpgid"]}


def test_five_thousand_lives(build: Build) -> None:
    """As many spans as processes, each below the one that made it, in one trace."""
    with (
        workload(build("short_lives"), "5000", "64", "13") as tree,
        traced(target(tree.pid)) as it,
    ):
        tree.expect("ready")
        tree.go()
        tree.expect("done")
        scrape = it.running.scrape()
        assert scrape.calls("it", "getppid") == 5000 * 13
        assert forks(scrape) == 5000
        losses = scrape.all("proctree_exporter_lost_events_total")
        assert not any(losses.values()), losses
        spans = it.end()
    (root,) = [span for span in spans if span.pid == tree.pid]  # others may share a PID
    assert len(spans) == 5001
    assert {span.parent for span in spans} == {b"", root.id}
    assert {span.trace for span in spans} == {root.trace}
    assert len({span.id for span in spans}) == 5001
    assert root.attributes["proctree.continued"] is True  # it lives


def test_ends(story: str) -> None:
    """By a status or a signal, each as often as it was."""
    ends = {"exit=0": 7, "exit=1": 5, "exit=255": 3, "kill=9": 11, "kill=15": 2}
    children = [end for end, number in ends.items() for _ in range(number)]
    lines = "".join(f"'{story}' {end}\n" for end in children)
    script = ["sh", "-c", f"read x\n{lines}exit 0\n"]
    with workload(Path("/usr/bin/env"), *script) as tree, traced(target(tree.pid)) as it:
        tree.go()
        assert tree.end() == 0
        spans = [span for span in it.end() if span.pid != tree.pid]
    how = Counter(
        f"kill={getattr(signal, span.attributes['proctree.exit.signal']).value}"
        if "proctree.exit.signal" in span.attributes
        else f"exit={span.attributes['process.exit.code']}"
        for span in spans
    )
    assert how == ends
    assert {span.status[0] for span in spans if span.attributes.get("process.exit.code") == 0} == {
        0
    }
    assert sum(span.status[0] == ERROR for span in spans) == 5 + 3 + 11 + 2


def test_arguments_where_they_are_asked_for(story: str) -> None:
    """Without what is secret, and as valid text."""
    odd = os.fsdecode(b"/\xff\xfe")
    arguments = ["--password=hunter2", odd, "-x"]
    steps = ["wait", "fork", "exec", story, *arguments]
    asked = target(0, command_args=True)
    with workload(Path(story), *steps) as tree, traced({**asked, "pid": tree.pid}) as it:
        tree.expect("ready")
        tree.go()
        assert tree.end() != 99
        spans = it.end()
    (child,) = [span for span in spans if span.pid != tree.pid]
    program, secret, text, last = child.attributes["process.command_args"]
    assert program == story
    assert secret.startswith("--password=") and "hunter2" not in secret
    assert text == "/\ufffd\ufffd"
    assert last == "-x"
    (exec_event,) = child.events
    assert exec_event.attributes["process.command_args"] == [program, secret, text, last]


def test_a_trace_that_the_environment_names(story: str) -> None:
    """The process and those below it go there; one whose caller does not sample has no spans."""
    trace, above = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    script = "\n".join([
        "read x",
        f"TRACEPARENT=00-{trace}-{above}-01 '{story}' fork exec '{story}' 1",
        f"TRACEPARENT=00-{trace}-{above}-00 '{story}' fork exec '{story}' 1",
        f"TRACEPARENT=00-{trace}-{above}-1 '{story}' 1",
        f"TRACEPARENT=00-{'0' * 32}-{above}-01 '{story}' 1",
        "exit 0",
    ])  # fmt: skip
    with (
        workload(Path("/usr/bin/env"), "sh", "-c", script) as tree,
        traced(target(tree.pid, traceparent=True)) as it,
    ):
        tree.go()
        assert tree.end() == 0
        refused = "proctree_exporter_refused_total"
        until(it.running, lambda s: s.value(refused, reason="traceparent_invalid") >= 2)
        scrape = it.running.scrape()
        spans = it.end()
    joined = [span for span in spans if span.trace.hex() == trace]
    own = [span for span in spans if span not in joined]
    assert len(joined) == 2
    (first,) = [span for span in joined if span.parent.hex() == above]
    (second,) = [span for span in joined if span is not first]
    assert second.parent == first.id
    assert len(own) == 3  # the shell, and the two whose values were no good
    assert len({span.trace for span in own}) == 1
    assert scrape.value(refused, reason="traceparent_invalid") == 2

"""The life of a tree as a collector was told it: every process, every end, every slow call."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness import build, exporter, workload
from tests.integration import collector as otelcol
from tests.integration.collector import Collector, collector
from tests.integration.otlp_json import Span
from tests.kernel.spans import config
from tests.kernel.trees import ended, execs, exits, forks

pytestmark = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")

PATIENT = {"shutdown_timeout": "30s"}  # the last spans are sent at the end


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def story(programs: Path) -> str:
    return str(build("story", programs, "-static"))


def target(pid: int, **spans: Any) -> dict[str, Any]:
    return {"name": "it", "pid": pid, "spans": {"processes": True, **spans}}


def endpoint(backend: Collector, protocol: str) -> tuple[str, dict[str, Any]]:
    url = backend.grpc if protocol == "grpc" else backend.http
    return url, {**PATIENT, "protocol": protocol}


def pid_of(span: Span) -> int:
    pid = span.attributes["process.pid"]
    assert isinstance(pid, int)
    return pid


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_short_lives(protocol: str, programs: Path, tmp_path: Path) -> None:
    """As many spans as processes; each id once; all below the root, in one trace, without links."""
    lives = build("short_lives", programs)
    with collector(tmp_path) as backend:
        url, otlp = endpoint(backend, protocol)
        with workload(lives, "2003", "31", "13") as tree:
            tree.expect("ready")
            with exporter(config(url, target(tree.pid), otlp=otlp)) as running:
                tree.go()
                tree.expect("done")
                scrape = running.scrape()
                assert running.stop() == 0
    spans = backend.spans()
    assert (forks(scrape), scrape.calls("it", "getppid")) == (2003, 2003 * 13)
    assert exits(scrape) == ended(ok=2003)
    assert len(spans) == len({span.span_id for span in spans}) == 2004
    (root,) = [span for span in spans if pid_of(span) == tree.pid]
    children = [span for span in spans if span is not root]
    assert {(span.trace_id, span.parent_id) for span in children} == {(root.trace_id, root.span_id)}
    assert root.parent_id == b""
    assert {(span.kind, span.status, span.dropped, len(span.links)) for span in spans} == {
        ("internal", "unset", 0, 0)
    }
    assert {span.attributes["process.exit.code"] for span in children} == {0}
    assert all(root.start_ns <= s.start_ns <= s.end_ns <= root.end_ns for s in children)
    assert {span.origin.resource["service.name"] for span in spans} == {"it"}
    assert not any(scrape.all("proctree_exporter_export_failures_total").values())


def test_how_each_ended_and_what_was_slow(story: str, tmp_path: Path) -> None:
    """Exits, signals and execs as they were made; below each process its slow calls: as many as the
    histogram has beyond that bound."""
    ends = {"exit=0": 7, "exit=3": 5, "kill=9": 3, "kill=15": 2}
    naps = "sleep=40 sleep=1 sleep=40 sleep=1"
    lines = [f"'{story}' {naps} {end}" for end, number in ends.items() for _ in range(number)]
    script = "\n".join(["read x", *lines, "exit 0"])
    slow = target(0, slower_than="15625us", syscalls=["clock_nanosleep"])
    with (
        collector(tmp_path) as backend,
        workload(Path("/usr/bin/env"), "sh", "-c", script) as tree,
        exporter(config(backend.http, {**slow, "pid": tree.pid}, otlp=PATIENT)) as running,
    ):
        tree.go()
        assert tree.end() == 0
        scrape = running.scrape()
        assert running.stop() == 0
    everyone = sum(ends.values())
    assert exits(scrape) == ended(ok=7 + 1, error=5, signal=3 + 2)
    assert (forks(scrape), execs(scrape)) == (everyone, everyone)
    assert scrape.calls("it", "clock_nanosleep") == 4 * everyone
    bound = {"target": "it", "syscall": "clock_nanosleep", "le": "0.015625"}
    quick = scrape.value("proctree_syscall_duration_seconds_bucket", **bound)
    spans = backend.spans()
    calls = [span for span in spans if "proctree.syscall" in span.attributes]
    (root,) = [span for span in spans if not span.parent_id]
    processes = {span.span_id: span for span in spans if span not in (*calls, root)}
    assert pid_of(root) == tree.pid
    assert len(processes) == len(spans) - len(calls) - 1 == everyone
    assert Counter(how(span) for span in processes.values()) == ends
    failed = [span for span in processes.values() if span.status == "error"]
    assert len(failed) == 5 + 3 + 2
    assert {tuple(event.name for event in span.events) for span in processes.values()} == {
        ("exec",)
    }
    assert {span.name for span in processes.values()} == {Path(story).name}
    assert {span.parent_id for span in processes.values()} == {root.span_id}
    assert len(calls) == 4 * everyone - quick
    assert Counter(span.parent_id for span in calls) >= Counter(dict.fromkeys(processes, 2))
    for span in calls:
        process = processes[span.parent_id]
        assert (pid_of(span), span.trace_id) == (pid_of(process), root.trace_id)
        assert span.end_ns - span.start_ns >= 15_625_000
        assert process.start_ns <= span.start_ns <= span.end_ns <= process.end_ns
    assert not any(span.links for span in spans)


def how(span: Span) -> str:
    name = span.attributes.get("proctree.exit.signal")
    if name:
        return f"kill={getattr(signal, str(name)).value}"
    return f"exit={span.attributes['process.exit.code']}"


def test_names_and_arguments_of_any_bytes(story: str, programs: Path, tmp_path: Path) -> None:
    """Paths, names and 4 KiB of arguments that are no text, JSON or terminal's: whole batches of
    valid UTF-8, and one span for each process."""
    nasty = bytes(byte for byte in range(1, 256) if byte != ord("/"))
    place = programs / os.fsdecode(nasty[:127]) / os.fsdecode(nasty[127:])
    place.parent.mkdir(parents=True)
    place.hardlink_to(story)
    odd = os.fsencode(place)
    sets = [
        [odd, b"1"],
        [odd, b"1", b"/" + nasty],
        [odd, b"1", b"/" + b"\xf0\x9f\x90" * 1400],  # bees without their last byte
        [odd, b"1", *[b"/\xff"] * 2000],
        [odd, b"1", *[b"/"] * 3000],
        [odd, b"1", b"/\xed\xa0\x80" * 1500, b"/\xc3"],
        [odd, b"1", b"missing=/\xff\x00/"[:10] + b"\xfe" * 4000],
    ]
    asked = target(0, command_args=True, errors=["ENOENT", "ENAMETOOLONG"])
    with (
        collector(tmp_path) as backend,
        workload(Path("/usr/bin/env"), "python3", "-S", "-c", FORKER) as tree,
        exporter(config(backend.http, {**asked, "pid": tree.pid}, otlp=PATIENT)) as running,
    ):
        tree.expect("ready")
        assert tree.process.stdin
        for arguments in sets:
            tree.process.stdin.write(b"\0".join(arguments).hex() + "\n")
            tree.process.stdin.flush()
            assert tree.expect("ended") == ["0"]
        scrape = running.scrape()
        assert running.stop() == 0
        assert "level=error" not in running.log
    failures = scrape.all("proctree_exporter_export_failures_total")
    assert not any(failures.values()), failures
    spans = backend.spans()  # raises where something is no UTF-8
    calls = [span for span in spans if "proctree.syscall" in span.attributes]
    children = [s for s in spans if s not in calls and pid_of(s) != tree.pid]
    assert len(children) == len(sets) == forks(scrape)
    readable = nasty[127:].decode(errors="replace")
    assert {span.attributes["process.executable.path"] for span in children} == {
        odd.decode(errors="replace")
    }
    assert {span.name for span in children} == {readable}
    found = [span.attributes["process.command_args"] for span in children]
    for arguments, listed in zip(sets, found, strict=True):
        assert isinstance(listed, list)
        assert listed[0] == odd.decode(errors="replace")
        assert listed[1] == "1"
        assert len(listed) <= len(arguments) + 1
    assert found[1] == [odd.decode(errors="replace"), "1", "/" + nasty.decode(errors="replace")]
    (missing,) = calls
    assert missing.attributes["error.type"] == "ENAMETOOLONG"
    assert str(missing.attributes["file.path"]).startswith("/\ufffd")


#: Executes in a child what a line has in hexadecimal, NULs between.
FORKER = """
import os, sys
print("ready", flush=True)
for line in sys.stdin:
    arguments = bytes.fromhex(line).split(b"\\0")
    child = os.fork()
    if not child:
        os.execv(arguments[0], arguments)
    print("ended", os.waitpid(child, 0)[1], flush=True)
"""

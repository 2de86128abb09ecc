"""Short trees and sudden ends: what was told of them becomes spans, however soon they are gone."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.caller import caller
from tests.harness import PATIENCE_S, build, exporter, workload
from tests.kernel.cgroup_tree import cgroup, version_2
from tests.kernel.spans import config, traced
from tests.kernel.trees import until
from tests.unit.otlp_server import deaf

TREES, CALLS, SLEEPERS = 61, 13, 307
EVERY = {"processes": True, "syscalls": ["getppid"], "max_per_second": 1_000_000}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("story", tmp_path_factory.mktemp("programs"), "-static")


def test_cgroups_that_are_gone_at_once(story: Path) -> None:
    """Each is a tree with two processes and a trace, though nobody had asked for its name."""
    top = version_2() / f"proctree-gone-{os.getpid()}.slice"
    target = {"name": "it", "cgroup": f"/{top.name}/*", "spans": EVERY}
    with cgroup(top), traced(target) as it:
        for number in range(TREES):
            live_and_die(top / str(number), story)
        scrape = it.running.scrape()
        spans = it.end()
    assert sum(scrape.all("proctree_process_exits_total", target="it").values()) == 2 * TREES
    calls = [span for span in spans if span.is_call]
    processes = [span for span in spans if not span.is_call]
    assert (len(calls), len(processes)) == (TREES * CALLS, TREES * 2)
    assert len({span.trace for span in processes}) == TREES
    assert sum(span.attributes.get("process.exit.code") == 3 for span in processes) == TREES


def live_and_die(place: Path, story: Path) -> None:
    place.mkdir()
    pid = os.fork()
    if not pid:
        (place / "cgroup.procs").write_text(str(os.getpid()))
        os.execv(story, [str(story), str(CALLS), "fork", "exit=3"])
    os.waitpid(pid, 0)
    place.rmdir()


def test_the_end_comes_while_nothing_happens() -> None:
    """What is open then is sent, within the default time: nobody sleeps over it."""
    with caller() as it, traced({"name": "it", "pid": it.pid, "spans": EVERY}) as exported:
        (span,) = exported.end()
    assert (span.pid, span.attributes["proctree.continued"]) == (it.pid, True)


def test_an_end_without_time() -> None:
    """It comes all the same, and the last word is how many spans were not sent: all that lived."""
    script = f"for i in $(seq {SLEEPERS}); do sleep 1000 & done; read x"
    with deaf() as (port, _), workload(Path("/bin/sh"), "-c", script) as tree:
        target = {"name": "it", "pid": tree.pid, "spans": EVERY}
        text = config(f"http://127.0.0.1:{port}", target, otlp={"shutdown_timeout": "1ms"})
        with exporter(text) as running:
            until(running, lambda s: s.value("proctree_tree_processes", target="it") > SLEEPERS)
            running.process.terminate()
            assert running.process.wait(PATIENCE_S) == 0
            told = re.findall(r"\d+ spans could not be sent.*", running.log)
            assert "Traceback" not in running.log
    (line,) = told
    number = SLEEPERS + 1
    assert line.startswith(f"{number} spans could not be sent before the end")
    assert f"lost in all: unsent {number}" in line

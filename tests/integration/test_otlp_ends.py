"""Short trees and sudden ends: what was told of them becomes spans, however soon they are gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.caller import caller
from tests.harness import build
from tests.kernel.cgroup_tree import cgroup, version_2
from tests.kernel.spans import traced

TREES, CALLS = 61, 13
EVERY = {"processes": True, "syscalls": ["getppid"], "max_per_second": 1_000_000}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("story", tmp_path_factory.mktemp("programs"), "-static")


def test_cgroups_that_are_gone_at_once(story: Path) -> None:
    """Each is a tree with two processes and a trace, though nobody had asked for its name."""
    top = version_2() / f"proctree-gone-{os.getpid()}.slice"
    target = {"name": "it", "cgroup": f"/{top.name}/*", "spans": EVERY}
    with cgroup(top), traced(target, otlp={"shutdown_timeout": "30s"}) as it:
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

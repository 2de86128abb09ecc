"""A cgroup that vanishes is a metric and a line in the log, not the end of anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.kernel.cgroupfs import Cgroups
from tests.caller import Caller, caller, until
from tests.harness import Scrape, exporter


@contextmanager
def cgroup() -> Iterator[Path]:
    """A cgroup of our own, v2 where there is one."""
    (first, *_) = Cgroups(Path("/sys/fs/cgroup"), Path("/proc")).hierarchies
    path = first.root / f"proctree-lifecycle-{os.getpid()}"
    path.mkdir()
    try:
        yield path
    finally:
        if path.exists():
            path.rmdir()


def enter(path: Path, it: Caller) -> None:
    (path / "cgroup.procs").write_text(str(it.pid))


def up(scrape: Scrape) -> float:
    return scrape.samples["proctree_target_up", frozenset({("target", "it")})]


def complaints(log: str) -> list[str]:
    return [line for line in log.splitlines() if "level=info" not in line]


def test_a_cgroup_that_vanishes_is_a_metric_and_a_line() -> None:
    """proctree_target_up 0 and one line in the log; its counters stay; a new one counts on."""
    with cgroup() as path, exporter(f"[{{name: it, cgroup: {path}}}]") as running:
        assert up(running.scrape()) == 0
        with caller() as it:
            enter(path, it)
            until(lambda: up(running.scrape()) == 1, "it is followed")
            it.call(1009)
        until(lambda: up(running.scrape()) == 0, "its only process has ended")
        until(lambda: _removed(path), "the cgroup can be removed")
        until(lambda: complaints(running.log), "the log says so")
        scrape = running.scrape()
        assert up(scrape) == 0
        assert scrape.value("proctree_target_trees", target="it") == 0
        assert scrape.calls("it", "getppid") == 1009
        path.mkdir()
        with caller() as it:
            until(lambda: running.scrape().value("proctree_target_trees", target="it"), "found")
            enter(path, it)
            until(lambda: up(running.scrape()) == 1, "it is followed again")
            it.call(2003)
            assert running.scrape().calls("it", "getppid") == 3012
        (line,) = complaints(running.log)
        assert "target it" in line
        assert "cgroup" in line
        until(lambda: _removed(path), "the cgroup can be removed")


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except OSError:
        return False
    return True

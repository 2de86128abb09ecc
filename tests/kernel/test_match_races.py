"""What begins, forks and ends while a sync goes on is followed: nothing falls between what the
kernel decides and what user space finds."""

from __future__ import annotations

from pathlib import Path

from tests.harness import Workload
from tests.kernel.programs import Build, config, copy, counted, finish, programs, waiting
from tests.kernel.trees import paused_exporter

ORPHAN = ("wait", "orphan")


def leave_orphan(process: Workload) -> None:
    """Returns when the parent has ended and is no zombie, either."""
    process.go()
    process.expect("ready")
    assert process.process.wait() == 0


def test_a_child_of_what_the_kernel_found(build: Build, tmp_path: Path) -> None:
    """A program that fits begins once the hooks are there, makes a child that executes another, and
    ends before processes are listed: only the kernel knew why the child is followed."""
    with programs(build) as folder:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        words = config({"name": "it", "match": {"exe": str(it)}})
        with paused_exporter(words, "attached", tmp_path) as (running, resume):
            with waiting(it, "11", "orphan", "13", "exec", other, "wait", "17") as process:
                resume()
                finish(process)
            assert counted(running.scrape()) == {"it": 11 + 13 + 17}


def test_a_child_of_what_was_found(build: Build, tmp_path: Path) -> None:
    """A process that fits is found, makes a child that executes another, and ends before the
    kernel is told: an edge leads from the child to it."""
    with programs(build) as folder:
        steps, it, other = folder / "steps", str(copy(folder, "it")), str(copy(folder, "other"))
        words = config({"name": "it", "match": {"exe": it}})
        with (
            waiting(steps, "fork", "exec", it, *ORPHAN, "exec", other, "wait", "17") as process,
            paused_exporter(words, "found", tmp_path) as (running, resume),
        ):
            leave_orphan(process)
            resume()
            finish(process)
            assert counted(running.scrape()) == {"it": 17}


def test_a_child_of_an_excluded_one(build: Build, tmp_path: Path) -> None:
    """In the same two ways: it is excluded as its parent was."""
    with programs(build) as folder:
        steps, it, out = folder / "steps", str(copy(folder, "it")), str(copy(folder, "out"))
        words = config({"name": "it", "match": {"exe": it}}, exclude=[{"exe": out}])
        steps_of_one = ("fork", "exec", out, *ORPHAN, "exec", it, "wait", "7")
        with (
            waiting(steps, *steps_of_one) as found,
            paused_exporter(words, "found", tmp_path) as (running, resume),
            waiting(steps, *steps_of_one) as new,
        ):
            leave_orphan(found)
            leave_orphan(new)
            resume()
            finish(found, new)
            assert counted(running.scrape()) == {}

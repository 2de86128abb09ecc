"""Targets by pidfile, of the machine's own /proc, and what looking at them costs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.config.load import parse
from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.procfs_source import ProcfsSource
from exporter.kernel.records import Process
from exporter.model.labeller import Labeller
from exporter.model.metadata import ContainerRef, Facts
from exporter.model.tracker import Paths, Tracker
from tests.caller import Caller, caller


class Nothing:
    """Metadata: nothing is known."""

    def facts(self, ref: ContainerRef) -> Facts | None:
        return None

    def version(self) -> int:
        return 0


class Counting(ProcfsSource):
    """Says how often all processes were listed, which is what costs."""

    lists = 0

    def list_processes(self) -> list[Process]:
        self.lists += 1
        return super().list_processes()


@pytest.fixture
def it() -> Iterator[Caller]:
    with caller() as process:
        yield process


NOTHING = {"container_unknown": 0}


def tracked(text: str) -> tuple[Tracker, Counting]:
    paths = Paths()
    cgroups = Cgroups(paths.cgroupfs, paths.procfs)
    source = Counting(paths.procfs, cgroups, 64)
    metadata = Nothing()
    tracker = Tracker(source, cgroups, paths, -1, Labeller(None, 0, metadata), metadata)
    tracker.configure(parse(text, "f").targets)
    tracker.sync()
    return tracker, source


def followed(tracker: Tracker) -> int | None:
    root = tracker.single["it"].root
    return root and root.tgid


def test_an_unchanged_file_costs_no_list_of_processes(tmp_path: Path, it: Caller) -> None:
    """Nor does one that is not there, rubbish, or names somebody who has ended."""
    file = tmp_path / "it.pid"
    file.write_text(f"{it.pid}\n")
    others = ""
    for name, content in {"rubbish": "x", "dead": f"{2**22}", "empty": "", "kernel": "2"}.items():
        (tmp_path / name).write_text(content)
        others += f"- {{name: {name}, pidfile: {tmp_path / name}}}\n"
    others += f"- {{name: none, pidfile: {tmp_path / 'none'}}}\n"
    tracker, source = tracked(f"- {{name: it, pidfile: {file}}}\n{others}")
    assert followed(tracker) == it.pid
    before = source.lists
    for _ in range(10):
        tracker.tend()
    assert source.lists == before
    assert tracker.refused() == NOTHING | {"pidfile_invalid": 1, "pidfile_stale": 2}


def test_a_changed_file_is_acted_on_once(tmp_path: Path, it: Caller) -> None:
    """Whatever has changed: what it says, when it was written, or that it is there."""
    file = tmp_path / "it.pid"
    tracker, source = tracked(f"- {{name: it, pidfile: {file}}}\n")
    assert followed(tracker) is None
    file.write_text(f"{it.pid}\n")
    tracker.tend()
    assert followed(tracker) == it.pid
    for change in (
        lambda: file.write_text(f"{it.pid}\n# again\n"),
        lambda: file.write_text("rubbish\n"),
        lambda: file.unlink(),
    ):
        change()
        before = source.lists
        tracker.tend()
        assert source.lists == before + 1
        tracker.tend()
        assert source.lists == before + 1
        assert followed(tracker) == it.pid
    assert tracker.refused() == NOTHING | {"pidfile_invalid": 1, "pidfile_stale": 0}


def test_the_same_rubbish_is_counted_once_through_reloads(tmp_path: Path) -> None:
    """And again when it was something else meanwhile."""
    file = tmp_path / "it.pid"
    file.write_text("rubbish\n")
    text = f"- {{name: it, pidfile: {file}}}\n"
    tracker, _ = tracked(text)
    for _ in range(3):
        tracker.configure(parse(text, "f").targets)
        tracker.tend()
    assert tracker.refused() == NOTHING | {"pidfile_invalid": 1, "pidfile_stale": 0}
    file.write_text("")
    tracker.tend()
    file.write_text("rubbish\n")
    tracker.tend()
    assert tracker.refused() == NOTHING | {"pidfile_invalid": 2, "pidfile_stale": 0}


def test_a_renamed_target_is_found_again(tmp_path: Path, it: Caller) -> None:
    """A reload is a new beginning for files that have not changed."""
    file = tmp_path / "it.pid"
    file.write_text(f"{it.pid}\n")
    tracker, _ = tracked(f"- {{name: other, pidfile: {file}}}\n")
    tracker.configure(parse(f"- {{name: it, pidfile: {file}}}\n", "f").targets)
    assert followed(tracker) == it.pid


def test_the_exporters_own_pid_may_be_named(tmp_path: Path) -> None:
    """As with `pid`: who names it means it."""
    file = tmp_path / "it.pid"
    file.write_text(f"{os.getpid()}\n")
    tracker, source = tracked(f"- {{name: it, pidfile: {file}}}\n")
    assert followed(tracker) == os.getpid()
    (member,) = [m for key, m in source.members().items() if key.tgid == os.getpid()]
    assert member.slot == tracker.single["it"].slot

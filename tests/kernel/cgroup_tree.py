"""Cgroups that tests make, and that are gone afterwards whatever happened."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.harness import Workload

ROOT = Path("/sys/fs/cgroup")


def version_2() -> Path:
    """Where the one hierarchy of version 2 is: the root, or beneath it on a hybrid machine."""
    return next(place for place in (ROOT, ROOT / "unified") if (place / "cgroup.procs").exists())


def members(group: Path) -> list[int]:
    return [int(line) for line in (group / "cgroup.procs").read_text().split()]


def move(pid: int, group: Path) -> None:
    """The whole process, with all its threads."""
    (group / "cgroup.procs").write_text(str(pid))


def move_tree(tree: Workload, group: Path) -> None:
    move(tree.pid, group)


def remove(top: Path) -> None:
    """A cgroup and all below it; who is in it goes back to the root of the hierarchy."""
    if not top.exists():
        return
    root = next(p for p in top.parents if not (p.parent / "cgroup.procs").exists())
    for folder, _, _ in os.walk(top, topdown=False):
        group = Path(folder)
        while True:
            for pid in members(group):
                with suppress(ProcessLookupError):
                    move(pid, root)
            try:
                group.rmdir()
                break
            except OSError:  # somebody is ending in it
                continue


def remove_leftovers() -> None:
    """What a run that was killed has left: who follows by names would find it. Each of our names
    ends with the PID of its run."""
    for root in (place for place in (ROOT, *ROOT.iterdir()) if (place / "cgroup.procs").exists()):
        for top in root.glob("proctree-*"):
            run = re.search(r"[-@](\d+)(\.\w+)?$", top.name)
            if run and not Path("/proc", run[1]).exists():
                remove(top)


@contextmanager
def cgroup(place: Path) -> Iterator[Path]:
    """Makes the cgroup `place`, and its parents below the hierarchy's root."""
    missing = [p for p in (place, *place.parents) if not p.exists()]
    place.mkdir(parents=True, exist_ok=False)
    try:
        yield place
    finally:
        remove(missing[-1])

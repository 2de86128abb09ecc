"""Cgroups by path: v2, v1 and both at once.

A cgroup is (hierarchy, id). The id is the inode of its directory, the hierarchy the number that
the kernel gave it: 0 is v2; of the v1 hierarchies each controller, or name, has one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import CgroupKey

_ROOT_INODE = 1  # of each hierarchy: fs/kernfs
_ESCAPED = re.compile(r"\\([0-7]{3})")  # fs/proc_namespace.c, mangle()


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted hierarchy."""

    number: int
    root: Path
    name: str  # "v2", "cpu,cpuacct", "name=systemd"


def parse_hierarchies(text: str) -> dict[str, int]:
    """Of /proc/PID/cgroup: the number of each controller or name; "" is v2."""
    numbers = {}
    for line in text.splitlines():
        number, names, _ = line.split(":", 2)
        for name in names.split(","):
            numbers[name] = int(number)
    return numbers


def parse_mounts(text: str, numbers: dict[str, int], top: Path) -> list[Hierarchy]:
    """Of /proc/PID/mountinfo: the hierarchies mounted at or beneath `top`, v2 first."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        point = Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4]))
        if not point.is_relative_to(top):
            continue
        if kind == "cgroup2":
            found.append(Hierarchy(0, point, "v2"))
        elif kind == "cgroup":
            words = [word for word in options.split(",") if word in numbers]
            if words:
                found.append(Hierarchy(numbers[words[0]], point, ",".join(words)))
    return sorted(found, key=lambda h: (h.number != 0, str(h.root)))


class Cgroups:
    """The cgroup file systems of this machine. `top` is --path.cgroupfs."""

    def __init__(self, top: Path, procfs: Path) -> None:
        self.top = top
        self.hierarchies = parse_mounts(
            (procfs / "self/mountinfo").read_text(errors="surrogateescape"),
            parse_hierarchies((procfs / "self/cgroup").read_text(errors="surrogateescape")),
            top,
        )

    def version(self) -> str:
        """v1, v2, hybrid or none, as systemd names them."""
        numbers = {h.number == 0 for h in self.hierarchies}
        return {0: "none", 2: "hybrid"}.get(len(numbers), "v2" if True in numbers else "v1")

    def find(self, path: str, absolute: bool) -> frozenset[CgroupKey]:
        """The cgroups that `path` names now; none where it is not there or is a file.

        A path relative to the cgroup root is looked for in every hierarchy; an absolute one (given
        beneath `top`, which was taken off) names its hierarchy itself.
        """
        keys = set()
        for hierarchy, place in self._places(path, absolute):
            try:
                status = place.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                keys.add(CgroupKey(hierarchy.number, status.st_ino))
        return frozenset(keys)

    def locate(self, path: str, absolute: bool) -> list[Place]:
        """A path, or pattern, as the kernel knows it."""
        if not absolute:
            return [Place(None, path)]
        place = self.top / path.lstrip("/")
        owner = self._owner(place)
        return [Place(owner.number, f"/{place.relative_to(owner.root)}")] if owner else []

    def walk(self) -> Iterator[tuple[CgroupKey, str]]:
        """Every cgroup of every hierarchy, and its path there; parents first."""
        for hierarchy in self.hierarchies:
            folders = [(str(hierarchy.root), "")]
            while folders:
                folder, path = folders.pop()
                try:
                    with os.scandir(folder) as entries:
                        for entry in entries:
                            if entry.is_dir(follow_symlinks=False):
                                below = f"{path}/{entry.name}"
                                yield CgroupKey(hierarchy.number, entry.inode()), below
                                folders.append((entry.path, below))
                except OSError:  # gone meanwhile
                    continue

    def exists(self, key: CgroupKey, path: str) -> bool:
        """Whether this cgroup is still there, and not another with its path."""
        for hierarchy in self.hierarchies:
            if hierarchy.number == key.hierarchy:
                try:
                    return (hierarchy.root / path.lstrip("/")).stat().st_ino == key.id
                except OSError:
                    continue
        return False

    @cached_property
    def sees_all(self) -> bool:
        """Whether paths here are the kernel's: not so where a cgroup namespace cuts them. What is
        mounted was read once, so this stays as it is, and is asked each second."""
        try:
            return all(h.root.stat().st_ino == _ROOT_INODE for h in self.hierarchies)
        except OSError:
            return False

    def why_not(self, path: str, absolute: bool) -> str:
        """One clause that says why `find` finds none."""
        places = [place for _, place in self._places(path, absolute)]
        files = [str(place) for place in places if place.is_file()]
        if files:
            return f"{files[0]} is a file, not a cgroup: list the folder it is in"
        where = f"{places[0]}" if places else f"no hierarchy is mounted at {self.top}"
        others = f" nor in {len(places) - 1} other hierarchies" if places[1:] else ""
        return f"there is no such cgroup yet, looked for again ({where}{others})"

    def _places(self, path: str, absolute: bool) -> Iterator[tuple[Hierarchy, Path]]:
        for hierarchy in self.hierarchies:
            root = self.top if absolute else hierarchy.root
            place = root / path.lstrip("/")
            if not absolute or self._owner(place) == hierarchy:
                yield hierarchy, place

    def _owner(self, place: Path) -> Hierarchy | None:
        owners = [h for h in self.hierarchies if place.is_relative_to(h.root)]
        return max(owners, key=lambda h: len(h.root.parts), default=None)

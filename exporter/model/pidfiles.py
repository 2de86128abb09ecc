"""Targets by pidfile: which process each names now, and when that changed.

A look at the files is cheap; only what is new in them is compared with the processes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path

from exporter.kernel import pidfile, procfs
from exporter.kernel.clock import Clock
from exporter.kernel.pidfile import Found
from exporter.kernel.records import ProcessKey
from exporter.model.trees import Tree

log = logging.getLogger(__name__)

#: A service writes its PID after its start; clocks of file systems are coarse.
_SLACK_NS = 2 * 10**9
#: No PID can be read from it; it names no process (any more), or by now another one.
INVALID, STALE = REASONS = ("pidfile_invalid", "pidfile_stale")


class Pidfiles:
    """Not for more than one thread at a time."""

    def __init__(self, rootfs: Path, proc: Path) -> None:
        self._rootfs, self._proc = rootfs, proc
        self._known: dict[str, Found] = {}  # what each file said when it was last acted on
        self._said: dict[str, str] = {}  # what was logged of it last
        self.refused = Counter(dict.fromkeys(REASONS, 0))

    def read(self, trees: Iterable[Tree]) -> list[tuple[Tree, Found]]:
        """What the files of these trees say. List processes after this: whom they name is there."""
        return [
            (tree, pidfile.read(self._rootfs, tree.target.pidfile))
            for tree in trees
            if tree.target and tree.target.pidfile
        ]

    def news(
        self, trees: Iterable[Tree], lives: Callable[[ProcessKey], bool]
    ) -> list[tuple[Tree, Found]]:
        """The same, where a file or its process may be another than before."""
        return [
            (tree, found)
            for tree, found in self.read(trees)
            if found != self._known.get(_path(tree)) or (tree.root and not lives(tree.root))
        ]

    def take_over(
        self, files: Iterable[tuple[Tree, Found]], alive: Mapping[int, ProcessKey]
    ) -> bool:
        """Whether a tree follows another process from now on."""
        changed = False
        living = set(alive.values())
        inside = cache(partial(procfs.numbers_inside, self._proc))
        for tree, found in files:
            path = _path(tree)
            key = alive.get(found.pid)
            fault, reason = self._why_not(found, key, inside)
            if fault and tree.root and tree.root.tgid == found.pid:
                fault, reason = f"process {found.pid} has ended, looked at again", ""
            self._tell(path, fault, reason)
            if fault or key:  # else it is hidden, or has ended since we listed
                self._known[path] = found
            if key and not fault and key != tree.root:
                log.info("pidfile %s: follows process %d", path, key.tgid)
                tree.root, changed = key, True
            elif tree.root not in living:
                tree.root = None
        return changed

    def forget(self) -> None:
        """Targets are other ones from now on: every file is new."""
        self._known.clear()

    def _why_not(
        self, found: Found, key: ProcessKey | None, inside: Callable[[], Mapping[str, list[str]]]
    ) -> tuple[str, str]:
        """Why there is nothing to follow, and by which name it is counted; or nothing."""
        if found.fault:
            return found.fault, "" if found.missing else INVALID
        reason = procfs.why_not(self._proc, found.pid, inside)
        if reason:
            return reason, STALE
        if key and Clock().boot_to_wall(key.start_ns) > found.written_ns + _SLACK_NS:
            return (
                f"process {found.pid} began after the file was written: it is another one that got"
                " the number (or the clock was set since: then write the file anew)"
            ), STALE
        return "", ""

    def _tell(self, path: str, fault: str, reason: str) -> None:
        """Once, until it is something else."""
        if fault and fault != self._said.get(path):
            log.warning("pidfile %s: %s", path, fault)
            if reason:
                self.refused[reason] += 1
        self._said[path] = fault


def _path(tree: Tree) -> str:
    assert tree.target
    assert tree.target.pidfile
    return tree.target.pidfile

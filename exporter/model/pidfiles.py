"""Targets by pidfile: which process each names now, and when that changed."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from exporter.kernel import pidfile, procfs
from exporter.kernel.records import ProcessKey
from exporter.model.trees import Tree

log = logging.getLogger(__name__)

#: A service writes its PID after its start; clocks of file systems are coarse.
_SLACK_NS = 2 * 10**9
REASONS = ("pidfile_invalid", "pidfile_stale")


class Pidfiles:
    """Not for more than one thread at a time."""

    def __init__(self, rootfs: Path, proc: Path) -> None:
        self._rootfs, self._proc = rootfs, proc
        self._said: dict[str, str] = {}
        self.refused = Counter(dict.fromkeys(REASONS, 0))

    def pid(self, path: str, alive: Mapping[int, ProcessKey]) -> ProcessKey | None:
        """The process that a pidfile names; None where there is none to follow.

        A process that began after the file was written is another that got its number.
        """
        found = pidfile.read(self._rootfs, path)
        fault, reason = found.fault, "" if found.missing else "pidfile_invalid"
        key = None
        if not fault:
            fault = procfs.why_not(self._proc, found.pid) or ""
            key = None if fault else alive.get(found.pid)
            reason = ""
        if key and _began_ns(key) > found.written_ns + _SLACK_NS:
            fault = f"names {found.pid}, a process that began after the file was written: another's"
            key, reason = None, "pidfile_stale"
        if fault and fault != self._said.get(path):
            log.warning("pidfile %s: %s", path, fault)
            if reason:
                self.refused[reason] += 1
        self._said[path] = fault
        return key

    def changed(self, trees: Iterable[Tree], alive: Mapping[int, ProcessKey]) -> bool:
        """Whether a file names another process than the tree follows; takes it over then."""
        changed = False
        for tree in trees:
            if tree.target and tree.target.pidfile:
                key = self.pid(tree.target.pidfile, alive)
                if key and key != tree.root:
                    log.info("target %s: follows process %d", tree.target.name, key.tgid)
                    tree.root, changed = key, True
                elif tree.root and tree.root not in alive.values():
                    tree.root = None
        return changed


def _began_ns(key: ProcessKey) -> int:
    """Since the epoch. Suspension of the machine counts in both clocks."""
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + key.start_ns

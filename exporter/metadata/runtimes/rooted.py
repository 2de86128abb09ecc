"""JSON in files of the host, beneath --path.rootfs, read without trusting who wrote them.

Some of the folders are users' own: see exporter/kernel/rootfs.py for how they are opened; only
files of moderate size are read.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from exporter.kernel.rootfs import open_in_root

_T = TypeVar("_T")

_MAX_NAMES = 1024


class Rooted:
    """The root folder; raises OSError where there is none. Paths are relative to it.

    What cannot be read, for whatever reason, is the same as what is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._seen: dict[str, tuple[object, object]] = {}

    def read(self, path: str, limit: int) -> object:
        """The JSON in a file of at most `limit` bytes; None where there is none."""
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            return _parsed(descriptor, limit)
        finally:
            os.close(descriptor)

    def table(self, path: str, limit: int, make: Callable[[object], _T]) -> _T | None:
        """What `make` makes of a file's JSON, made anew when the file has changed."""
        return self._made(path, lambda descriptor: make(_parsed(descriptor, limit)))

    def names(self, path: str) -> list[str]:
        """The names in a folder, at most 1,024; read anew when the folder has changed."""
        return self._made(path, _names) or []

    def _made(self, path: str, make: Callable[[int], _T]) -> _T | None:
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            status = os.fstat(descriptor)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size, status.st_nlink)
            if self._seen.get(path, (None, None))[0] != stamp:
                self._seen[path] = stamp, make(descriptor)
            return cast(_T, self._seen[path][1])
        finally:
            os.close(descriptor)

    def _open(self, path: str) -> int | None:
        try:
            return open_in_root(self._root, path)
        except OSError:
            return None


def _parsed(descriptor: int, limit: int) -> object:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
        return None
    try:
        return json.loads(os.read(descriptor, status.st_size))
    except (OSError, ValueError, RecursionError):
        return None


def _names(descriptor: int) -> list[str]:
    try:
        with os.scandir(descriptor) as entries:
            return sorted(entry.name for entry in itertools.islice(entries, _MAX_NAMES))
    except OSError:
        return []

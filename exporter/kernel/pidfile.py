"""The PID in a file that a service writes at its start."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from exporter.kernel.rootfs import open_in_root

_MAX_BYTES = 64
_PID_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """What a pidfile says: a PID and when it was written (ns since the epoch), or why not.

    `missing` is no mistake: the service does not run. Equal ones are the same file, unchanged.
    """

    pid: int = 0
    written_ns: int = 0
    missing: bool = False
    fault: str = ""
    file: tuple[int, int] = (0, 0)  # device and inode


def read(rootfs: Path, path: str) -> Found:
    """Only a regular file is read, only its beginning, and only its first line counts."""
    try:
        root = os.open(rootfs, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            descriptor = open_in_root(root, path)
        finally:
            os.close(root)
    except FileNotFoundError:
        return Found(missing=True, fault="there is no such file yet, looked for again")
    except OSError as error:
        return Found(fault=f"cannot be opened: {error.strerror}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Found(fault="is a folder, not a file")
        text = os.read(descriptor, _MAX_BYTES)
    except OSError as error:
        return Found(fault=f"cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)
    return parse(text, status.st_mtime_ns, (status.st_dev, status.st_ino))


def parse(text: bytes, written_ns: int, file: tuple[int, int]) -> Found:
    """Of the first bytes of a file."""
    line = text.partition(b"\n")[0].strip()
    if not text.strip():
        return Found(missing=True, fault="is empty, looked at again")
    if not (line.isdigit() and 1 <= int(line) <= _PID_MAX):
        return Found(fault=f"expected a PID in its first line, found {line[:20]!r}")
    return Found(int(line), written_ns, file=file)

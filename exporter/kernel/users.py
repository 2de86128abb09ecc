"""The node's users by name, from its /etc/passwd: ours may be a container's."""

from __future__ import annotations

import os
from pathlib import Path

from exporter.kernel.rootfs import open_in_root

_MAX_BYTES = 1 << 20


def find_uid(rootfs: Path, name: str) -> int | None:
    """None where the node does not know the name. See passwd(5)."""
    for line in _passwd(rootfs).splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[0] == name and fields[2].isdecimal():
            return int(fields[2])
    return None


def _passwd(rootfs: Path) -> str:
    try:
        root = os.open(rootfs, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            descriptor = open_in_root(root, "etc/passwd")
        finally:
            os.close(root)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""

"""The node's users by name, from its /etc/passwd: ours may be a container's."""

from __future__ import annotations

from pathlib import Path

_MAX_BYTES = 1 << 20


def find_uid(rootfs: Path, name: str) -> int | None:
    """None where the node does not know the name. See passwd(5)."""
    try:
        with (rootfs / "etc/passwd").open("rb") as file:
            text = file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[0] == name and fields[2].isdecimal():
            return int(fields[2])
    return None

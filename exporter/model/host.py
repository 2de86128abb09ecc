"""Which machine this is: its name, and an id that no other machine has."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from exporter.kernel.rootfs import open_in_root

_MACHINE_IDS = ("etc/machine-id", "var/lib/dbus/machine-id")  # machine-id(5)
_BOOT_ID = "sys/kernel/random/boot_id"
_ID = re.compile(r"[0-9a-f]{32}")
_MAX_BYTES = 4096


class Host(NamedTuple):
    """`node` is its name in Kubernetes; "" where that is not known."""

    name: str
    id: str
    node: str = ""


def read_host(rootfs: Path, procfs: Path, node: str = "") -> Host:
    """The machine whose file systems these are.

    In a container the kernel's own name for the machine may be the container's: so the node's
    /etc/hostname counts where its root is mounted elsewhere, and then the node's name.
    """
    inside = str(rootfs) != "/"
    name = parse_hostname(_read(rootfs, "etc/hostname")) if inside else ""
    return Host(name or node or os.uname().nodename, _host_id(rootfs, procfs), node)


def parse_machine_id(text: str) -> str:
    """The id that /etc/machine-id holds; "" where there is none: empty, or `uninitialized`."""
    return text.strip() if _ID.fullmatch(text.strip()) else ""


def parse_hostname(text: str) -> str:
    """The first line that is no comment, as hostname(5) has it."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def _host_id(rootfs: Path, procfs: Path) -> str:
    """The machine's id; without one, a hash of the boot's, which every container sees."""
    for path in _MACHINE_IDS:
        if found := parse_machine_id(_read(rootfs, path)):
            return found
    boot_id = _read(procfs, _BOOT_ID).strip()
    return hashlib.sha256(boot_id.encode()).hexdigest()[:32] if boot_id else ""


def _read(root: Path, path: str) -> str:
    """What stands there; "" where it cannot be read."""
    try:
        top = os.open(root, os.O_PATH | os.O_CLOEXEC)
        try:
            found = open_in_root(top, path)
        finally:
            os.close(top)
        with os.fdopen(found, "rb") as file:
            return file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""

"""The path of a cgroup, as text only: whether and in which hierarchy it is, the kernel knows.

It is written relative to the cgroup root (/system.slice/nginx.service) or absolute beneath it
(/sys/fs/cgroup/system.slice/nginx.service). In a container the host's cgroup root is mounted
elsewhere (`--path.cgroupfs`): then a path beneath /sys/fs/cgroup means the host's all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from exporter.config.kinds import CONTROL
from exporter.config.nodes import Node, Scalar, quote
from exporter.config.report import Report

CGROUP_ROOT = "/sys/fs/cgroup"
MAX_BYTES = 4095  # PATH_MAX less its NUL: include/uapi/linux/limits.h
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class CgroupPath:
    """Text that can be the path of a cgroup, as it was written."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            report.unexpected(key, node, "the path of a cgroup, which begins with '/'")
            return None
        if wrong := _fault(node.text):
            report.error(node.at, f"{key}: {wrong}")
            return None
        return node.text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": "^/[^*?\\[]*$", "maxLength": MAX_BYTES}


def _fault(path: str) -> str:
    expected = "expected the path of a cgroup, which begins with '/'"
    if not path.strip():
        return f"{expected}, found empty text"
    if CONTROL.search(path):
        return f"expected a path without control characters, found {quote(path)}"
    if not path.startswith("/"):
        return f"{expected}, found {quote(path)}; write {quote('/' + path)}"
    if (size := len(path.encode())) > MAX_BYTES:
        return f"expected a path of at most {MAX_BYTES} bytes, found {size}; shorten it"
    for dots in (".", ".."):
        if dots in path.split("/"):
            return (
                f"expected a path without '{dots}', found {quote(path)}; "
                "write out where it leads, from the cgroup root"
            )
    if found := _PATTERN.search(path):
        return (
            f"expected the path of one cgroup, found '{found[0]}' in {quote(path)}; this version "
            "does not know patterns yet: list each cgroup"
        )
    return ""


def locate(written: str, cgroup_root: str) -> tuple[str, bool]:
    """The path from the cgroup root, normalised, and whether it was given beneath that root."""
    path = _normal(written)
    for root in (_normal(cgroup_root), CGROUP_ROOT):
        if root != "/" and (path == root or path.startswith(root + "/")):
            return path[len(root) :] or "/", True
    return path, False


def _normal(path: str) -> str:
    return "/" + "/".join(filter(None, path.split("/")))

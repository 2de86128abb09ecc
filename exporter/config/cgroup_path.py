"""The path of a cgroup, as text only: whether and in which hierarchy it is, the kernel knows.

It is written relative to the cgroup root (/system.slice/nginx.service) or absolute beneath it
(/sys/fs/cgroup/system.slice/nginx.service). In a container the host's cgroup root is mounted
elsewhere (`--path.cgroupfs`): then a path beneath /sys/fs/cgroup means the host's all the same.
With `*`, `?` or `[` it is a pattern: a glob of whole paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from exporter.config.kinds import CONTROL
from exporter.config.nodes import Node, Scalar, quote
from exporter.config.report import Report
from exporter.config.words import pattern_fault
from exporter.model.target import Pattern

CGROUP_ROOT = "/sys/fs/cgroup"
MAX_BYTES = 4095  # PATH_MAX less its NUL: include/uapi/linux/limits.h
_PATTERN = re.compile(r"[*?\[]")
#: systemd's in the names of units. Nobody needs to escape the letter x.
_SYSTEMD_ESCAPE = re.compile(r"(?<!\\)\\x[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class CgroupPath:
    """Text that can be the path of a cgroup, as it was written."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            report.unexpected(key, node, "the path of a cgroup, which begins with '/'")
            return None
        if wrong := _fault(node.text) or _pattern_fault(node.text):
            report.error(node.at, f"{key}: {wrong}")
            return None
        return node.text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": "^/", "maxLength": MAX_BYTES}


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
    return ""


def _pattern_fault(path: str) -> str:
    if not is_pattern(path):
        return ""
    if found := _SYSTEMD_ESCAPE.search(path):
        return (
            f"expected '\\{found[0]}' in a pattern, where a backslash begins an escape, "
            f"found {quote(path)}; double the backslash"
        )
    return pattern_fault(Pattern(path), path=True)


def is_pattern(path: str) -> bool:
    """Whether it means all cgroups that match, and not one by its name."""
    return _PATTERN.search(path) is not None


def locate(written: str, cgroup_root: str) -> tuple[str, bool]:
    """The path from the cgroup root, normalised, and whether it was given beneath that root."""
    path = _normal(written)
    for root in (_normal(cgroup_root), CGROUP_ROOT):
        if root != "/" and (path == root or path.startswith(root + "/")):
            return path[len(root) :] or "/", True
    return path, False


def _normal(path: str) -> str:
    return "/" + "/".join(filter(None, path.split("/")))

"""What is named beside cgroups: files, units of systemd, an API server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from exporter.config.kinds import CONTROL
from exporter.config.nodes import Node, Scalar, quote
from exporter.config.report import Report

PATH_MAX = 4095  # less its NUL: include/uapi/linux/limits.h
UNIT_TYPES = (".service", ".scope", ".slice")
#: UNIT_NAME_MAX less its NUL, VALID_CHARS_WITH_AT: systemd's src/basic/unit-name.[ch].
_UNIT_MAX = 255
_UNIT = re.compile(r"(?!@)[A-Za-z0-9:_.\\@-]+")
#: What other units end with; a dot before anything else is part of the name.
_OTHER_TYPE = re.compile(r"\.(socket|target|device|mount|automount|swap|timer|path)$")
_URL = re.compile(r"^https?://[^\s/?#@\\]+(/[^\s?#]*)?$")


@dataclass(frozen=True, slots=True)
class FilePath:
    """The absolute path of a file."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        expected, mend = "the absolute path of a file", ""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            size = len(node.text.encode(errors="replace"))
            if CONTROL.search(node.text):
                expected = "a path without control characters"
            elif size > PATH_MAX:
                expected = f"a path of at most {PATH_MAX} bytes"
            elif not node.text.startswith("/"):
                mend = "begin it with '/'"
            elif node.text.endswith("/"):
                mend = "name the file in that directory"
            else:
                return node.text
        report.unexpected(key, node, expected, mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": "^/.*[^/]$", "maxLength": PATH_MAX}


@dataclass(frozen=True, slots=True)
class UnitName:
    """A unit of systemd that has processes in a cgroup of its own: a service, scope or slice."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.text.strip():
            report.unexpected(key, node, "the name of a unit, such as nginx.service")
        elif wrong := _unit_fault(node.text):
            report.error(node.at, f"{key}: {wrong}")
        else:
            return node.text
        return None

    def schema(self) -> dict[str, Any]:
        types = "|".join(kind[1:] for kind in UNIT_TYPES)
        pattern = rf"^{_UNIT.pattern}(?<!@)\.({types})$"
        return {"type": "string", "pattern": pattern, "maxLength": _UNIT_MAX}


def _unit_fault(unit: str) -> str:
    found = quote(unit)
    stem, dot, _ = unit.rpartition(".")
    if re.search(r"[*?\[]", unit):
        mend = f"write a pattern: cgroup: {quote('/**/' + unit)}"
        return f"expected the name of one unit, found {found}; {mend}"
    if "/" in unit:
        return f"expected the name of a unit, found the path {found}; write it under 'cgroup'"
    if not _UNIT.fullmatch(unit):
        return f"expected a name that systemd allows, found {found}; systemd-escape writes it"
    if len(unit) > _UNIT_MAX:
        return f"expected at most {_UNIT_MAX} characters, found {len(unit)}; shorten it"
    types = f"expected a unit of type {', '.join(UNIT_TYPES)}, found {found}"
    if _OTHER_TYPE.search(unit):
        return f"{types}; list the service that it starts, or its cgroup"
    if not unit.endswith(UNIT_TYPES):
        return f"{types}; write {quote(unit + '.service')}"
    if dot and not stem:
        return f"{types}; write its name before the dot"
    if stem.endswith("@"):
        return f"expected one unit, found the template {found}; name an instance: '{stem}1…'"
    return ""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where an API server answers, without a trailing slash."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if isinstance(node, Scalar) and isinstance(node.value, str) and _is_url(node.text):
            return node.text.rstrip("/")
        expected = "the URL of the API server, such as https://10.0.0.1:6443"
        report.unexpected(key, node, expected)
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": _URL.pattern}


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket without its other
        return False
    return good and text.isprintable() and _URL.fullmatch(text) is not None

"""Which calls become spans: names of calls, names of errors, a part of all."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import cache
from typing import Any

from exporter.config.kinds import mend_number
from exporter.config.nodes import Node, Scalar
from exporter.config.report import Report
from exporter.config.suggest import did_you_mean
from exporter.kernel.syscalls import Abi, load_errnos, load_names

#: The kernel draws 32 random bits for each call.
MIN_SAMPLE = 1e-9


@cache
def call_names() -> frozenset[str]:
    """Of all machines, so that nodes of different kinds can share a file."""
    return frozenset(name for abi in Abi for name in load_names(abi).values())


@cache
def error_numbers() -> dict[str, int]:
    """All errors by name."""
    return {name: number for number, name in load_errnos().items()}


@dataclass(frozen=True, slots=True)
class CallName:
    """A system call, by the name that strace prints."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        mend = ""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if node.text in call_names():
                return node.text
            mend = did_you_mean(node.text, sorted(call_names()))
        report.unexpected(key, node, "the name of a system call, such as openat", mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/$defs/syscall"}


@dataclass(frozen=True, slots=True)
class ErrorName:
    """An error of a system call, by its name in errno.h."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if isinstance(node, Scalar) and node.value in error_numbers():
            return node.text
        report.unexpected(key, node, "the name of an error, such as EIO", _mend_error(node))
        return None

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/$defs/errno"}


def _mend_error(node: Node) -> str:
    if not isinstance(node, Scalar) or isinstance(node.value, bool):
        return ""
    names = {number: name for name, number in error_numbers().items()}
    if isinstance(node.value, int) and abs(node.value) in names:
        return f"write {names[abs(node.value)]}"
    if not isinstance(node.value, str):
        return ""
    if node.text.upper().startswith("ERESTART"):
        return "a call that is begun again has not failed; one that was interrupted has EINTR"
    # EWOULDBLOCK is another name of EAGAIN.
    alias = names.get(vars(errno).get(node.text.upper(), 0))
    return f"write {alias}" if alias else did_you_mean(node.text, sorted(error_numbers()))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of all: a number above 0, at most 1."""

    def read(self, key: str, node: Node, report: Report) -> float | None:
        mend = mend_number(node)
        match node:
            case Scalar(value=bool()):
                pass
            case Scalar(value=int() | float() as value) if MIN_SAMPLE <= value <= 1:
                return float(value)
            case Scalar(value=int() | float() as value) if value == 0:
                mend = "leave it out"
            case Scalar(value=int() | float() as value) if 1 < value <= 100:
                mend = "it is no percentage: all calls are 1, a hundredth is 0.01"
            case Scalar(value=str() as value) if value.endswith("%"):
                mend = "a hundredth is 0.01"
        report.unexpected(key, node, f"a part of the calls from {MIN_SAMPLE:g} to 1", mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": MIN_SAMPLE, "maximum": 1}


def definitions() -> dict[str, Any]:
    """What the JSON Schemas here refer to."""
    return {
        "syscall": {"enum": sorted(call_names())},
        "errno": {"enum": list(error_numbers())},
    }

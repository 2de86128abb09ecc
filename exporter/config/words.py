"""Patterns and users: the words that say which processes, containers or pods are meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from exporter.config.kinds import Name, unquoted
from exporter.config.label_names import POD_LABEL_KEY, POD_LABEL_VALUE
from exporter.config.lists import OneOrMore
from exporter.config.nodes import At, Entries, Node, Scalar, quote
from exporter.config.report import Report
from exporter.model.patterns import PatternError, check
from exporter.model.patterns.scanner import MAX_CHARACTERS
from exporter.model.target import Pattern

#: TASK_COMM_LEN less its NUL: include/linux/sched.h.
COMM_BYTES = 15
UID_MAX = 2**32 - 2  # -1 is "no change": setresuid(2)
WILDCARD = re.compile(r"[*?\[\\]")


class Placed(NamedTuple):
    """A pattern and where it stands."""

    pattern: Pattern
    at: At


@dataclass(frozen=True, slots=True)
class PatternText:
    """A glob, or a regular expression of the whole text.

    `fault` says what else is wrong with a text; `form` says the same for JSON Schema.
    """

    regex: bool = False
    path: bool = False
    fault: Callable[[str], str] = lambda _: ""
    form: str = r"\S"

    def read(self, key: str, node: Node, report: Report) -> Placed | None:
        text = Name(MAX_CHARACTERS).read(key, node, report)
        if text is None:
            return None
        pattern = Pattern(text, self.regex)
        wrong = self.fault(text) or pattern_fault(pattern, self.path)
        if wrong:
            report.error(node.at, f"{key}: {wrong}")
            return None
        return Placed(pattern, node.at)

    def schema(self) -> dict[str, Any]:
        return {**Name(MAX_CHARACTERS).schema(), "pattern": self.form}


def pattern_fault(pattern: Pattern, path: bool) -> str:
    """What is wrong with a pattern by itself."""
    try:
        check(pattern, path=path)
    except PatternError as error:
        return str(error)
    return ""


def comm_fault(glob: str) -> str:
    """A name of a task that no task can have: the kernel cuts them."""
    if "[" in glob or "\\" in glob:
        return ""
    least = len(glob.replace("*", "").encode())
    if least <= COMM_BYTES:
        return ""
    cut = glob.encode()[:COMM_BYTES].decode(errors="ignore")
    mend = "shorten it" if WILDCARD.search(cut) else f"write {quote(cut)}"
    return (
        f"expected at most {COMM_BYTES} bytes, which is what the kernel keeps of a name, "
        f"found {least} in {quote(glob)}; {mend}"
    )


def exe_fault(glob: str) -> str:
    """A path that no program can have."""
    if glob.startswith(("/", "**")):
        return ""
    name = glob.lstrip("*/")
    mend = f"**/{name}" if name else "**"
    return (
        f"expected the path of a program, which begins with '/' or '**', found {quote(glob)}; "
        f"write {quote(mend)}"
    )


COMM = PatternText(fault=comm_fault, form=rf"[\[\\]|^(?=.*\S)(\**[^*]){{0,{COMM_BYTES}}}\**$")
EXE = PatternText(path=True, fault=exe_fault, form=r"^(/|\*\*)")


def label_fault(glob: str) -> str:
    """A value that no label of a pod can have."""
    if WILDCARD.search(glob) or re.fullmatch(POD_LABEL_VALUE, glob):
        return ""
    return f"expected the value of a label as Kubernetes allows it, found {quote(glob)}"


@dataclass(frozen=True, slots=True)
class User:
    """A user by name or UID."""

    def read(self, key: str, node: Node, report: Report) -> str | int | None:
        mend = unquoted(node, int)
        match node:
            case Scalar(value=bool()):
                mend = f"quote it: '{node.text}'"
            case Scalar(value=int() as uid) if 0 <= uid <= UID_MAX:
                return uid
            case Scalar(value=str() as name) if WILDCARD.search(name):
                mend = "list each user: there are no patterns here"
            case Scalar(value=str() as name) if re.fullmatch(self._pattern, name) and not mend:
                if name.isprintable():
                    return name
        report.unexpected(key, node, "the name of a user, or a UID", mend)
        return None

    @property
    def _pattern(self) -> str:
        return r"^(?![0-9]+$)[^\s:/,*?\[\\]{1,256}$"

    def schema(self) -> dict[str, Any]:
        uid = {"type": "integer", "minimum": 0, "maximum": UID_MAX}
        return {"anyOf": [uid, {"type": "string", "pattern": self._pattern}]}


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Labels of a pod, each with the globs of its value, any of which will do."""

    _values = OneOrMore(PatternText(fault=label_fault, form=rf"[*?\[\\]|{POD_LABEL_VALUE}"))

    def read(
        self, key: str, node: Node, report: Report
    ) -> tuple[tuple[str, tuple[Placed, ...]], ...] | None:
        if not isinstance(node, Entries) or not node.pairs:
            report.unexpected(key, node, "a mapping of labels to values, such as {app: web}")
            return None
        read = []
        for label, value in node.pairs:
            known = POD_LABEL_KEY.read(key, label, report)
            path = f"{key}.{known}" if known else key
            read.append((label.text, self._values.read(path, value, report) or ()))
        return tuple(read)

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": POD_LABEL_KEY.schema(),
            "additionalProperties": self._values.schema(),
        }

"""What the values of a web config may be: those of Prometheus' exporter-toolkit.

That reads by YAML 1.1, into Go's types: a number is fine where text is meant, `yes` where a flag
is, and nothing is as good as a key left out. A value is None where it was unreadable, or is such.
No message has the text of a value in it that may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from exporter.config.kinds import CONTROL
from exporter.config.nodes import At, Entries, Items, Node, Scalar, describe, quote
from exporter.config.report import Report
from exporter.config.suggest import did_you_mean
from exporter.model.otlp import header_value_fault

T = TypeVar("T")
Reader = Callable[[str, Node, Report], T | None]

_TRUE, _FALSE = ("true", "yes", "on", "y"), ("false", "no", "off", "n")
_BCRYPT = re.compile(
    r"\$2[abxy]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}"
)
#: A check of more takes seconds: 10 takes 70 ms, and each one more twice as long.
_DEAR_COST = 14
_UNITS_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9,
    "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_PART = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{0,9}})?|\.[0-9]{{1,9}})({'|'.join(_UNITS_NS)})")


class Found(NamedTuple):
    """A value that is written, and where: the key, the value."""

    value: Any
    key_at: At
    at: At


def mapping(
    path: str, readers: Mapping[str, Reader[Any]], node: Node, report: Report
) -> dict[str, Found]:
    """The keys of a mapping that say something; unknown ones are refused."""
    if is_nothing(node):
        return {}
    if not isinstance(node, Entries):
        unexpected(path, node, "a mapping", report)
        return {}
    found: dict[str, Found] = {}
    for key, value in node.pairs:
        reader = readers.get(key.text)
        if reader is None:
            mend = did_you_mean(key.text, readers) or f"known here: {', '.join(readers)}"
            report.error(key.at, f"unknown key {quote(key.text)}; {mend}")
        elif not is_nothing(value):
            name = f"{path}.{key.text}" if path else key.text
            found[key.text] = Found(reader(name, value, report), key.at, value.at)
    return found


def is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.value is None


def unexpected(path: str, node: Node, expected: str, report: Report, mend: str = "") -> None:
    """As Report.unexpected, without the text that was found."""
    found = "text" if isinstance(node, Scalar) else describe(node)
    name = f"{path}: " if path else ""
    report.error(node.at, f"{name}expected {expected}, found {found}{mend and '; ' + mend}")


def text(path: str, node: Node, report: Report) -> str | None:
    """Text as it is written; empty text is none."""
    if isinstance(node, Scalar):
        return node.text or None
    unexpected(path, node, "text", report)
    return None


def file_path(path: str, node: Node, report: Report) -> str | None:
    found = text(path, node, report)
    if found and CONTROL.search(found):
        report.error(node.at, f"{path}: expected a path without control characters; remove them")
        return None
    return found


def flag(path: str, node: Node, report: Report) -> bool | None:
    word = node.text.lower() if isinstance(node, Scalar) and node.plain else ""
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    report.unexpected(path, node, "true or false")
    return None


def word(expected: str, *words: str) -> Reader[str]:
    """One of these; empty text is none of them, as if it were left out."""

    def read(path: str, node: Node, report: Report) -> str | None:
        found = node.text if isinstance(node, Scalar) else None
        if found == "" or found in words:
            return found or None
        some = ", ".join(words[:6])
        report.unexpected(path, node, f"{expected} {some}", did_you_mean(found or "", words))
        return None

    return read


def listed(item: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(path: str, node: Node, report: Report) -> tuple[T, ...] | None:
        if not isinstance(node, Items):
            report.unexpected(path, node, "a list", "put it into brackets: [ ]")
            return None
        values = (item(path, entry, report) for entry in node.nodes)
        return tuple(value for value in values if value is not None)

    return read


def interval(path: str, node: Node, report: Report) -> int | None:
    """A duration as Go writes it, in ns: 1s, 1.5h, 1m30s, 100us."""
    written = node.text if isinstance(node, Scalar) else ""
    if written.lstrip("+") == "0":
        return 0
    parts = _PART.findall(written)
    if parts and "".join(map("".join, parts)) == written.removeprefix("+") and len(parts) < 9:
        return int(sum(float(number) * _UNITS_NS[unit] for number, unit in parts))
    bare = isinstance(node, Scalar) and type(node.value) is int and node.value > 0
    mend = f"add a unit: {written}s" if bare and len(written) < 9 else ""
    report.unexpected(path, node, "a duration such as 1s, 500ms or 1m30s", mend)
    return None


def count(path: str, node: Node, report: Report) -> int | None:
    if isinstance(node, Scalar) and type(node.value) is int and 0 <= node.value < 10**9:
        return node.value
    report.unexpected(path, node, "a whole number from 0 to 999999999")
    return None


def header(*allowed: str) -> Reader[str]:
    """The value of a header: one of `allowed`, or any where there are none. Empty: not sent."""

    def read(path: str, node: Node, report: Report) -> str | None:
        found = text(path, node, report)
        if allowed and isinstance(node, Scalar) and found not in allowed:
            report.error(
                node.at, f"{path}: expected {' or '.join(allowed)}, found {quote(node.text)}"
            )
        elif found and (fault := header_value_fault(found)):
            mend = f"; {fault.mend}" if fault.mend else ""
            report.error(node.at, f"{path}: expected {fault.expected}{mend}")
        else:
            return found
        return None

    return read


def users(path: str, node: Node, report: Report) -> dict[bytes, bytes] | None:
    """Names and bcrypt hashes, which are secrets."""
    if not isinstance(node, Entries):
        unexpected(path, node, "a mapping of names to bcrypt hashes", report)
        return None
    found: dict[bytes, bytes] = {}
    for name, value in node.pairs:
        written = value.text if isinstance(value, Scalar) else ""
        if ":" in name.text:
            report.error(
                name.at, f"{path}: expected a name without ':', which ends it in a request"
            )
        elif CONTROL.search(name.text):
            report.error(name.at, f"{path}: expected a name without control characters")
        elif not _BCRYPT.fullmatch(written):
            expected = "a bcrypt hash, such as `htpasswd -nBC 10 \"\" | tr -d ':\\n'` makes"
            unexpected(f"{path}.{name.text}"[:200], value, expected, report)
        else:
            found[name.text.encode()] = written.encode()
            if int(written[4:6]) > _DEAR_COST:
                told = f"a check of cost {written[4:6]} takes seconds to hours; 10 to 12 are usual"
                report.warn(value.at, f"{path}.{quote(name.text)}: {told}")
    return found

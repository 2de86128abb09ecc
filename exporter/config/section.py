"""One mapping of the file against the catalog: unknown keys are refused, defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exporter.config.catalog import PLANNED, SECTIONS, TARGET, TOP, keys_of
from exporter.config.kinds import Section
from exporter.config.nodes import At, Entries, Scalar, quote
from exporter.config.report import Report
from exporter.config.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Read:
    """A mapping as read: a value for each key of the section, or None where it was unreadable.

    `given` says where each key that is known and written stands, and its value; `strange` that
    there were others.
    """

    values: dict[str, Any]
    given: dict[str, tuple[At, At]]
    strange: bool


def defaults(section: str) -> dict[str, Any]:
    """What holds for each key where nothing is written."""
    return {
        name: defaults(key.kind.name) if isinstance(key.kind, Section) else key.default
        for name, key in keys_of(section).items()
    }


def read_section(section: str, node: Entries, report: Report) -> Read:
    """The values of one mapping, sections in it included."""
    keys = keys_of(section)
    values = defaults(section)
    given: dict[str, tuple[At, At]] = {}
    strange = False
    for written, value in node.pairs:
        key = keys.get(written.text)
        if key is None:
            strange = True
            report.error(written.at, _unknown(section, written))
            continue
        given[key.name] = (written.at, value.at)
        if isinstance(key.kind, Section) and isinstance(value, Entries):
            values[key.name] = read_section(key.kind.name, value, report).values
        else:
            values[key.name] = key.kind.read(key.path, value, report)
    return Read(values, given, strange)


def _unknown(section: str, written: Scalar) -> str:
    name, found = written.text, quote(written.text)
    if name in PLANNED.get(section, ()):
        return f"key {found}: this version does not know it yet; remove it, or use a later version"
    for other in SECTIONS:
        if other != section and name in keys_of(other):
            return f"unknown key {found} here; it belongs {_place(other)}"
    known = keys_of(section)
    mend = did_you_mean(name, known) or f"known here: {', '.join(known)}"
    return f"unknown key {found}; {mend}"


def _place(section: str) -> str:
    if section == TOP:
        return "at the top of the file"
    return "into a target" if section == TARGET else f"under '{section}'"

"""One mapping of the file against the catalog: unknown keys are refused, defaults filled in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exporter.config.catalog import NOT_EMPTY, PLACES, SECTIONS, Key, keys_of
from exporter.config.kinds import Section, Sections
from exporter.config.nodes import At, Entries, Items, Node, Scalar, quote
from exporter.config.report import Report
from exporter.config.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Read:
    """A mapping as read: a value for each key of the section, or None where it was unreadable.

    `given` says where each key that is known and written stands, and its value; `strange` that
    there were others. The value of a section is a `Read` again.
    """

    at: At
    values: dict[str, Any]
    given: dict[str, tuple[At, At]]
    strange: bool


def read_section(section: str, node: Entries, report: Report, prefix: str = "") -> Read:
    """The values of one mapping, those in it included. `prefix` begins the names in messages."""
    keys = keys_of(section)
    values: dict[str, Any] = {}
    given: dict[str, tuple[At, At]] = {}
    strange = False
    for written, value in node.pairs:
        key = keys.get(written.text)
        if key is None:
            strange = True
            report.error(written.at, _unknown(section, written))
            continue
        given[key.name] = (written.at, value.at)
        values[key.name] = _value(key, prefix + key.name, value, report)
    _check_alternatives(given, prefix, report)
    if section in NOT_EMPTY and not node.pairs:
        expected = f"at least one of {', '.join(keys)}"
        report.error(node.at, f"{prefix[:-1]}: expected {expected}, found an empty mapping")
    for name, key in keys.items():
        if name not in given:
            values[name] = _absent(key, node.at, report)
    return Read(node.at, values, given, strange)


def _value(key: Key, path: str, node: Node, report: Report) -> Any:
    match key.kind, node:
        case Section(name=name), Entries():
            return read_section(name, node, report, f"{path}.")
        case Sections(name=name), Entries():
            return (read_section(name, node, report, f"{path}."),)
        case Sections(name=name), Items(nodes=(_, *_)):
            return tuple(_items(name, path, node, report))
    return key.kind.read(path, node, report)


def _items(section: str, path: str, node: Items, report: Report) -> Iterator[Read]:
    for item in node.nodes:
        if isinstance(item, Entries):
            yield read_section(section, item, report, f"{path}.")
        else:
            report.unexpected(path, item, "a mapping")


def _absent(key: Key, at: At, report: Report) -> Any:
    """What holds where nothing is written: a default is read like what is."""
    if isinstance(key.kind, Section) and not key.kind.optional:
        return read_section(key.kind.name, Entries(at, ()), report)
    if key.default is None:
        return None
    return key.kind.read(key.name, Scalar(at, str(key.default), True, key.default), report)


def _check_alternatives(given: dict[str, tuple[At, At]], prefix: str, report: Report) -> None:
    for name, (at, _) in given.items():
        glob = name.removesuffix("_re")
        if glob != name and glob in given:
            report.error(
                at,
                f"{prefix}{name}: expected either {glob!r} or {name!r}, found both; "
                f"write all as regular expressions, in a list under {name!r}",
            )


def _unknown(section: str, written: Scalar) -> str:
    name, found = written.text, quote(written.text)
    for other in SECTIONS:
        if other != section and name in keys_of(other):
            return f"unknown key {found} here; it belongs {PLACES[other]}"
    known = keys_of(section)
    mend = did_you_mean(name, known) or f"known here: {', '.join(known)}"
    return f"unknown key {found}; {mend}"

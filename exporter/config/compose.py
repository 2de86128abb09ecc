"""YAML text to nodes, strictly: what a config has no use for is refused by name.

We read PyYAML's events, not its node graph: only they tell a tag that was written from one that
was resolved, they know no recursion that deep nesting could exhaust, and an alias is refused
before it is followed. The scanner in Python rather than libyaml's, because its messages and
columns are then the same on every machine; 4096 targets take it 0.4 s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from exporter.config.nodes import At, Entries, Items, Node, Refused, Scalar, quote
from exporter.config.report import Report
from exporter.config.scalar import resolve
from exporter.config.syntax import explain

#: Deeper than any config, by far.
MAX_DEPTH = 16

#: YAML 1.1 and so PyYAML break lines at these, YAML 1.2 and most editors do not.
_OLD_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")


def compose(text: str, report: Report) -> Node | None:
    """The one document in `text`; None if there is none, or none that can be read further.

    Where None is returned, the reason is in `report`, unless the document is empty.
    """
    if odd := _OLD_LINE_BREAKS.search(text):
        report.error(
            _place(text, odd.start()),
            f"found the line separator U+{ord(odd[0]):04X}; use plain newlines",
        )
        return None
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        report.error(
            _place(text, error.position),
            f"expected printable text, found the character U+{ord(text[error.position]):04X}; "
            "remove it",
        )
        return None
    try:
        return _Composer(report).run(loader)
    except yaml.MarkedYAMLError as error:
        report.error(*explain(error))
    except (ValueError, OverflowError):  # "\UFFFFFFFF": the scanner leaves the check to chr()
        report.error(
            _at(loader.get_mark()),
            "not valid YAML: an escape or a version holds a number too large",
        )
    return None


class _TooDeepError(Exception):
    pass


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been seen; a mapping's children alternate."""

    at: At
    is_mapping: bool
    children: list[Node] = field(default_factory=list)


class _Composer:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: list[_Open] = []
        self._root: Node | None = None

    def run(self, loader: yaml.SafeLoader) -> Node | None:
        documents = 0
        while loader.check_event():
            event = loader.get_event()  # type: ignore[no-untyped-call]  # a gap in types-PyYAML
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._report.error(
                        _at(event.start_mark),
                        "expected one document, found a second one; remove this '---'",
                    )
                    break
            else:
                try:
                    self._take(event)
                except _TooDeepError:
                    return None
        return self._root

    def _take(self, event: yaml.Event) -> None:
        at = _at(event.start_mark)
        match event:
            case yaml.AliasEvent():
                self._report.error(
                    at,
                    f"found the alias {quote('*' + str(event.anchor))}; aliases are refused: "
                    "write the value out, or quote it if it is meant as text",
                )
                self._add(Refused(at))
            case yaml.ScalarEvent():
                self._refuse_properties(event, at)
                plain = event.style is None
                value = resolve(event.value) if plain else event.value
                self._add(Scalar(at, event.value, plain, value))
            case yaml.CollectionStartEvent():
                self._refuse_properties(event, at)
                if len(self._open) >= MAX_DEPTH:
                    self._report.error(
                        at, f"expected at most {MAX_DEPTH} levels of nesting, found more"
                    )
                    raise _TooDeepError
                self._open.append(_Open(at, isinstance(event, yaml.MappingStartEvent)))
            case yaml.CollectionEndEvent():
                done = self._open.pop()
                self._add(self._mapping(done) if done.is_mapping else _items(done))

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _refuse_properties(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, at: At
    ) -> None:
        if event.anchor is not None:
            self._report.error(
                at, f"found the anchor {quote('&' + event.anchor)}; anchors are refused: remove it"
            )
        if event.tag is not None:
            self._report.error(at, f"found the tag {quote(event.tag)}; tags are refused: remove it")

    def _mapping(self, done: _Open) -> Entries:
        pairs: list[tuple[Scalar, Node]] = []
        lines: dict[str, int] = {}
        for key, value in zip(done.children[::2], done.children[1::2], strict=True):
            if not isinstance(key, Scalar):
                self._report.unexpected("key", key, "plain text")
            elif key.plain and key.text == "<<":
                self._report.error(
                    key.at, "found the merge key '<<'; merging is refused: write the keys out"
                )
            elif key.text in lines:
                self._report.error(
                    key.at,
                    f"duplicate key {quote(key.text)}, first on line {lines[key.text]}; "
                    "remove one of them",
                )
            else:
                lines[key.text] = key.at.line
                pairs.append((key, value))
        return Entries(done.at, tuple(pairs))


def _items(done: _Open) -> Items:
    return Items(done.at, tuple(done.children))


def _at(mark: Any) -> At:
    """PyYAML's place, from 0; every event it reads from text has one."""
    return At(mark.line + 1, mark.column + 1)


def _place(text: str, index: int) -> At:
    before = text[:index]
    return At(before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1)

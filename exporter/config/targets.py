"""The list of targets: a PID, the path of a cgroup, or a mapping that says more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exporter.config.buckets import snap
from exporter.config.catalog import NAMELESS, TARGET, TARGET_KINDS
from exporter.config.cgroup_path import is_pattern, locate
from exporter.config.kinds import mend_number
from exporter.config.nodes import At, Entries, Node, Scalar, quote
from exporter.config.report import Report
from exporter.config.section import Read, read_section
from exporter.config.selectors import WordSet, container_words, pod_words, word_set
from exporter.config.spans import span_words
from exporter.model.target import Kind, SpanWords, Target

_MAY_NOT_FOLLOW: tuple[Kind, ...] = ("pid", "pidfile", "match")


@dataclass(frozen=True, slots=True)
class Inherited:
    """What holds for all targets. Without a `scale` (it is wrong), bounds go unchecked."""

    cgroup_root: str
    scale: int | None
    buckets: tuple[float, ...] | None
    static_labels: Mapping[str, tuple[str, At]]


@dataclass(frozen=True, slots=True)
class Listed:
    """A target and where it stands: it, its name, what it follows, its own words and labels.

    `spans_at` is where its `spans` stand, or itself where it has none.
    """

    target: Target
    at: At
    name_at: At
    root_at: At
    match: WordSet | None
    exclude: tuple[WordSet, ...]
    static_labels: Mapping[str, tuple[str, At]]
    spans_at: At

    @property
    def words(self) -> tuple[WordSet, ...]:
        """All sets of words, each of which is compared with every process."""
        return (*((self.match,) if self.match else ()), *self.exclude)


def read_targets(nodes: Iterable[Node], inherited: Inherited, report: Report) -> list[Listed]:
    """The targets that could be read."""
    listed = []
    for node in nodes:
        mapping = _as_mapping(node)
        if mapping is None:
            expected = "a PID, the path of a cgroup (it begins with '/') or a mapping"
            report.unexpected("target", node, expected, _mend(node))
        elif target := _read_target(mapping, inherited, report):
            listed.append(target)
    return listed


def _as_mapping(node: Node) -> Entries | None:
    """The long form of what is listed: `4711` is `{pid: 4711}`, `/a` is `{cgroup: /a}`."""
    match node:
        case Entries():
            return node
        case Scalar(value=int()) if not isinstance(node.value, bool):
            key = "pid"
        case Scalar(value=str() as text) if text.startswith("/"):
            key = "cgroup"
        case _:
            return None
    return Entries(node.at, ((Scalar(node.at, key, True, key), node),))


def _mend(node: Node) -> str:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    if node.text == "all":
        return "write 'all: true'"
    if "/" in node.text:
        return f"write {quote('/' + node.text)}"
    return mend_number(node) or "list it by its PID or by its cgroup"


def _read_target(node: Entries, inherited: Inherited, report: Report) -> Listed | None:
    read = read_section(TARGET, node, report)
    values = read.values
    kind = _kind(node, read, report)
    _check_follow_forks(read, report)
    buckets = inherited.buckets
    if values["buckets"] is not None and inherited.scale is not None:
        buckets = snap("buckets", values["buckets"], inherited.scale, report)
    if kind is None or values[kind] is None:
        return None
    name = values["name"] or _default_name(node, kind, read, report)
    if not name:
        return None

    written = values["cgroup"]
    cgroup, absolute = locate(written, inherited.cgroup_root) if written else (None, False)
    match = word_set("match", values["match"]) if values["match"] else None
    exclude = tuple(word_set("exclude", entry) for entry in values["exclude"] or ())
    static_labels = values["static_labels"] or {}
    target = Target(
        name=name,
        kind=kind,
        pid=values["pid"],
        cgroup=cgroup,
        follow_forks=values["follow_forks"],
        buckets=buckets,
        line=node.at.line,
        absolute=absolute,
        pattern=is_pattern(written or ""),
        pidfile=values["pidfile"],
        systemd=values["systemd"],
        match=match.words if match else None,
        container=container_words(values["container"]) if values["container"] else None,
        kubernetes=pod_words(values["kubernetes"]) if values["kubernetes"] else None,
        exclude=tuple(entry.words for entry in exclude),
        static_labels=_static_labels(static_labels, inherited.static_labels),
        group_by=values["group_by"] or "",
        spans=span_words(values["spans"], report) if values["spans"] else SpanWords(),
    )
    _, name_at = read.given.get("name", (node.at, node.at))
    _, root_at = read.given[kind]
    spans_at, _ = read.given.get("spans", (node.at, node.at))
    return Listed(target, node.at, name_at, root_at, match, exclude, static_labels, spans_at)


def _kind(node: Entries, read: Read, report: Report) -> Kind | None:
    kinds = [kind for kind in TARGET_KINDS if kind in read.given]
    kinds.sort(key=lambda kind: read.given[kind])  # as they stand in the file
    expected = f"target: expected exactly one of {', '.join(TARGET_KINDS)}"
    if len(kinds) > 1:
        at, _ = read.given[kinds[1]]
        report.error(at, f"{expected}, found {' and '.join(kinds)}; make a target of each")
    elif not kinds and not read.strange:
        report.error(node.at, f"{expected}, found none of them")
    return kinds[0] if kinds else None


def _default_name(node: Entries, kind: Kind, read: Read, report: Report) -> str:
    if kind not in NAMELESS:
        return kind if kind == "all" else f"{kind}:{read.values[kind]}"
    if "name" not in read.given:
        report.error(node.at, f"name: missing; a target with {kind!r} must be given one")
    return ""


def _static_labels(
    own: Mapping[str, tuple[str, At]], common: Mapping[str, tuple[str, At]]
) -> tuple[tuple[str, str], ...]:
    """A target's own go first, and in the place of common ones of the same name."""
    return tuple((name, value) for name, (value, _) in ({**own, **common, **own}).items())


def _check_follow_forks(read: Read, report: Report) -> None:
    others = [kind for kind in TARGET_KINDS if kind in read.given and kind not in _MAY_NOT_FOLLOW]
    if read.values["follow_forks"] is False and others:
        at, _ = read.given["follow_forks"]
        report.error(
            at,
            f"follow_forks: expected it beside 'pid', 'pidfile' or 'match', found it beside "
            f"'{others[0]}', where 'false' has no meaning (children are in it, too); remove it",
        )

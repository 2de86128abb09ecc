"""The list of targets: a PID, the path of a cgroup, or a mapping that says more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exporter.config.buckets import snap
from exporter.config.catalog import TARGET, TARGET_KINDS
from exporter.config.cgroup_path import locate
from exporter.config.kinds import mend_number
from exporter.config.model import Target
from exporter.config.nodes import At, Entries, Node, Scalar, quote
from exporter.config.report import Report
from exporter.config.section import Read, read_section


@dataclass(frozen=True, slots=True)
class Listed:
    """A target and where it stands; `name_at` is the place of its name, where one is written."""

    target: Target
    at: At
    name_at: At


def read_targets(
    nodes: Iterable[Node], cgroup_root: str, scale: int | None, report: Report
) -> list[Listed]:
    """The targets that could be read. Without a `scale` (it is wrong), bounds go unchecked."""
    listed = []
    for node in nodes:
        mapping = _as_mapping(node)
        if mapping is None:
            expected = "a PID, the path of a cgroup (it begins with '/') or a mapping"
            report.unexpected("target", node, expected, _mend(node))
        elif target := _read_target(mapping, cgroup_root, scale, report):
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


def _read_target(
    node: Entries, cgroup_root: str, scale: int | None, report: Report
) -> Listed | None:
    read = read_section(TARGET, node, report)
    kind = _kind(node, read, report)
    _check_follow_forks(read, report)
    buckets = read.values["buckets"]
    if buckets is not None and scale is not None:
        buckets = snap("buckets", buckets, scale, report)
    if kind is None or read.values[kind] is None:
        return None

    written = read.values["cgroup"] if kind == "cgroup" else None
    cgroup, absolute = locate(written, cgroup_root) if written else (None, False)
    target = Target(
        name=read.values["name"] or (kind if kind == "all" else f"{kind}:{read.values[kind]}"),
        kind=kind,
        pid=read.values["pid"] if kind == "pid" else None,
        cgroup=cgroup,
        follow_forks=read.values["follow_forks"],
        buckets=buckets,
        line=node.at.line,
        absolute=absolute,
    )
    _, name_at = read.given.get("name", (node.at, node.at))
    return Listed(target, node.at, name_at)


def _kind(node: Entries, read: Read, report: Report) -> str | None:
    kinds = [key for key in read.given if key in TARGET_KINDS]
    expected = f"target: expected exactly one of {', '.join(TARGET_KINDS)}"
    if len(kinds) > 1:
        at, _ = read.given[kinds[1]]
        report.error(at, f"{expected}, found {' and '.join(kinds)}; make a target of each")
    elif not kinds and not read.strange:
        report.error(node.at, f"{expected}, found none of them")
    return kinds[0] if kinds else None


def _check_follow_forks(read: Read, report: Report) -> None:
    others = [key for key in read.given if key in TARGET_KINDS and key != "pid"]
    if read.values["follow_forks"] is False and others:
        at, _ = read.given["follow_forks"]
        report.error(
            at,
            f"follow_forks: expected it beside 'pid', found it beside '{others[0]}', where "
            "'false' has no meaning (children are in it, too); remove it",
        )

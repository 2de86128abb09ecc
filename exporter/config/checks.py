"""What is wrong, or cannot be meant, with several targets at once."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import fields

from exporter.config.nodes import At, quote
from exporter.config.report import Report
from exporter.config.targets import Listed
from exporter.model.target import ContainerWords, PodWords, Target, Words

#: First components beneath /sys/fs/cgroup that name a hierarchy, not a cgroup, on v1 and hybrid
#: machines: Documentation/admin-guide/cgroup-v1/, systemd's src/shared/cgroup-setup.c. Where
#: several controllers share a hierarchy, commas join them.
_HIERARCHIES = {
    *("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc"),
    *("net_cls", "net_prio", "perf_event", "pids", "rdma", "elogind", "openrc", "systemd"),
    "unified",
}


def check_count(listed: Sequence[Listed], trees: int, report: Report) -> None:
    """No more targets of one tree than `limits.trees`; warns where they leave none to others."""
    single = [item for item in listed if not item.target.many]
    many = [item for item in listed if item.target.many]
    if len(single) > trees:
        report.error(
            single[trees].at,
            f"targets: expected at most {trees} (limits.trees), found {len(single)}; "
            "raise the limit or list fewer",
        )
    elif many and len(single) == trees:
        report.warn(
            many[0].at,
            f"target {quote(many[0].target.name)} can hold no process: the other targets take all "
            f"{trees} trees of limits.trees; raise the limit",
        )


def check_doubles(listed: Sequence[Listed], report: Report) -> None:
    """Nothing is listed twice, and no two targets share a name.

    Of targets with `match` the first holds what two would, so a second one is a warning only.
    """
    roots: dict[object, At] = {}
    names: dict[str, At] = {}
    for item in listed:
        root, name = _identity(item.target), item.target.name
        if item.target.kind != "match" and root in roots:
            report.error(
                item.at,
                f"target: {_root(item.target)} is listed twice, {_first(roots[root])}; "
                "remove one of them",
            )
        elif name in names:
            report.error(
                item.name_at,
                f"name: {quote(name)} is used twice, {_first(names[name])}; "
                "give each target its own",
            )
        roots.setdefault(root, item.at)
        names.setdefault(name, item.name_at)


def _first(at: At) -> str:
    return f"first on line {at.line}"


def _identity(target: Target) -> object:
    """What is followed. Equal ones are the same thing on every machine.

    /sys/fs/cgroup/x and /x are one cgroup, unless "x" may be a v1 hierarchy.
    """
    if target.cgroup is not None:
        return "cgroup", target.cgroup, _in_hierarchy(target)
    if target.pidfile is not None:
        return "pidfile", posixpath.normpath(target.pidfile).replace("//", "/")
    words = target.match or target.container or target.kubernetes
    return target.kind, target.root, words and _meaning(words)


def _in_hierarchy(target: Target) -> bool:
    first = (target.cgroup or "").split("/")[1].split(",")[0]
    return target.absolute and first in _HIERARCHIES


def _meaning(words: Words | ContainerWords | PodWords) -> tuple[object, ...]:
    """The words without their order, on which nothing depends."""
    return tuple(frozenset(getattr(words, field.name)) for field in fields(words))


def _root(target: Target) -> str:
    """What is followed, in words."""
    match target.kind:
        case "pid":
            return f"PID {target.pid}"
        case "all":
            return "'all'"
        case "cgroup" if _in_hierarchy(target):
            return f"the cgroup {quote(target.root[1:])} beneath the cgroup root"
        case "container" | "kubernetes" | "match":
            return f"{target.kind!r} with these words"
    return f"the {'unit' if target.kind == 'systemd' else target.kind} {quote(target.root)}"


def warn_unreachable(listed: Sequence[Listed], everything: frozenset[At], report: Report) -> None:
    """Targets that can never hold a process, by the ranking: cgroups, `match`, `all` and PID 1.

    `everything` are the places of the words that every process fits.
    """
    cgroups = [other for other in listed if other.target.kind in ("cgroup", "systemd")]
    matches = [other for other in listed if other.target.kind == "match"]
    for item in listed:
        if item.target.kind == "match":
            before = cgroups + [other for other in matches if other.at < item.at]
        elif item.target.kind == "all" or (item.target.pid == 1 and item.target.follow_forks):
            before = cgroups + matches
        else:
            continue
        for other in before:
            if reason := _takes_all(item, other, everything):
                report.warn(
                    item.at,
                    f"target {quote(item.target.name)} can hold no process: {reason} on line "
                    f"{other.at.line} ranks before it and holds all; remove one of them",
                )
                break


def _takes_all(item: Listed, other: Listed, everything: frozenset[At]) -> str:
    """Why `other` leaves nothing to `item`, which ranks after it; "" where it may leave some."""
    if not set(other.target.exclude) <= set(item.target.exclude):
        return ""
    if other.target.cgroup == "/":
        return "the cgroup '/'"
    if other.target.systemd == "-.slice":
        return "the unit '-.slice'"
    if other.match and other.target.follow_forks:
        if other.match.at in everything:
            return "the 'match'"
        if item.match and _meaning(item.match.words) == _meaning(other.match.words):
            return "the 'match' with the same words"
    return ""

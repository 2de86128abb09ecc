"""What is wrong, or cannot be meant, with several targets at once."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.config.model import Target
from exporter.config.nodes import At, quote
from exporter.config.report import Report
from exporter.config.targets import Listed

#: First components beneath /sys/fs/cgroup that name a hierarchy, not a cgroup, on v1 and hybrid
#: machines: Documentation/admin-guide/cgroup-v1/, systemd's src/shared/cgroup-setup.c. Where
#: several controllers share a hierarchy, commas join them.
_HIERARCHIES = {
    *("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc"),
    *("net_cls", "net_prio", "perf_event", "pids", "rdma", "elogind", "openrc", "systemd"),
    "unified",
}


def check_count(listed: Sequence[Listed], trees: int, report: Report) -> None:
    """No more targets than `limits.trees`."""
    if len(listed) > trees:
        report.error(
            listed[trees].at,
            f"targets: expected at most {trees} (limits.trees), found {len(listed)}; "
            "raise the limit or list fewer",
        )


def check_doubles(listed: Sequence[Listed], report: Report) -> None:
    """Nothing is listed twice, and no two targets share a name."""
    roots: dict[str, At] = {}
    names: dict[str, At] = {}
    for item in listed:
        root, name = _identity(item.target), item.target.name
        if root in roots:
            at, first = item.at, roots[root]
            report.error(at, f"target: {root} is listed twice, {_first(first)}; remove one of them")
        elif name in names:
            at, first = item.name_at, names[name]
            report.error(
                at,
                f"name: {quote(name)} is used twice, {_first(first)}; give each target its own",
            )
        roots.setdefault(root, item.at)
        names.setdefault(name, item.name_at)


def _first(at: At) -> str:
    return f"first on line {at.line}"


def _identity(target: Target) -> str:
    """What is followed, in words. Equal words are the same thing on every machine.

    /sys/fs/cgroup/x and /x are one cgroup, unless "x" may be a v1 hierarchy.
    """
    if target.kind == "pid":
        return f"PID {target.pid}"
    if target.kind == "all":
        return "'all'"
    assert target.cgroup is not None
    hierarchy = target.cgroup.split("/")[1].split(",")[0]
    if target.absolute and hierarchy in _HIERARCHIES:
        return f"the cgroup {quote(target.cgroup[1:])} beneath the cgroup root"
    return f"the cgroup {quote(target.cgroup)}"


def warn_unreachable(listed: Sequence[Listed], report: Report) -> None:
    """Targets that can never hold a process, by the ranking of cgroups above `all` and PID 1."""
    root = next((item.at.line for item in listed if item.target.cgroup == "/"), None)
    if root is None:
        return
    for item in listed:
        target = item.target
        if target.kind == "all" or (target.pid == 1 and target.follow_forks):
            report.warn(
                item.at,
                f"target {quote(target.name)} can hold no process: the cgroup '/' on line {root} "
                "ranks before it and holds all; remove one of them",
            )

"""Writes recording.yaml: the rates that dashboards ask for again and again.

    .venv/bin/python dashboards/rules/generate.py > dashboards/rules/recording.yaml

A rule takes labels away and never names one that it keeps, so `job`, `instance`, `node` and
whatever `labels`, `static_labels` and `group_by` add stay. The classes of calls are the exporter's
own, from exporter/model/classes.py.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

from exporter.kernel.syscalls import OTHER, UNKNOWN
from exporter.model.classes import CLASSES, MEMBERS

_BY_CALL = "proctree_syscall_duration_seconds"
_BY_CLASS = "proctree_syscall_class_duration_seconds"


class Rule(NamedTuple):
    """One recording rule; `labels` are set on all its series."""

    record: str
    expr: str
    labels: tuple[tuple[str, str], ...] = ()


def names_of(class_: str) -> str:
    """The calls of a class as a regular expression, to compare the label `syscall` with."""
    return "|".join([OTHER, UNKNOWN] if class_ == OTHER else MEMBERS[class_].split())


def _seconds(name: str, matcher: str) -> str:
    """Seconds spent for each second, whichever kind of histogram Prometheus has of it.

    Where it has both they are of one label set, and the first counts.
    """
    return f"rate({name}_sum{{{matcher}}}[5m])\n  or histogram_sum(rate({name}{{{matcher}}}[5m]))"


def _time_in(class_: str) -> Rule:
    """By call where there are histograms by call, else by class."""
    by_call = _seconds(_BY_CALL, f'syscall=~"{names_of(class_)}"')
    by_class = _seconds(_BY_CLASS, f'class="{class_}"')
    expr = f"sum without (syscall) (\n  {by_call}\n)\nor sum without (class) (\n  {by_class}\n)"
    return Rule("tree_class:proctree_syscall_duration_seconds:rate5m", expr, (("class", class_),))


OURS = "and on (job, instance) proctree_exporter_build_info"

TREES = (
    Rule(
        "tree:proctree_syscalls:rate5m",
        "sum without (syscall) (rate(proctree_syscalls_total[5m]))",
    ),
    Rule(
        "tree:proctree_syscall_errors:rate5m",
        "sum without (syscall, errno) (rate(proctree_syscall_errors_total[5m]))",
    ),
    Rule(
        "tree_errno:proctree_syscall_errors:rate5m",
        "sum without (syscall) (rate(proctree_syscall_errors_total[5m]))",
    ),
    *map(_time_in, CLASSES),
)
EXPORTERS = (
    Rule("instance:proctree_exporter_cpu:rate5m", f"rate(process_cpu_seconds_total[5m])\n{OURS}"),
    Rule(
        "instance:proctree_exporter_bpf_run_seconds:rate5m",
        "sum without (program) (rate(proctree_exporter_bpf_run_seconds_total[5m]))",
    ),
)
GROUPS = {"proctree-trees.rules": TREES, "proctree-exporters.rules": EXPORTERS}


class _Dumper(yaml.SafeDumper):
    """Lines of an expression stay lines."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _text)


def text() -> str:
    """The file as it is checked in."""
    groups = [
        {
            "name": name,
            "rules": [
                {"record": rule.record, "expr": rule.expr}
                | ({"labels": dict(rule.labels)} if rule.labels else {})
                for rule in rules
            ],
        }
        for name, rules in GROUPS.items()
    ]
    head = "# Written by generate.py beside it, from the exporter's classes of calls.\n"
    return head + yaml.dump({"groups": groups}, Dumper=_Dumper, sort_keys=False, width=2**20)


if __name__ == "__main__":
    print(text(), end="")

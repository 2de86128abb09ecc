"""Recording rules and alerts fit the exporter's own tables, and fire when they should."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.rules import generate
from exporter.kernel.syscalls import OTHER, UNKNOWN, Abi, load_errnos, load_names
from exporter.model.classes import CLASSES, MEMBERS
from exporter.publish.catalog import CATALOG
from exporter.publish.process import process_families, process_registry
from tests.harness import ROOT

RULES = ROOT / "dashboards/rules"
RUNBOOKS = ROOT / "docs/runbooks"
TESTS = sorted((RULES / "tests").glob("*.yaml"))
#: Debian's, and that of Prometheus 3; and what brings each.
PROMTOOLS = {"promtool": "make test", "promtool3": "make tools"}
#: Any that Prometheus has for a series whatever the config: what else a rule names, it may lack.
ALWAYS = {"job", "instance", "target"}

Rule = dict[str, Any]


def groups(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((RULES / file).read_text())["groups"]
    return found


def rules(file: str) -> list[Rule]:
    return [rule for group in groups(file) for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules("alerts.yaml") if "alert" in rule}
ALL = [*rules("recording.yaml"), *rules("alerts.yaml")]


def matched(expr: str, label: str) -> Iterator[tuple[str, set[str]]]:
    """The operator and the values of each matcher of a label; all of ours are lists."""
    for operator, values in re.findall(rf'\b{label}(=~|!~|!=|=)"([^"]*)"', expr):
        yield operator, set(values.split("|"))


def run(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not on PATH: use {PROMTOOLS[tool]}")
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("tool", PROMTOOLS)
def test_promtool_accepts_the_rules(tool: str) -> None:
    """Without a complaint."""
    done = run(tool, "check", "rules", RULES / "recording.yaml", RULES / "alerts.yaml")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("tool", "file"),
    [
        pytest.param(tool, file, id=f"{tool}-{file.stem}")
        for tool in PROMTOOLS
        for file in TESTS
        if tool == "promtool3" or not file.stem.endswith("_native")
    ],
)
def test_promtools_tests_pass(tool: str, file: Path) -> None:
    """When an alert fires, and when it stays silent; native histograms by Prometheus 3 only."""
    done = run(tool, "test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_recording_rules_checked_in_are_those_generated() -> None:
    """After a change: python dashboards/rules/generate.py > dashboards/rules/recording.yaml."""
    assert (RULES / "recording.yaml").read_text() == generate.text()


def test_groups_have_names_of_their_own() -> None:
    """Over both files: the chart puts them into one, where Prometheus would refuse a second."""
    names = [group["name"] for file in ("recording.yaml", "alerts.yaml") for group in groups(file)]
    assert len(set(names)) == len(names)


def test_each_class_of_calls_has_its_time() -> None:
    """By the names that the exporter itself puts into the class."""
    record = "tree_class:proctree_syscall_duration_seconds:rate5m"
    found = {r["labels"]["class"]: r["expr"] for r in ALL if r.get("record") == record}
    assert list(found) == list(CLASSES)
    for class_, expr in found.items():
        names = set(MEMBERS[class_].split()) if class_ != OTHER else {OTHER, UNKNOWN}
        assert list(matched(expr, "syscall")) == [("=~", names)] * 2
        assert list(matched(expr, "class")) == [("=", {class_})] * 2


def test_calls_that_wait_for_work_are_never_stuck() -> None:
    """All of the classes `wait`, `futex` and `sleep`; and the rest is one of the two kinds."""
    waits = {name for class_ in ("wait", "futex", "sleep") for name in MEMBERS[class_].split()}
    (first, never), (second, either) = matched(ALERTS["ProctreeSyscallStuck"]["expr"], "syscall")
    assert (first, second) == ("!~", "=~")
    assert either & waits == set()
    assert never == waits | either | {OTHER, UNKNOWN}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.get("alert") or rule["record"])
def test_rules_name_what_there_is(rule: Rule) -> None:
    """Metrics of the catalog, calls and errors of the tables; and no label that may be missing."""
    expr = rule["expr"]
    calls = {name for abi in Abi for name in load_names(abi).values()} | {OTHER, UNKNOWN}
    assert {name for _, names in matched(expr, "syscall") for name in names} <= calls
    assert {e for _, errnos in matched(expr, "errno") for e in errnos} <= {*load_errnos().values()}
    known = {metric.name for metric in CATALOG} | {"up"}
    known |= {f"{m.name}_sum" for m in CATALOG if m.kind == "histogram"}
    known |= {family.metric.name for family in process_families(process_registry())}
    known |= {other["record"] for other in ALL if "record" in other}
    plain = re.sub(r'"[^"]*"', "", expr)
    named = set(re.findall(r"\b(?:up|[a-z_:]*(?:proctree|process)_[a-z0-9_:]+)\b", plain))
    assert named
    assert named <= known
    for _, labels in re.findall(r"\b(on|by|group_left|group_right) \(([^)]*)\)", plain):
        assert set(labels.split(", ")) <= ALWAYS


def test_what_is_taken_away_is_the_metrics_own() -> None:
    """`without` and `ignoring` name labels of the metric, never of its tree, job or node."""
    own = {label for metric in CATALOG for label in metric.labels} - {"target"}
    for rule in ALL:
        for labels in re.findall(r"\b(?:without|ignoring) \(([^)]*)\)", rule["expr"]):
            assert set(labels.split(", ")) <= own


@pytest.mark.parametrize("alert", ALERTS.values(), ids=ALERTS)
def test_each_alert_says_what_to_do(alert: Rule) -> None:
    """A severity, two sentences, a runbook; and a test of promtool has seen it fire."""
    name = alert["alert"]
    assert alert["labels"] == {"severity": "warning"}
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    runbook = RUNBOOKS / f"{name}.md"
    assert alert["annotations"]["runbook_url"] == str(runbook.relative_to(ROOT))
    assert runbook.read_text().startswith(f"# {name}\n")
    assert any(re.search(rf"\b{name}\b", file.read_text()) for file in TESTS)


def test_each_runbook_has_its_alert() -> None:
    """None is left over, and what they link is there."""
    assert {file.stem for file in RUNBOOKS.glob("*.md")} == set(ALERTS)
    for file in RUNBOOKS.glob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text()):
            assert (file.parent / link).exists(), f"{file.name}: {link}"

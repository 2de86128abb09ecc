"""The chart's alerts: Prometheus takes them, each fires when it should, on metrics that we have."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from exporter.publish.catalog import BY_NAME
from tests.harness import ROOT
from tests.helm.chart import needs_helm, one, render

pytestmark = [
    needs_helm,
    pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool (apt: prometheus)"),
]
TESTS = ROOT / "tests/helm/rules.yaml"


def promtool(folder: Path, *arguments: str) -> None:
    """As they are in the PrometheusRule."""
    spec = one(render({"prometheusRule": {"enabled": True}}), "PrometheusRule")["spec"]
    (folder / "rules.yaml").write_text(yaml.safe_dump(spec))
    shutil.copy(TESTS, folder / "tests.yaml")
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    """`promtool check rules`."""
    promtool(tmp_path, "check", "rules", "rules.yaml")


def test_each_alert_fires_when_it_should(tmp_path: Path) -> None:
    """By made-up series; not before, and not for others."""
    promtool(tmp_path, "test", "rules", "tests.yaml")
    rules = one(render({"prometheusRule": {"enabled": True}}), "PrometheusRule")["spec"]["groups"]
    alerts = {rule["alert"] for group in rules for rule in group["rules"]}
    assert alerts == set(re.findall(r"alertname: (\w+)\n", TESTS.read_text()))


def test_all_metrics_of_the_rules_are_ours() -> None:
    """Each that is named is in the catalog."""
    text = "".join(path.read_text() for path in (ROOT / "helm").rglob("rules/*.yaml"))
    named = set(re.findall(r"\bproctree_\w+", text))
    assert named and named <= BY_NAME.keys()

"""Renders the chart as `helm template` does, and reads what comes out."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import ROOT

HELM = shutil.which("helm")
CHART = ROOT / "helm/proctree-exporter"
#: By name, each a way to install the chart.
VALUES = {path.stem: path for path in sorted((ROOT / "tests/helm/values").glob("*.yaml"))}
needs_helm = pytest.mark.skipif(not HELM, reason="helm is not on PATH: use make tools")


def helm(*arguments: object, stdin: str = "") -> str:
    """Its output; it must succeed."""
    done = _run(arguments, stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*arguments: object, stdin: str = "") -> str:
    """What it says before it fails."""
    done = _run(arguments, stdin)
    assert done.returncode, done.stdout
    return done.stderr


def render(values: Path | dict[str, Any], chart: Path = CHART) -> str:
    """The manifests of a release `r` in the namespace `monitoring`, with a file or with values."""
    return _render(chart, values.read_text() if isinstance(values, Path) else json.dumps(values))


@cache
def _render(chart: Path, values: str) -> str:
    return helm("template", "r", chart, "--namespace=monitoring", "-f", "-", stdin=values)


def documents(manifests: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(manifests) if document]


def one(manifests: str, kind: str) -> dict[str, Any]:
    """The only resource of this kind."""
    (found,) = [document for document in documents(manifests) if document["kind"] == kind]
    return found


def container(manifests: str) -> dict[str, Any]:
    """The exporter's, of the DaemonSet."""
    (found,) = one(manifests, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def config(manifests: str) -> str:
    """The exporter's config file."""
    found = [d for d in documents(manifests) if "config.yaml" in d.get("data", {})]
    (text,) = [d["data"]["config.yaml"] for d in found]
    return str(text)


def _run(arguments: tuple[object, ...], stdin: str) -> subprocess.CompletedProcess[str]:
    assert HELM
    command = [HELM, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True)

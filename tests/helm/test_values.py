"""Every value does something, is described, and is checked."""

from __future__ import annotations

import copy
import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import ROOT
from tests.helm.chart import CHART, needs_helm, render

DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
Path_ = tuple[str, ...]

#: All that a value can be seen in.
BASE = {
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "webConfig": {"secretName": "web", "authentication": False},
    "hostRootFsMount": {"enabled": True},
}
#: Other values, where it is not enough to negate, to add 1 or an "x".
OTHERS: dict[str, Any] = {
    "config.histograms.buckets": [1],
    "config.histograms.by": "class",
    "config.histograms.classic": False,
    "config.labels": ["pod"],
    "config.targets": [{"name": "init", "pid": 1}],
    "env": {"A": "b"},
    "extraArgs": ["--web.enable-api"],
    "extraCapabilities": ["SYS_ADMIN"],
    "hostRootFsMount.mountPropagation": "None",
    "image.digest": f"sha256:{'0' * 64}",
    "image.pullPolicy": "Never",
    "podMonitor.interval": "15s",
    "podMonitor.scrapeProtocols": ["PrometheusText0.0.4"],
    "podMonitor.scrapeTimeout": "15s",
    "serviceMonitor.interval": "15s",
    "serviceMonitor.scrapeProtocols": ["PrometheusText0.0.4"],
    "serviceMonitor.scrapeTimeout": "15s",
    "updateStrategy.rollingUpdate.maxUnavailable": 2,
    "updateStrategy.type": "OnDelete",
    "webConfig.scheme": "http",
}


def leaves(values: dict[str, Any], above: Path_ = ()) -> Iterator[Path_]:
    """Paths to all that is not a map with something in it."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key)


def at(values: dict[str, Any], path: Path_) -> Any:
    """None where there is nothing."""
    for key in path:
        values = (values or {}).get(key)  # type: ignore[assignment]
    return values


def with_value(values: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    changed = inner = copy.deepcopy(values)
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    return changed


def other(path: Path_, now: Any) -> Any:
    """Another value that is allowed there."""
    if ".".join(path) in OTHERS:
        return OTHERS[".".join(path)]
    if now is None or isinstance(now, bool):
        return not now
    if isinstance(now, int):
        return now + 1
    if isinstance(now, str):
        return f"{now}x"
    if isinstance(now, list):
        return [*now, {"name": "x"} if not now or isinstance(now[0], dict) else "X"]
    return {"example.com/x": "x"}


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a dashboard, whichever there are."""
    place = shutil.copytree(CHART, tmp_path_factory.mktemp("helm") / "chart")
    (place / "dashboards").mkdir(exist_ok=True)
    (place / "dashboards/some.json").write_text("{}\n")
    return place


@needs_helm
@pytest.mark.parametrize("path", list(leaves(DEFAULTS)), ids=".".join)
def test_every_value_is_used(chart: Path, path: Path_) -> None:
    """Changed, whatever else is on, it changes what is installed."""
    monitor = "serviceMonitor" if path[0] == "serviceMonitor" else "podMonitor"
    base = BASE | {monitor: {"enabled": True}}
    now = at(base, path)
    changed = with_value(base, path, other(path, at(DEFAULTS, path) if now is None else now))
    assert render(changed, chart) != render(base, chart)


def test_the_schema_knows_the_values_and_no_others() -> None:
    """Down to the maps that are Kubernetes' or the exporter's."""
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["properties"].keys() - {"global"} == DEFAULTS.keys()
    for name, schema in SCHEMA["properties"].items():
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if name not in ("config", "startupProbe", "livenessProbe", "readinessProbe", "resources"):
            keys = schema.get("properties", {}).keys()
            assert not keys or keys == DEFAULTS[name].keys(), name
            assert not keys or schema["additionalProperties"] is False, name


def test_the_schema_of_config_is_the_exporters() -> None:
    """As `python scripts/helm/values_schema.py` writes it, from config/schema.json."""
    generate = runpy.run_path(str(ROOT / "scripts/helm/values_schema.py"))["generate"]
    assert generate() == (CHART / "values.schema.json").read_text()


@pytest.mark.skipif(not shutil.which("helm-docs"), reason="helm-docs is missing: use make tools")
def test_the_readme_is_made_of_the_values(tmp_path: Path) -> None:
    """As `make chart` writes it; each value is described."""
    copied = shutil.copytree(CHART, tmp_path / "chart")
    command = ["helm-docs", "--chart-search-root", tmp_path, "--sort-values-order", "file"]
    subprocess.run(command, check=True, capture_output=True)
    text = (copied / "README.md").read_text()
    assert text == (CHART / "README.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| .* \| ?(.*) \|$", text, re.MULTILINE)
    assert all(described for _, described in rows), rows
    told = [key for key, _ in rows]
    for path in leaves(DEFAULTS):
        assert any(".".join(path[:n]) in told for n in range(1, len(path) + 1)), path

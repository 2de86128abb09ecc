"""What is installed is what Kubernetes and Prometheus Operator know, in each of three minors."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness import ROOT
from tests.helm.chart import VALUES, needs_helm, render

KUBECONFORM = shutil.which("kubeconform")
needs_kubeconform = pytest.mark.skipif(not KUBECONFORM, reason="no kubeconform: use make tools")
pytestmark = [needs_helm, needs_kubeconform]

SCHEMAS = ROOT / "tests/helm/schemas"
VERSIONS = [path.stem.partition("-")[2] for path in sorted(SCHEMAS.glob("kubernetes-[0-9]*.json"))]


@pytest.fixture(scope="module", params=VERSIONS)
def schemas(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each kind of this version, as kubeconform looks for them."""
    folder = tmp_path_factory.mktemp(f"kubernetes-{request.param}")
    known = json.loads((SCHEMAS / f"kubernetes-{request.param}.json").read_text())
    for name in known["kinds"]:
        schema = {"$ref": f"#/definitions/{name}", "definitions": known["definitions"]}
        (folder / f"{name.rpartition('.')[2].lower()}.json").write_text(json.dumps(schema))
    for crd in json.loads((SCHEMAS / "prometheus-operator.json").read_text()):
        (version,) = crd["spec"]["versions"]
        schema = strict(version["schema"]["openAPIV3Schema"])
        name = crd["spec"]["names"]["singular"]
        (folder / f"{name}.json").write_text(json.dumps(schema))
    return folder


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """With no keys but those that are named, which an API server would drop."""
    made = {
        key: {name: strict(inner) for name, inner in value.items()}
        if key == "properties"
        else strict(value)
        if key in ("items", "additionalProperties") and isinstance(value, dict)
        else value
        for key, value in schema.items()
        if key != "format"  # of Go's types, which JSON Schema does not know
    }
    closed = "properties" in made and "x-kubernetes-preserve-unknown-fields" not in made
    return made | ({"additionalProperties": False} if closed and made["properties"] else {})


def conform(folder: Path, manifests: str) -> subprocess.CompletedProcess[str]:
    assert KUBECONFORM
    location = f"{folder}/{{{{.ResourceKind}}}}.json"
    command = [KUBECONFORM, "-strict", "-summary", "-schema-location", location]
    return subprocess.run(command, input=manifests, capture_output=True, text=True)


@pytest.mark.parametrize("name", VALUES)
def test_every_resource_is_valid(schemas: Path, name: str) -> None:
    """No key is unknown, no type is wrong, and no kind is skipped."""
    manifests = render(VALUES[name])
    done = conform(schemas, manifests)
    assert done.returncode == 0, done.stdout
    kinds = manifests.count("\nkind: ")
    assert f"Valid: {kinds}, Invalid: 0, Errors: 0, Skipped: 0" in done.stdout


@pytest.mark.parametrize(
    ("is_", "was"),
    [
        ("hostPIDs: true", "hostPID: true"),
        ("containerPort: metrics", "containerPort: 9847"),
        ("honourLabels: true", "honorLabels: true"),
        ("scrapeClassicHistograms: yes please", "scrapeClassicHistograms: true"),
    ],
)
def test_what_is_wrong_would_be_seen(schemas: Path, is_: str, was: str) -> None:
    """Of Kubernetes' kinds and of the operator's."""
    manifests = render({"podMonitor": {"enabled": True}})
    assert was in manifests
    assert conform(schemas, manifests.replace(was, is_)).returncode == 1

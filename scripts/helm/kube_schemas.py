"""Writes what the chart's tests know of Kubernetes' types: tests/helm/schemas/.

    .venv/bin/python scripts/helm/kube_schemas.py

It needs go, and 150 MB of modules the first time: Kubernetes' own OpenAPI, of the last three
minors, and the CRDs of Prometheus Operator come with them. Kept is what the kinds of the chart use,
without descriptions, and no key is allowed that is not named.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

#: The last is the newest; to move on, add one and drop the first.
KUBERNETES = ("v1.35.4", "v1.36.3", "v1.37.1")
OPERATOR = "v0.94.1"
KINDS = (
    "io.k8s.api.apps.v1.DaemonSet",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.core.v1.ServiceAccount",
    "io.k8s.api.networking.v1.NetworkPolicy",
    "io.k8s.api.rbac.v1.ClusterRole",
    "io.k8s.api.rbac.v1.ClusterRoleBinding",
)
CRDS = ("podmonitors", "prometheusrules", "servicemonitors")
PLACE = Path(__file__).resolve().parents[2] / "tests/helm/schemas"
#: Written as a string in Swagger 2, which has no word for either.
_TEXT_OR_NUMBER = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def module(name: str, version: str) -> Path:
    """Its folder; go verifies what it downloads."""
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"{name}@{version}"], check=True, capture_output=True
    )
    return Path(json.loads(done.stdout)["Dir"])


def undescribed(node: Any) -> Any:
    """Without what is for people."""
    if isinstance(node, list):
        return [undescribed(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: undescribed(value)
        for key, value in node.items()
        if not (key == "description" and isinstance(value, str))
    }


def strict(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """As JSON Schema: numbers where Kubernetes takes them, and no other key than those named."""
    if name == _TEXT_OR_NUMBER:
        return {"type": ["string", "number"]}
    if definition.get("format") == "int-or-string":
        return {"type": ["string", "integer"]}
    if "properties" in definition:
        return {**definition, "additionalProperties": False}
    return definition


def used(definitions: dict[str, Any]) -> list[str]:
    """The kinds, and all that they refer to."""
    found: set[str] = set()
    todo = list(KINDS)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += re.findall(r'"#/definitions/([^"]+)"', json.dumps(definitions[name]))
    return sorted(found)


def kubernetes(version: str) -> dict[str, Any]:
    place = module("k8s.io/kubernetes", version) / "api/openapi-spec/swagger.json"
    all_ = json.loads(place.read_text())["definitions"]
    definitions = {name: strict(name, undescribed(all_[name])) for name in used(all_)}
    return {"kinds": list(KINDS), "definitions": definitions}


def crds() -> list[Any]:
    """As an API server takes them."""
    folder = module("github.com/prometheus-operator/prometheus-operator", OPERATOR)
    top = folder / "example/prometheus-operator-crd"
    files = [top / f"monitoring.coreos.com_{name}.yaml" for name in CRDS]
    return [undescribed(yaml.safe_load(file.read_text())) for file in files]


def write(name: str, content: Any) -> None:
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    (PLACE / name).write_text(text.replace('},"', '},\n"') + "\n")


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for version in KUBERNETES:
        write(f"kubernetes-{version.removeprefix('v')}.json", kubernetes(version))
    write("prometheus-operator.json", crds())


main()

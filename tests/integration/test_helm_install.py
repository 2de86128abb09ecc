"""Helm installs, changes and removes the chart, at a real API server with the operator's CRDs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.caller import until
from tests.harness import ROOT
from tests.helm.chart import CHART, VALUES, helm, needs_helm
from tests.integration.kube.cluster import ADMIN, MISSING, Cluster

pytestmark = [needs_helm, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
APPS, RBAC = "/apis/apps/v1", "/apis/rbac.authorization.k8s.io/v1"
ELSEWHERE = ("observability", "prometheus", "grafana")  # namespaces that values name
CRDS = ROOT / "tests/helm/schemas/prometheus-operator.json"


class Releases:
    """Helm, as the administrator of a control plane."""

    def __init__(self, cluster: Cluster, kubeconfig: Path) -> None:
        self.cluster, self._kubeconfig = cluster, kubeconfig

    def __call__(self, *arguments: object, stdin: str = "") -> str:
        return helm(*arguments, f"--kubeconfig={self._kubeconfig}", stdin=stdin)

    def get(self, path: str) -> Any:
        return self.cluster.call("GET", path)

    def upgrade(self, name: str, values: dict[str, Any]) -> Any:
        """Installed with these values, or brought there: its DaemonSet."""
        given = ("--install", f"--namespace={name}", "--create-namespace", "-f", "-")
        self("upgrade", name, CHART, *given, stdin=json.dumps(values))
        return self.get(f"{APPS}/namespaces/{name}/daemonsets/{name}-proctree-exporter")

    def may(self, account: str, verb: str, resource: str) -> bool:
        """Whether RBAC lets a ServiceAccount, as NAMESPACE:NAME, in all namespaces."""
        attributes = {"verb": verb, "resource": resource}
        user = {"user": f"system:serviceaccount:{account}", "resourceAttributes": attributes}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(self.cluster.call("POST", path, {"spec": user})["status"]["allowed"])


@pytest.fixture(scope="module")
def releases(
    control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Releases]:
    file = tmp_path_factory.mktemp("helm") / "kubeconfig"
    cluster = {"server": control_plane.url}
    cluster["certificate-authority"] = str(control_plane.ca.certificate)
    config = {
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": {"token": ADMIN}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    file.write_text(json.dumps(config))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crds = json.loads(CRDS.read_text())
    for crd in crds:
        control_plane.call("POST", path, crd)
    for name in ELSEWHERE:
        control_plane.namespace(name)
    until(lambda: known(control_plane) >= {crd["spec"]["names"]["plural"] for crd in crds}, "CRDs")
    yield Releases(control_plane, file)
    for crd in crds:
        control_plane.call("DELETE", f"{path}/{crd['metadata']['name']}")


def known(cluster: Cluster) -> set[str]:
    """The operator's kinds that the API server serves, which takes it a moment."""
    with suppress(HTTPError):
        served = cluster.call("GET", "/apis/monitoring.coreos.com/v1")["resources"]
        return {resource["name"] for resource in served}
    return set()


@pytest.mark.parametrize("name", VALUES)
def test_it_can_be_installed_and_removed(releases: Releases, name: str) -> None:
    """The API server takes all of it, as it is rendered, and nothing of it is left in the end."""
    roles = {role["metadata"]["name"] for role in releases.get(f"{RBAC}/clusterroles")["items"]}
    namespace = f"--namespace={name}"
    releases("install", name, CHART, namespace, "--create-namespace", "-f", VALUES[name])
    found = releases.get(f"{APPS}/daemonsets")["items"]
    (labels,) = [daemonset["metadata"]["labels"] for daemonset in found]
    assert labels["app.kubernetes.io/instance"] == name
    releases("uninstall", name, namespace)
    assert releases.get(f"{APPS}/daemonsets")["items"] == []
    left = {role["metadata"]["name"] for role in releases.get(f"{RBAC}/clusterroles")["items"]}
    assert left == roles


def test_pods_may_be_read_and_nothing_else(releases: Releases) -> None:
    """What the exporter's account may do in the cluster."""
    releases.upgrade("rights", {})
    account = "rights:rights-proctree-exporter"
    for verb in ("get", "list", "watch"):
        assert releases.may(account, verb, "pods")
        assert not releases.may(account, verb, "secrets")
        assert not releases.may(account, verb, "nodes")
    assert not releases.may(account, "delete", "pods")
    releases("uninstall", "rights", "--namespace=rights")


def test_targets_change_without_a_new_generation_of_pods(releases: Releases) -> None:
    """New targets change the ConfigMap alone; what is fixed at start, the DaemonSet too."""
    first = releases.upgrade("changes", {})
    path = "/api/v1/namespaces/changes/configmaps/changes-proctree-exporter"
    before = releases.get(path)["data"]["config.yaml"]
    targets = {"config": {"targets": [{"name": "shop", "kubernetes": {"namespace": "shop"}}]}}
    second = releases.upgrade("changes", targets)
    after = releases.get(path)["data"]["config.yaml"]
    assert before != after and "namespace: shop" in after
    assert second["metadata"]["generation"] == first["metadata"]["generation"]
    third = releases.upgrade("changes", {"config": {"limits": {"trees": 256}}})
    assert third["metadata"]["generation"] == first["metadata"]["generation"] + 1
    releases("uninstall", "changes", "--namespace=changes")

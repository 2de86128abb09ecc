"""Pods as nodes have them, made through the API: bound to a node, with the status of a kubelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.integration.kube.cluster import Cluster

IMAGE = "registry.test/main:1"


def create(
    cluster: Cluster, name: str, node: str, labels: Mapping[str, str] | None = None,
    namespace: str = "default", containers: Sequence[str] = ("main",), **metadata: Any,
) -> str:  # fmt: skip
    """A pod with these containers, which do not run yet; its UID."""
    document = {
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {
            "nodeName": node,
            "containers": [{"name": container, "image": IMAGE} for container in containers],
            "terminationGracePeriodSeconds": 0,
        },
    }
    return str(cluster.call("POST", _pods(namespace), document)["metadata"]["uid"])


def owned_by(kind: str, name: str, version: str = "apps/v1") -> dict[str, Any]:
    """For `create`: the pod's controller."""
    owner = {
        "apiVersion": version, "kind": kind, "name": name, "controller": True,
        "uid": "00000000-0000-4000-8000-000000000000",
    }  # fmt: skip
    return {"ownerReferences": [owner]}


def run(
    cluster: Cluster, name: str, ids: Mapping[str, str], runtime: str = "containerd",
    namespace: str = "default",
) -> None:  # fmt: skip
    """The kubelet says that these containers run, by these ids; what it said before is gone."""
    statuses = [
        {
            "name": container, "image": IMAGE, "imageID": "", "ready": True, "restartCount": 0,
            "containerID": f"{runtime}://{id_}",
            "state": {"running": {"startedAt": "2025-01-01T00:00:00Z"}},
        }
        for container, id_ in ids.items()
    ]  # fmt: skip
    body = {"status": {"phase": "Running", "containerStatuses": statuses}}
    cluster.call("PATCH", f"{_pods(namespace)}/{name}/status", body)


def relabel(cluster: Cluster, name: str, **labels: str) -> None:
    cluster.call("PATCH", f"{_pods()}/{name}", {"metadata": {"labels": labels}})


def delete(cluster: Cluster, name: str, namespace: str = "default") -> None:
    """At once, as after its grace period."""
    cluster.call("DELETE", f"{_pods(namespace)}/{name}", {"gracePeriodSeconds": 0})


def delete_all(cluster: Cluster, namespace: str = "default") -> None:
    """What tests before have left: the control plane is one for all."""
    cluster.call("DELETE", _pods(namespace), {"gracePeriodSeconds": 0})


def _pods(namespace: str = "default") -> str:
    return f"/api/v1/namespaces/{namespace}/pods"

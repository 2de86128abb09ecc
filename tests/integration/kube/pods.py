"""Pods as nodes have them, made through the API: bound to a node, with the status of a kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.integration.kube.cluster import Cluster

PODS = "/api/v1/namespaces/default/pods"


def create(
    cluster: Cluster, name: str, node: str, labels: Mapping[str, str] | None = None, **metadata: Any
) -> str:
    """A pod with a container `main`, which does not run yet; its UID."""
    document = {
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "image": "registry.test/main:1"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    return str(cluster.call("POST", PODS, document)["metadata"]["uid"])


def owned_by(kind: str, name: str, version: str = "apps/v1") -> dict[str, Any]:
    """For `create`: the pod's controller."""
    owner = {
        "apiVersion": version, "kind": kind, "name": name, "controller": True,
        "uid": "00000000-0000-4000-8000-000000000000",
    }  # fmt: skip
    return {"ownerReferences": [owner]}


def run(cluster: Cluster, name: str, id_: str, runtime: str = "containerd") -> None:
    """The kubelet says that its container runs, by this id."""
    status = {
        "name": "main", "image": "registry.test/main:1", "imageID": "", "ready": True,
        "restartCount": 0, "containerID": f"{runtime}://{id_}",
        "state": {"running": {"startedAt": "2025-01-01T00:00:00Z"}},
    }  # fmt: skip
    body = {"status": {"phase": "Running", "containerStatuses": [status]}}
    cluster.call("PATCH", f"{PODS}/{name}/status", body)


def relabel(cluster: Cluster, name: str, **labels: str) -> None:
    cluster.call("PATCH", f"{PODS}/{name}", {"metadata": {"labels": labels}})


def delete(cluster: Cluster, name: str) -> None:
    """At once, as after its grace period."""
    cluster.call("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

"""What is kept of a pod's JSON, and which workload it belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.metadata.kubernetes.pod import Container, Pod, parse
from exporter.metadata.kubernetes.workload import workload


def test_pod() -> None:
    """Of all that the API tells, what a container's labels need."""
    document = {
        "metadata": {
            "uid": "u", "name": "web-7c9d-x2x4z", "namespace": "shop", "managedFields": [{}],
            "labels": {"app": "web", "pod-template-hash": "7c9d"},
            "ownerReferences": [
                {"kind": "Something", "name": "else", "uid": "1"},
                {"kind": "ReplicaSet", "name": "web-7c9d", "uid": "2", "controller": True},
            ],
        },
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "main", "image": "web:1"}],
            "initContainers": [{"name": "init", "image": "init:1"}],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": "main", "image": "sha256:0123", "containerID": "containerd://aa",
                    "lastState": {"terminated": {"containerID": "containerd://a0"}},
                },
            ],
            "initContainerStatuses": [
                {"name": "init", "image": "docker.io/init:1", "containerID": "cri-o://bb"},
            ],
            "ephemeralContainerStatuses": [
                {"name": "debug", "image": "busybox", "containerID": "docker://cc"},
                {"name": "waits", "image": "busybox", "containerID": ""},
            ],
        },
    }  # fmt: skip
    assert parse(document) == Pod(
        uid="u",
        config_hash="",
        namespace="shop",
        name="web-7c9d-x2x4z",
        labels={"app": "web", "pod-template-hash": "7c9d"},
        workload="web",
        workload_kind="Deployment",
        ended=False,
        containers={
            "aa": Container("main", "web:1"),
            "a0": Container("main", "web:1"),
            "bb": Container("init", "docker.io/init:1"),
            "cc": Container("debug", "busybox"),
        },
        settled=True,
    )


def test_settled() -> None:
    """Once each container that was asked for has an id."""

    def settled(*known: str, wanted: tuple[str, ...] = ("main", "side")) -> bool:
        it = parse({
            "metadata": {"uid": "u1"},
            "spec": {"containers": [{"name": name} for name in wanted],
                     "initContainers": [{"name": "init"}] if wanted else []},
            "status": {"containerStatuses": [
                {"name": name, "lastState": {"terminated": {"containerID": f"containerd://{name}"}}}
                for name in known
            ]},
        })  # fmt: skip
        assert it
        return it.settled

    assert settled("main", "side", "init")
    assert not settled("main", "side")
    assert not settled()
    assert not settled("main", wanted=())


def test_static() -> None:
    """A mirror pod: its cgroup has the config's hash, and its name ends with the node's."""
    mirror = "kubernetes.io/config.mirror"
    document: dict[str, Any] = {
        "metadata": {
            "uid": "u", "name": "etcd-node-1.test", "namespace": "kube-system",
            "annotations": {mirror: "abc", "kubernetes.io/config.hash": "abc"},
            "ownerReferences": [{"kind": "Node", "name": "node-1.test", "controller": True}],
        },
        "spec": {"nodeName": "node-1.test"},
    }  # fmt: skip
    pod = parse(document)
    assert pod
    assert (pod.config_hash, pod.workload, pod.workload_kind) == ("abc", "etcd", "Pod")
    assert pod.name == "etcd-node-1.test"
    # Anybody may write an annotation: without the node as its owner it is no static pod.
    document["metadata"]["ownerReferences"] = []
    pod = parse(document)
    assert pod
    assert (pod.config_hash, pod.workload, pod.workload_kind) == ("", "etcd-node-1.test", "Pod")


@pytest.mark.parametrize(
    ("kind", "name", "labels", "expected"),
    [
        ("ReplicaSet", "web-7c9d", {"pod-template-hash": "7c9d"}, ("web", "Deployment")),
        ("ReplicaSet", "a-b-7c9d", {"pod-template-hash": "7c9d"}, ("a-b", "Deployment")),
        ("ReplicaSet", "web-7c", {"rollouts-pod-template-hash": "7c"}, ("web", "Rollout")),
        ("ReplicaSet", "web-7c9d", {}, ("web-7c9d", "ReplicaSet")),
        ("ReplicaSet", "web", {"pod-template-hash": ""}, ("web", "ReplicaSet")),
        ("ReplicaSet", "-7c", {"pod-template-hash": "7c"}, ("-7c", "ReplicaSet")),
        ("StatefulSet", "db", {"pod-template-hash": "7c"}, ("db", "StatefulSet")),
        ("DaemonSet", "agent", {}, ("agent", "DaemonSet")),
        ("Job", "migrate", {}, ("migrate", "Job")),
        ("Job", "backup-29344320", {}, ("backup", "CronJob")),  # minutes
        ("Job", "backup-1617235200", {}, ("backup", "CronJob")),  # seconds, before 1.21
        ("Job", "a-1-29344320", {}, ("a-1", "CronJob")),
        ("Job", "backup-20250131", {}, ("backup-20250131", "Job")),  # a date that a person wrote
        ("Job", "backup-2025013123", {}, ("backup-2025013123", "Job")),
        ("Job", "backup-1234567", {}, ("backup-1234567", "Job")),
        ("Job", "-29344320", {}, ("-29344320", "Job")),
        ("Workflow", "flow", {}, ("flow", "Workflow")),
    ],
)
def test_workload(kind: str, name: str, labels: dict[str, str], expected: tuple[str, str]) -> None:
    assert workload(kind, name, labels) == expected


def test_no_owner() -> None:
    pod = parse({"metadata": {"uid": "u", "name": "bare", "ownerReferences": [{"kind": "X"}]}})
    assert pod
    assert (pod.workload, pod.workload_kind) == ("bare", "Pod")


@pytest.mark.parametrize("document", [None, [], "pod", {}, {"metadata": None}, {"metadata": []}])
def test_no_pod(document: object) -> None:
    assert parse(document) is None


_KEYS = [
    "metadata", "labels", "annotations", "ownerReferences", "controller", "kind", "name", "spec",
    "containers", "status", "phase", "containerStatuses", "containerID", "lastState", "terminated",
]  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=30,
)


@given(metadata=st.dictionaries(st.sampled_from(_KEYS), _JSON), spec=_JSON, status=_JSON)
def test_any_shape(metadata: dict[str, Any], spec: object, status: object) -> None:
    """Whatever stands where something else should, the pod is known by its UID."""
    pod = parse({"metadata": {**metadata, "uid": "u"}, "spec": spec, "status": status})
    assert pod
    assert pod.uid == "u"
    assert all(isinstance(text, str) for text in [pod.name, pod.workload, *pod.labels.values()])

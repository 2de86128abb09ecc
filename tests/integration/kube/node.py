"""A node of the control plane with real containers: what kubelet and engine do, without them.

runc runs each container where the systemd driver would put it; the API is told of it only when a
test says so.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from tests.containers import bundle, inside
from tests.integration.kube import pods as kube
from tests.integration.kube.cluster import Cluster

#: Where containerd keeps what it knows, beneath the root; and what is no container of the pod.
BUNDLES = "run/containerd/io.containerd.runtime.v2.task/k8s.io"
SANDBOX = "POD"


@dataclass
class Container:
    """`bundle` is the folder of its OCI bundle, named by its id; `running` ends it."""

    name: str
    bundle: Path
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def id(self) -> str:
        return self.bundle.name

    def call(self, children: int, calls: int) -> None:
        """One more process inside, and its children; returns when all have made their calls."""
        inside(self.bundle, str(children), str(calls), "end")

    def stop(self) -> None:
        """It is ended, and its cgroup is gone when this returns."""
        self.running.close()


@dataclass
class Pod:
    """`slice` is its cgroup. Its containers are those that ran, by name the last of each."""

    node: Node
    name: str
    namespace: str
    slice: str
    containers: dict[str, Container] = field(default_factory=dict)

    def start(self, name: str = "main", children: int = 0, calls: int = 0) -> Container:
        """The API is not told. It makes its calls, with those of children, and stays."""
        place = self.node.rootfs / BUNDLES / (uuid.uuid4().hex * 2)
        container = Container(name, place)
        annotations = {
            "io.kubernetes.cri.sandbox-name": self.name,
            "io.kubernetes.cri.sandbox-namespace": self.namespace,
            "io.kubernetes.cri.container-type": "sandbox" if name == SANDBOX else "container",
            "io.kubernetes.cri.container-name": "" if name == SANDBOX else name,
        }
        cgroup = f"{self.slice}/cri-containerd-{place.name}.scope"
        argv = (str(self.node.program), str(children), str(calls))
        container.running.enter_context(bundle(place, cgroup, annotations, *argv))
        self.node.running.callback(container.stop)
        self.containers[name] = container
        return container

    def tell(self) -> None:
        """The kubelet says which containers run, by which ids."""
        ids = {name: it.id for name, it in self.containers.items() if name != SANDBOX}
        kube.run(self.node.cluster, self.name, ids, namespace=self.namespace)

    def run(self, name: str = "main", children: int = 0, calls: int = 0) -> Container:
        container = self.start(name, children, calls)
        self.tell()
        return container

    def delete(self) -> None:
        """Its containers end, then it is taken out of the API, if it is there."""
        for container in self.containers.values():
            container.stop()
        with suppress(HTTPError):
            kube.delete(self.node.cluster, self.name, self.namespace)


class Node:
    """`program` is tests/kernel/workloads/contained.c, static; `rootfs` a folder for its files."""

    def __init__(self, cluster: Cluster, name: str, rootfs: Path, program: Path) -> None:
        self.cluster, self.name, self.rootfs, self.program = cluster, name, rootfs, program
        self.running = ExitStack()

    def config(self, server: str = "", token: Path | None = None) -> str:
        """The line that says where the API is; by default the control plane itself."""
        folder = self.cluster.folder
        return (
            f"kubernetes: {{server: '{server or self.cluster.url}', node: {self.name},"
            f" token_file: {token or folder / 'token'}, ca_file: {self.cluster.ca.certificate}}}\n"
        )

    def pod(
        self, name: str, labels: Mapping[str, str] | None = None, namespace: str = "default",
        containers: tuple[str, ...] = ("main",), **metadata: Any,
    ) -> Pod:  # fmt: skip
        """Bound to this node; nothing of it runs yet."""
        uid = kube.create(
            self.cluster, name, self.name, labels, namespace=namespace, containers=containers,
            **metadata,
        )  # fmt: skip
        pod = Pod(self, name, namespace, _slice(uid))
        self.running.callback(pod.delete)
        return pod

    def static_pod(self, name: str) -> Pod:
        """Of a file on the node: the API does not know it before `mirror`."""
        return Pod(self, f"{name}-{self.name}", "default", _slice(uuid.uuid4().hex))

    def mirror(self, pod: Pod) -> None:
        """The kubelet makes a static pod known, with those of its containers that ran."""
        digest = pod.slice.rpartition("-pod")[2].removesuffix(".slice")
        annotations = {
            "kubernetes.io/config.mirror": digest, "kubernetes.io/config.hash": digest,
            "kubernetes.io/config.source": "file",
        }  # fmt: skip
        kube.create(
            self.cluster, pod.name, self.name, containers=list(pod.containers),
            annotations=annotations, **kube.owned_by("Node", self.name, "v1"),
        )  # fmt: skip
        pod.tell()
        self.running.callback(pod.delete)


def _slice(uid: str) -> str:
    """The cgroup of a pod that asks for less than its limits, by the systemd driver."""
    parent = "/kubepods.slice/kubepods-burstable.slice"
    return f"{parent}/kubepods-burstable-pod{uid.replace('-', '_')}.slice"


@contextmanager
def node(cluster: Cluster, name: str, rootfs: Path, program: Path) -> Iterator[Node]:
    """Its containers and pods are gone at the end."""
    it = Node(cluster, name, rootfs, program)
    with it.running:
        yield it

"""A node of the control plane whose pods are watched, as an exporter would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.metadata.kubernetes import Pods, PodWatch, Settings
from exporter.model.metadata import ContainerRef, Facts
from tests.caller import until
from tests.integration.kube.cluster import Cluster


class Watched:
    """A node whose pods are watched."""

    def __init__(self, node: str, pods: Pods, watch: PodWatch) -> None:
        self.node, self.pods, self.watch = node, pods, watch

    def of(self, id_: str = "", uid: str = "") -> Facts | None:
        return self.pods.facts(ContainerRef("containerd", id_, uid))

    def name(self, uid: str) -> str:
        """Of a pod, "" if it is not known."""
        facts = self.of(uid=uid)
        return facts.pod if facts else ""

    def until_known(self, uid: str) -> None:
        until(lambda: self.of(uid=uid), "the pod is known")

    def until_failed(self, reason: str) -> None:
        before = self.watch.failures()[reason]
        until(lambda: self.watch.failures()[reason] > before, f"it failed: {reason}")


@contextmanager
def watching(
    control_plane: Cluster, node: str, server: str = "", token: Path | None = None,
    ca: Path | None = None,
) -> Iterator[Watched]:  # fmt: skip
    settings = Settings(
        server or control_plane.url,
        str(token or control_plane.folder / "token"),
        str(ca or control_plane.ca.certificate),
        node,
    )
    pods = Pods()
    watch = PodWatch(settings, pods)
    watch.start()
    try:
        yield Watched(node, pods, watch)
    finally:
        watch.stop()

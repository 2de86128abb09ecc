"""What is kept of a pod, out of all that the API tells of it.

Fields: k8s.io/api/core/v1, Pod. What has another type than it should counts as absent: one odd pod
must not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from exporter.metadata.kubernetes.workload import workload

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SPECS = ("containers", "initContainers", "ephemeralContainers")
_MIRROR = "kubernetes.io/config.mirror"
_CONFIG_HASH = "kubernetes.io/config.hash"


class Container(NamedTuple):
    name: str
    image: str


@dataclass(frozen=True, slots=True)
class Pod:
    """`config_hash` is a static pod's, which its cgroup has in the place of the UID; else "".

    `ended`: no container is to come any more. `settled`: each container that was asked for has
    an id. `containers` are by the runtime's id.
    """

    uid: str
    config_hash: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    workload: str
    workload_kind: str
    ended: bool
    containers: Mapping[str, Container]
    settled: bool = False

    @property
    def size(self) -> int:
        """Characters that its owner can make as many as he likes."""
        return sum(len(key) + len(text) for key, text in self.labels.items()) + sum(
            len(id_) + len(it.name) + len(it.image) for id_, it in self.containers.items()
        )


def parse(document: Any) -> Pod | None:
    """The pod that a JSON document of the API is; None where it has no UID."""
    it = _map(document)
    metadata, spec, status = _map(it.get("metadata")), _map(it.get("spec")), _map(it.get("status"))
    uid = _text(metadata.get("uid"))
    if not uid:
        return None
    labels = {
        key: text for key, text in _map(metadata.get("labels")).items() if isinstance(text, str)
    }
    name, annotations = _text(metadata.get("name")), _map(metadata.get("annotations"))
    kind, owner = _controller(metadata)
    static = kind == "Node" and _MIRROR in annotations
    if static:
        kind, owner = "Pod", name.removesuffix(f"-{_text(spec.get('nodeName'))}")
    wanted, containers = set(_images(spec)), dict(_containers(spec, status))
    made_by, made_by_kind = workload(kind, owner, labels) if owner else (name, "Pod")
    return Pod(
        uid=uid,
        config_hash=_text(annotations.get(_CONFIG_HASH)) if static else "",
        namespace=_text(metadata.get("namespace")),
        name=name,
        labels=labels,
        workload=made_by,
        workload_kind=made_by_kind,
        ended=status.get("phase") in ("Succeeded", "Failed"),
        containers=containers,
        settled=bool(wanted) and wanted <= {it.name for it in containers.values()},
    )


def _controller(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """(kind, name) of the owner that manages the pod; empty where none does."""
    for owner in _maps(metadata.get("ownerReferences")):
        if owner.get("controller") is True:
            return _text(owner.get("kind")), _text(owner.get("name"))
    return "", ""


def _containers(
    spec: Mapping[str, Any], status: Mapping[str, Any]
) -> Iterator[tuple[str, Container]]:
    """By id: those that are, and of each the one before it."""
    wanted = _images(spec)
    for key in _STATUSES:
        for it in _maps(status.get(key)):
            name, image = _text(it.get("name")), _text(it.get("image"))
            # Where an image has no tag, containerd tells its digest: the spec says what people do.
            if image.startswith("sha256:") or not image:
                image = wanted.get(name, image)
            container = Container(name, image)
            before = _map(_map(it.get("lastState")).get("terminated"))
            for source in (before, it):
                _, _, id_ = _text(source.get("containerID")).partition("://")
                if id_:
                    yield id_, container


def _images(spec: Mapping[str, Any]) -> dict[str, str]:
    """By the names of the containers that were asked for."""
    found = (it for key in _SPECS for it in _maps(spec.get(key)))
    return {_text(it.get("name")): _text(it.get("image")) for it in found}


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: object) -> Iterator[Mapping[str, Any]]:
    return (it for it in value if isinstance(it, dict)) if isinstance(value, list) else iter(())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

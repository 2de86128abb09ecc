"""What the files of container engines say of a container, from their parsed JSON.

The JSON is whatever somebody wrote: what is not of the expected shape is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from exporter.model.metadata import SANDBOX, Facts

_MAX_TEXT = 1024


def docker(config: object) -> Facts | None:
    """Of config.v2.json: the name begins with a slash, the image is what the user typed."""
    whole = _mapping(config)
    inner = _mapping(whole.get("Config"))
    labels, image = _mapping(inner.get("Labels")), _text(inner.get("Image"))
    name = _text(whole.get("Name")).removeprefix("/")
    if labels.get("io.kubernetes.container.name"):  # dockershim: the name is k8s_POD_…
        return _of_pod(labels, image)
    project = _text(labels.get("com.docker.compose.project"))
    service = _text(labels.get("com.docker.compose.service"))
    if not service:
        return Facts(container=name, image=image) if name else None
    workload = f"{project}/{service}" if project else service
    return Facts(container=name, image=image, workload=workload, workload_kind="compose")


def bundle(spec: object) -> Facts | None:
    """Of an OCI bundle's config.json: the annotations of containerd's CRI, CRI-O and nerdctl."""
    notes = _mapping(_mapping(spec).get("annotations"))
    if notes.get("io.kubernetes.cri.sandbox-name"):
        inside = notes.get("io.kubernetes.cri.container-type") != "sandbox"
        return Facts(
            namespace=_text(notes.get("io.kubernetes.cri.sandbox-namespace")),
            pod=_text(notes.get("io.kubernetes.cri.sandbox-name")),
            container=_text(notes.get("io.kubernetes.cri.container-name")) if inside else SANDBOX,
            image=_text(notes.get("io.kubernetes.cri.image-name")),
        )
    if notes.get("io.kubernetes.container.name"):
        return _of_pod(notes, _text(notes.get("io.kubernetes.cri-o.ImageName")))
    name = _text(notes.get("nerdctl/name"))
    return Facts(container=name) if name else None


def storage(listed: object) -> dict[str, Facts]:
    """Of Podman's containers.json, by id; the image's name is in a JSON of its own, as text."""
    found = {}
    for entry in map(_mapping, listed if isinstance(listed, list) else ()):
        names = entry.get("names")
        name = _text(names[0]) if isinstance(names, list) and names else ""
        if name:
            image = _mapping(_unpacked(_text(entry.get("metadata")))).get("image-name")
            found[_text(entry.get("id"))] = Facts(container=name, image=_text(image))
    return found


def _of_pod(notes: Mapping[str, object], image: str) -> Facts:
    """By the kubelet's own labels, which CRI-O and dockershim keep as they are."""
    return Facts(
        namespace=_text(notes.get("io.kubernetes.pod.namespace")),
        pod=_text(notes.get("io.kubernetes.pod.name")),
        container=_text(notes.get("io.kubernetes.container.name")),
        image=image,
    )


def _unpacked(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Text that can be published; what is longer than any name is none."""
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return ""
    return value.encode(errors="replace").decode()

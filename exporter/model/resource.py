"""Whose a series or a span is, in OpenTelemetry's words: its Resource.

A Resource says what a label set tells, and no more: of a container, where the label set is about
one container; of a pod, where it is about one pod; else what the labels themselves name. What the
labels leave open differs between the trees that share them, and is nobody's.

Source of the names: https://opentelemetry.io/docs/specs/semconv/resource/; what they do not have
begins with `proctree.`, and static labels keep the names that a person gave them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from exporter.model.container_paths import parse
from exporter.model.host import Host
from exporter.model.labels import DEFAULT_LABEL, LabelSet
from exporter.model.metadata import SANDBOX, ContainerRef, Facts
from exporter.model.selection import container_of
from exporter.model.target import Target

#: Sorted by the attributes' names, of which none is there twice.
Resource = tuple[tuple[str, str | int | tuple[str, ...]], ...]

SERVICE_NAME = "service.name"
SERVICE_NAMESPACE = "service.namespace"
INSTANCE = "service.instance.id"
HOST_NAME, HOST_ID = "host.name", "host.id"

#: Kinds of workloads that have a name in the conventions: `k8s.deployment.name`.
_KINDS = (
    "CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController",
    "StatefulSet",
)  # fmt: skip
_FACTS = ("namespace", "pod", "container", "workload", "workload_kind", "image")
_OF_A_CONTAINER = ("container", "image")

#: What a deployment says of the exporter itself does not hold for what it looks at.
_ABOUT_ITSELF = ("service.", "telemetry.", "process.", "container.", "k8s.")
_ABOUT_ALL = ("k8s.cluster.", "k8s.node.")

_PLAIN = "/:@+ "  # stand in an instance's id as they are; '=' and ',' do not


class Place(NamedTuple):
    """Where the exporter runs, and what its deployment says that holds for all it looks at."""

    host: Host
    attributes: Mapping[str, str]

    @classmethod
    def of(cls, host: Host, deployment: Mapping[str, str]) -> Place:
        """`deployment` is what OTEL_RESOURCE_ATTRIBUTES says; it knows the host best."""
        attributes = {
            key: text
            for key, text in deployment.items()
            if key.startswith(_ABOUT_ALL) or not key.startswith(_ABOUT_ITSELF)
        }
        known = Host(
            attributes.get(HOST_NAME, host.name),
            attributes.get(HOST_ID, host.id),
            attributes.get("k8s.node.name", host.node),
        )
        return cls(known, attributes)


def resource_of(
    target: Target, labels: LabelSet, path: str, facts: Facts | None, place: Place
) -> Resource:
    """Of the trees of a label set, as known now.

    `labels` are without that of `group_by`; `path` and `facts` are its tree's: "" and None where
    that is no cgroup.
    """
    ref = container_of(path) or ContainerRef("", "", "")
    told = _told(target, labels, ref, facts or Facts())
    own = {
        **place.attributes,
        HOST_NAME: place.host.name,
        HOST_ID: place.host.id,
        SERVICE_NAME: told.workload or target.name,
        SERVICE_NAMESPACE: told.namespace,
        INSTANCE: _instance(place.host, labels),
        **dict(target.static_labels),
        **_workload(told),
    }
    if _tells_a_pod(target, labels, ref):
        own |= {"k8s.pod.name": told.pod, "k8s.pod.uid": ref.pod_uid}
    if told.namespace or ref.pod_uid:
        own |= {"k8s.namespace.name": told.namespace, "k8s.node.name": place.host.node}
    if told.container != SANDBOX:
        in_pod = ref.pod_uid or told.namespace or told.pod
        own["k8s.container.name" if in_pod else "container.name"] = told.container
    if _tells_a_container(target, labels, ref):
        own["container.id"] = ref.id
        if _own_cgroup(path, ref):
            own[INSTANCE] = ref.id
    if DEFAULT_LABEL in dict(labels) or not target.many:
        own["proctree.cgroup"] = path
    found: dict[str, str | int | tuple[str, ...]] = {key: text for key, text in own.items() if text}
    found |= _image(told.image)
    if target.pid is not None:
        found["process.pid"] = target.pid
    return tuple(sorted(found.items()))


def set_apart(resource: Resource, labels: LabelSet) -> Resource:
    """With an instance's id that no other label set has."""
    found = dict(resource)
    found[INSTANCE] = f"{found[INSTANCE]}:{_text(labels)}"
    return tuple(sorted(found.items()))


def identity(resource: Resource) -> tuple[object, ...]:
    """What backends tell Resources apart by: namespace, name and instance of the service."""
    found = dict(resource)
    return tuple(found.get(key, "") for key in (SERVICE_NAMESPACE, SERVICE_NAME, INSTANCE))


def _told(target: Target, labels: LabelSet, ref: ContainerRef, facts: Facts) -> Facts:
    """Of the facts about a tree those that hold for all trees of its label set."""
    if _tells_a_container(target, labels, ref):
        return facts
    names = {name for name, _ in labels}
    known = set(_FACTS) - set(_OF_A_CONTAINER) if _tells_a_pod(target, labels, ref) else set()
    return Facts(**{name: getattr(facts, name) for name in _FACTS if name in known | names})


def _tells_a_container(target: Target, labels: LabelSet, ref: ContainerRef) -> bool:
    names = {name for name, _ in labels}
    one = DEFAULT_LABEL in names or {"pod", "container"} <= names or not target.many
    return bool(ref.id) and one


def _tells_a_pod(target: Target, labels: LabelSet, ref: ContainerRef) -> bool:
    names = {name for name, _ in labels}
    return bool(ref.pod_uid) and (DEFAULT_LABEL in names or "pod" in names or not target.many)


def _own_cgroup(path: str, ref: ContainerRef) -> bool:
    """Whether the tree is the whole container; of what is inside one there may be several."""
    return parse(path) == ref


def _instance(host: Host, labels: LabelSet) -> str:
    return f"{host.id}:{_text(labels)}"


def _text(labels: LabelSet) -> str:
    """The target's name, and the other labels; for other labels another text."""
    (_, name), *others = labels
    return ",".join([_quote(name), *(f"{key}={_quote(value)}" for key, value in others)])


def _quote(text: str) -> str:
    return quote(text, safe=_PLAIN, errors="surrogatepass")


def _workload(told: Facts) -> dict[str, str]:
    if told.workload_kind not in _KINDS:
        return {}
    return {f"k8s.{told.workload_kind.lower()}.name": told.workload}


def _image(image: str) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """`registry:5000/nginx:1.25@sha256:…` in its parts; an image that has but a digest is an id."""
    name, _, digest = image.partition("@")
    if name.startswith("sha256:"):
        yield "container.image.id", name
        return
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    if last:
        yield "container.image.name", f"{folder}{slash}{last}"
    if tag:
        yield "container.image.tags", (tag,)
    if digest:
        yield "container.image.repo_digests", (f"{folder}{slash}{last}@{digest}",)

"""What is known of a container beside its cgroup: pods from the API, names from the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

#: The name that cAdvisor and the kubelet give to the container that holds a pod's namespaces.
SANDBOX = "POD"


class ContainerRef(NamedTuple):
    """A container, or a whole pod, as the path of its cgroup names it; "" is not told."""

    runtime: str  # containerd, cri-o, docker, podman, or ""
    id: str  # 64 hexadecimal digits; "" for a pod's own cgroup
    pod_uid: str  # with hyphens, as the API writes it; a static pod's is 32 digits without


@dataclass(frozen=True, slots=True)
class Facts:
    """What a container is; "" is not known. `pod_labels` are all labels of its pod.

    What is not `complete` may change; SANDBOX for a container then is a guess, good after a while.
    """

    namespace: str = ""
    pod: str = ""
    container: str = ""
    workload: str = ""
    workload_kind: str = ""
    image: str = ""
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True  # nothing more is to come: do not wait


class Metadata(Protocol):
    """Answers at once, from what is known now; whoever fetches does so in a thread of its own."""

    def facts(self, ref: ContainerRef) -> Facts | None:
        """None: nothing is known (yet)."""

    def version(self) -> int:
        """Changes whenever an answer of `facts` may have."""

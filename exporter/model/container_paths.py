"""Which container a cgroup belongs to, told by its path.

Every engine names a container's own cgroup by its id of 64 digits, in one of three forms; TOKEN is
the word the engine puts before it:

- `ID`, beneath a folder of the engine or of the pod: the cgroupfs driver of Docker and containerd;
- `TOKEN-ID`, and under the systemd driver `TOKEN-ID.scope`;
- `SLICE:TOKEN:ID`: a runtime with the cgroupfs driver was given a path meant for systemd.

What stands before the last component is anything: where the engine runs in a container itself, the
outer one's path (kind, Docker in Docker). The last component decides, so a container has one
cgroup, and what is beneath it (crun's `container`, the slices of a systemd inside) belongs to it.
The processes that watch a container from outside (`crio-conmon-ID.scope`) are not in it.
"""

from __future__ import annotations

import re

from exporter.model.metadata import ContainerRef
from exporter.model.target import Pattern

_ID = "[0-9a-f]{64}"
_TOKENS = {
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "docker": "docker",
    "libpod": "podman",
    "libpod-payload": "podman",  # --cgroups=split, which Quadlet's units use
}
_TOKEN = f"({'|'.join(_TOKENS)})"
_NAME = f"({_TOKEN}-|[^/:]+:{_TOKEN}:)?{_ID}([.]scope)?"

#: All paths that `parse` gives an id for, and those few that `_is_a_pods` takes back.
CONTAINER = Pattern(f".*/{_NAME}", regex=True)

_LAST = re.compile(_NAME)
#: Folders that bare ids are in; elsewhere the runtime is not told.
_FOLDERS = {"docker": "docker", "default": "containerd", "k8s.io": "containerd"}
#: A pod's folder, by the kubelet's rules: hyphens stay under cgroupfs and are escaped for systemd,
#: whose slices carry the names of their parents. A static pod's UID is a hash without hyphens.
_POD = re.compile(
    r"[/-]pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?=[/:]|\Z)"
)


def parse(path: str) -> ContainerRef | None:
    """The container, or pod, whose own cgroup this is; None: neither, or something inside one.

    `path` is relative to the hierarchy's root and begins with "/". To find what a process is in,
    walk up from its cgroup until there is an answer with an id.
    """
    folder, _, name = path.rpartition("/")
    pods = list(_POD.finditer(path))
    uid = pods[-1][1].replace("_", "-") if pods else ""
    if _LAST.fullmatch(name) and not _is_a_pods(folder, name):
        name = name.removesuffix(".scope")
        token = name[:-64].rstrip("-:").rpartition(":")[2]
        parent = folder.rpartition("/")[2]
        runtime = _TOKENS[token] if token else _FOLDERS.get(parent, "")
        return ContainerRef(runtime, name[-64:], uid)
    if pods and pods[-1].end() == len(path):
        return ContainerRef("", "", uid)
    return None


def _is_a_pods(folder: str, name: str) -> bool:
    """A folder of a pod of Podman, or the empty one that CRI-O keeps for a pod's sandbox."""
    if folder.endswith("/libpod_parent"):
        return not name.startswith("libpod-")
    return folder.endswith(".slice") and name.startswith("crio-") and not name.endswith(".scope")

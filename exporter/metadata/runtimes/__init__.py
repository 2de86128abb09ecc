"""Names and images of containers, from the files that their engines keep: no sockets, no API.

What an engine writes about a container is there before its first process runs, and is looked for
beneath --path.rootfs by the container's id:

- Docker: `config.v2.json` beside the container's log;
- containerd (CRI, nerdctl) and CRI-O: `config.json` of the container's OCI bundle, whose
  annotations name the pod as well;
- Podman: `containers.json` of its storage, which lists all.

Docker and Podman run by users keep theirs in home folders. Engines whose folders were moved by
their configuration are not found.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exporter.metadata.runtimes import engines
from exporter.metadata.runtimes.rooted import Rooted
from exporter.model.metadata import ContainerRef, Facts

_CONTAINERD = ("run/containerd", "run/k3s/containerd", "run/k0s/containerd",
               "var/snap/microk8s/common/run/containerd")  # fmt: skip
_STORAGE = ("var/lib/containers/storage", "run/containers/storage")  # kept, and until a reboot
_DRIVERS = ("overlay-containers", "vfs-containers", "btrfs-containers", "zfs-containers")

#: Bytes. A container's file is mostly under 100 KiB, a list's entry 0.7 KiB. JSON takes up to 30
#: times its size when it is parsed, so what a user may write is bounded more tightly.
_MAX_FILE, _MAX_LIST, _MAX_OF_A_HOME = 1 << 20, 8 << 20, 256 << 10
_MAX_KNOWN = 8192


class Runtimes:
    """Implements `exporter.model.metadata.Metadata`. Raises OSError where `rootfs` is no folder.

    A miss costs a few system calls for each place, and nothing is read. What was found is kept for
    the last 8,192 containers: an id is never used again.
    """

    def __init__(self, rootfs: Path) -> None:
        self._files = Rooted(rootfs)
        self._known: dict[str, Facts] = {}

    def facts(self, ref: ContainerRef) -> Facts | None:
        """A container's name and image, and its pod's where the engine knows of it."""
        if not ref.id:
            return None
        found = self._known.get(ref.id) or next(self._found(ref), None)
        if found:
            self._known[ref.id] = found
            if len(self._known) > _MAX_KNOWN:
                del self._known[next(iter(self._known))]
        return found

    def version(self) -> int:
        """Always the same: what is known does not change, and what is not is asked for again."""
        return 0

    def _found(self, ref: ContainerRef) -> Iterator[Facts]:
        """The system's files come first: what a user writes cannot rename a container of root's."""
        users = [] if ref.pod_uid else self._files.names("home")  # no user runs the kubelet's pods
        homes = [f"home/{user}/.local/share" for user in users]
        if ref.runtime == "podman":
            for top in _STORAGE:
                yield from self._storage(top, ref.id, _MAX_LIST)
            for home in homes:
                yield from self._storage(f"{home}/containers/storage", ref.id, _MAX_OF_A_HOME)
        else:
            yield from self._docker("var/lib/docker", ref.id, _MAX_FILE)
            yield from self._bundles(ref.id)
            for home in homes:
                yield from self._docker(f"{home}/docker", ref.id, _MAX_OF_A_HOME)

    def _docker(self, top: str, id_: str, limit: int) -> Iterator[Facts]:
        found = engines.docker(self._files.read(f"{top}/containers/{id_}/config.v2.json", limit))
        if found:
            yield found

    def _bundles(self, id_: str) -> Iterator[Facts]:
        tasks = [f"{top}/io.containerd.runtime.v2.task" for top in _CONTAINERD]
        places = [f"{task}/{space}/{id_}" for task in tasks for space in self._files.names(task)]
        places += [f"{place}/{id_}/userdata" for top in _STORAGE for place in self._drivers(top)]
        for place in places:
            found = engines.bundle(self._files.read(f"{place}/config.json", _MAX_FILE))
            if found:
                yield found

    def _storage(self, top: str, id_: str, limit: int) -> Iterator[Facts]:
        for place in self._drivers(top):
            for name in ("containers.json", "volatile-containers.json"):
                table = self._files.table(f"{place}/{name}", limit, engines.storage) or {}
                if id_ in table:
                    yield table[id_]

    def _drivers(self, top: str) -> list[str]:
        return [f"{top}/{name}" for name in self._files.names(top) if name in _DRIVERS]

"""Real containers: an image made by debootstrap, run by Podman with runc, or by runc alone.

All that an engine keeps lies in one folder, as in the root of a host: give it to --path.rootfs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import ROOT, Workload
from tests.kernel.cgroup_tree import ROOT as TOP

ARCHIVE = ROOT / ".tools/debian-bookworm.tar"
IMAGE = "docker.io/library/debian:test"
#: No network, which would need plugins; and without CAP_SYS_RESOURCE limits can only be lowered.
_SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
netns = "none"
[engine]
cgroup_manager = "{cgroup_manager}"
events_logger = "none"
lock_type = "file"
runtime = "runc"
tmp_dir = "{root}/run/libpod"
"""


def archive() -> Path:
    """Debian's minimal system. Made once, in about a minute, and kept; the image's base as well."""
    if not ARCHIVE.exists():
        quietly(str(ROOT / "scripts/image/base"), "bookworm", str(ARCHIVE))
    return ARCHIVE


def quietly(*command: str, env: Mapping[str, str] | None = None) -> str:
    """Runs a command and returns what it says; where it fails, all it said is shown."""
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def cgroups(pid: int) -> set[str]:
    """The paths of a process' cgroups, but for hierarchies where it is in the root."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return {line.split(":", 2)[2] for line in lines} - {"/"}


@dataclass(frozen=True)
class Container:
    """One of Podman's."""

    podman: Podman
    name: str
    id: str

    @property
    def pid(self) -> int:
        """Of its first process, as the host sees it; 0 while it does not run."""
        return int(self.podman("inspect", "--format={{.State.Pid}}", self.id))

    def said(self) -> list[str]:
        """All words that it wrote since it was made."""
        return self.podman("logs", self.id).split()

    def start(self) -> None:
        self.podman("start", self.id)

    def stop(self) -> None:
        self.podman("stop", "--time=0", self.id)

    def remove(self) -> None:
        self.podman("rm", "--force", "--time=0", self.id)


class Podman:
    """Podman with settings and storage of its own, beneath `root`. Programs lie in `programs`."""

    def __init__(self, root: Path, programs: Path, cgroup_manager: str) -> None:
        self.root, self._programs = root, programs
        storage = root / "var/lib/containers/storage"
        settings = root / "etc/containers/containers.conf"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS.format(root=root, cgroup_manager=cgroup_manager))
        self._env = os.environ | {"CONTAINERS_CONF": str(settings)}
        self._command = [
            "podman", f"--root={storage}", f"--runroot={root / 'run/containers/storage'}"
        ]  # fmt: skip

    def __call__(self, *arguments: str) -> str:
        return quietly(*self._command, *arguments, env=self._env)

    def run(
        self, name: str, *argv: str, image: str = IMAGE, flags: Sequence[str] = ()
    ) -> Container:
        """Starts a container whose first process is `argv`, the path of a program in `programs`."""
        id_ = self("run", "--detach", f"--name={name}", *self._mounted(), *flags, image, *argv)
        return Container(self, name, id_)

    @contextmanager
    def attached(self, name: str, *argv: str, image: str = IMAGE) -> Iterator[Workload]:
        """The same, for a workload that waits for a word; its `pid` is Podman's, not its own."""
        command = [*self._command, "run", "--rm", "--interactive", f"--name={name}"]
        process = subprocess.Popen(
            [*command, *self._mounted(), image, *argv],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._env,
        )  # fmt: skip
        try:
            yield Workload(process)
        finally:
            self("rm", "--force", "--ignore", "--time=0", name)
            process.wait()

    def _mounted(self) -> list[str]:
        return [f"--volume={self._programs}:{self._programs}:ro"]


def need_packages() -> None:
    """Of Debian, that `make test` installs; in CI a skip is a failure."""
    if missing := [tool for tool in ("podman", "runc", "debootstrap") if not shutil.which(tool)]:
        pytest.skip(f"needs Debian's packages {' '.join(missing)}: use make test")


@contextmanager
def podman(programs: Path, cgroup_manager: str = "cgroupfs") -> Iterator[Podman]:
    """Podman with the image IMAGE; at the end its containers are ended and its root is removed."""
    need_packages()
    root = Path(tempfile.mkdtemp(prefix="host-"))  # Podman wants a short path
    engine = Podman(root, programs, cgroup_manager)
    try:
        engine("import", str(archive()), IMAGE)
        yield engine
    finally:
        engine("pod", "rm", "--all", "--force", "--time=0")
        engine("rm", "--all", "--force", "--time=0")
        while _used(root):  # Podman tidies up after each container, in processes of its own
            time.sleep(0.05)
        mounted = root / "var/lib/containers/storage/overlay"
        subprocess.run(["umount", "--quiet", str(mounted)])
        shutil.rmtree(root)


def _used(root: Path) -> bool:
    """Whether a process was started with a path in this folder."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if bytes(root) in place.read_bytes():
                return True
    return False


@contextmanager
def bundle(place: Path, cgroup: str, annotations: Mapping[str, str], *argv: str) -> Iterator[int]:
    """Runs a container from an OCI bundle made at `place`, in this cgroup; gives its PID.

    So a container is where the systemd driver would put it, on a machine without systemd. `argv` is
    a static program of the host.
    """
    (place / "rootfs").mkdir(parents=True)
    shutil.copy(argv[0], place / "rootfs/program")
    quietly("runc", "spec", f"--bundle={place}")
    spec = json.loads((place / "config.json").read_text())
    spec["process"] |= {"args": ["/program", *argv[1:]], "terminal": False}
    spec["linux"]["cgroupsPath"] = cgroup
    spec["annotations"] = dict(annotations)
    (place / "config.json").write_text(json.dumps(spec))
    pidfile, runc = place / "init.pid", ["runc", f"--root={place / 'state'}"]
    log = place / "log"
    with log.open("w") as stream:
        done = subprocess.run(
            [*runc, "run", "--detach", f"--bundle={place}", f"--pid-file={pidfile}", place.name],
            stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
        )  # fmt: skip
    assert done.returncode == 0, log.read_text()
    try:
        yield int(pidfile.read_text())
    finally:
        quietly(*runc, "delete", "--force", place.name)
        tidy(str(Path(cgroup).parent))


def inside(place: Path, *arguments: str) -> None:
    """Runs the program of a bundle that runs already once more, in there, to its end."""
    quietly("runc", f"--root={place / 'state'}", "exec", place.name, "/program", *arguments)


def tidy(cgroup: str) -> None:
    """Removes a cgroup that an engine left, and its parents, as far as they are empty."""
    for hierarchy in (TOP, *TOP.iterdir()):  # of version 2, and those of version 1
        place = hierarchy / cgroup.lstrip("/")
        for folder in (place, *place.parents):
            if folder == hierarchy:
                break
            with suppress(OSError):  # not there, or of others too
                folder.rmdir()

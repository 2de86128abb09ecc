"""The image, built once for all tests, and run as a DaemonSet would run it.

It is built where everybody builds it, so that the layers of the last time are there.
"""

from __future__ import annotations

import functools
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.containers import need_packages, quietly
from tests.harness import ROOT, Exporter, free_port, wait_ready

CAPABILITIES = ("BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH")
CONFIG = "/etc/proctree-exporter/config.yaml"
#: Where the node's cgroups are mounted.
CGROUPS = "/host/sys/fs/cgroup"
_PROFILE = Path("/usr/share/containers/seccomp.json")


@functools.cache
def image() -> str:
    """Its id: somebody else's build may take its name meanwhile."""
    need_packages()
    with tempfile.NamedTemporaryFile() as made:
        quietly(
            "make", f"--directory={ROOT}", "image", "IMAGE=localhost/proctree-exporter:test",
            f"IMAGE_ARGS=--iidfile={made.name}",
        )  # fmt: skip
        return Path(made.name).read_text().removeprefix("sha256:")


def podman(*arguments: str) -> str:
    return quietly("podman", "--runtime=runc", *arguments)


def about() -> dict[str, object]:
    """What the image says of itself."""
    (found,) = json.loads(podman("image", "inspect", image()))
    assert isinstance(found, dict)
    return found


@contextmanager
def contents() -> Iterator[tarfile.TarFile]:
    """All files, as the container has them before it starts."""
    container = podman("create", image())
    try:
        with tempfile.TemporaryFile() as file:
            subprocess.run(["podman", "export", container], stdout=file, check=True)
            file.seek(0)
            with tarfile.open(fileobj=file) as tar:
                yield tar
    finally:
        podman("rm", container)


def _seccomp(folder: Path) -> Path:
    """Podman's profile as it is at containerd and Docker: bpf(2) for CAP_BPF, and so on.

    Debian's Podman is older than that rule, and wants CAP_SYS_ADMIN.
    """
    profile = json.loads(_PROFILE.read_text())
    rules = {"bpf": "CAP_BPF", "perf_event_open": "CAP_PERFMON"}
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in rules]
    profile["syscalls"] += [
        {"names": [name], "action": "SCMP_ACT_ALLOW", "includes": {"caps": [capability]}}
        for name, capability in rules.items()
    ]
    place = folder / "seccomp.json"
    place.write_text(json.dumps(profile))
    return place


class Contained(Exporter):
    """One in a container. Its `process` is Podman's; `pid` is its own."""

    name: str

    @property
    def pid(self) -> int:
        return int(podman("inspect", "--format={{.State.Pid}}", self.name))

    def health(self) -> int:
        """The exit status of the image's HEALTHCHECK."""
        return subprocess.run(
            ["podman", "--runtime=runc", "healthcheck", "run", self.name], capture_output=True
        ).returncode

    def written(self) -> set[str]:
        """Files in the container that the image does not have, or has otherwise."""
        return set(podman("diff", self.name).splitlines())


@contextmanager
def daemonset(
    config: str,
    *flags: str,
    capabilities: Iterable[str] = CAPABILITIES,
    options: Sequence[str] = ("--pid=host",),
    ready: bool = True,
) -> Iterator[Contained]:
    """Runs `serve` as a pod's only container, with `config` where a ConfigMap would be.

    `--ulimit` is for machines that cannot raise limits; the address is one on which only we listen.
    """
    address = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        path, log, name = Path(folder, "etc/config.yaml"), Path(folder, "log"), Path(folder).name
        path.parent.mkdir()
        path.write_text(config)
        command = [
            "podman", "--runtime=runc", "run", f"--name={name}", "--network=host",
            "--cgroupns=private", "--cgroups=enabled", "--read-only", "--read-only-tmpfs=false",
            "--cap-drop=all", *(f"--cap-add={capability}" for capability in capabilities),
            "--security-opt=no-new-privileges", f"--security-opt=seccomp={_seccomp(Path(folder))}",
            "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024",
            f"--volume=/sys/fs/cgroup:{CGROUPS}:ro,rslave",
            f"--volume={path.parent}:{Path(CONFIG).parent}:ro",
            *options, image(), "serve", f"--config.file={CONFIG}", f"--path.cgroupfs={CGROUPS}",
            f"--web.listen-address={address}", *flags,
        ]  # fmt: skip
        with log.open("w") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=stream, text=True)
        running = Contained(process, address, log, path)
        running.name = name
        try:
            if ready:
                wait_ready(running)
            yield running
        finally:
            podman("rm", "--force", "--ignore", "--time=0", name)
            process.wait()

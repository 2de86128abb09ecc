"""Paths of cgroups as they are seen in the field, and what `parse` makes of each."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.model.container_paths import CONTAINER, parse
from exporter.model.metadata import ContainerRef
from exporter.model.patterns import build

# Other digits in each, so that none can be taken for another.
ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
OUTER = "9ec39b91f3d70e1beff50a308f77067065ea6be0d91a3378375056cd4422cf3d"
UID = "2c48913c-b29f-11e7-9350-020968147796"
ESCAPED = UID.replace("-", "_")
STATIC = "89f4f2cb511c3b0b7e5272cff5ec37bf"  # md5 of the manifest and the host's name
USER = "/user.slice/user-1000.slice/user@1000.service"
POD = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{ESCAPED}.slice"
KIND = "kubelet.slice/kubelet-kubepods.slice"

# (where it is seen: engine, driver, cgroup version; path; runtime; pod)
CONTAINERS = [
    ("Docker, cgroupfs, v1 and v2", f"/docker/{ID}", "docker", ""),
    ("Docker 20.10+, systemd, v2; CentOS 7, v1", f"/system.slice/docker-{ID}.scope", "docker", ""),
    ("Docker, cgroupfs, --cgroup-parent=/jobs", f"/jobs/{ID}", "", ""),
    ("Docker, cgroupfs, --cgroup-parent=/; Debian 7", f"/{ID}", "", ""),
    ("Docker, systemd, --cgroup-parent=ci.slice", f"/ci.slice/docker-{ID}.scope", "docker", ""),
    ("Docker rootless, systemd, v2", f"{USER}/user.slice/docker-{ID}.scope", "docker", ""),
    ("Docker, runc's cgroupfs driver, systemd's path", f"/system.slice:docker:{ID}", "docker", ""),
    ("ECS on EC2, Amazon Linux 2, v1", f"/ecs/bf1ddbfbbc8f45c9b1ac4f779368741e/{ID}", "", ""),
    (
        "ECS on EC2, Amazon Linux 2023, v2",
        f"/ecstasks.slice/ecstasks-bf1ddbfbbc8f45c9b1ac4f779368741e.slice/docker-{ID}.scope",
        "docker", "",
    ),
    ("Docker in Docker, cgroupfs", f"/docker/{OUTER}/docker/{ID}", "docker", ""),
    (
        "Docker in Docker 20.10+, cgroupfs inside, systemd outside, v2",
        f"/system.slice/docker-{OUTER}.scope/docker/{ID}", "docker", "",
    ),
    (
        "Docker in a pod of OpenShift 4.14, v2",
        f"{POD}/crio-{OUTER}.scope/docker/{ID}", "docker", UID,
    ),
    ("Podman, systemd, runc, v1 and v2", f"/machine.slice/libpod-{ID}.scope", "podman", ""),
    ("Podman, cgroupfs", f"/libpod_parent/libpod-{ID}", "podman", ""),
    ("Podman, cgroupfs, in a pod of Podman", f"/libpod_parent/{OUTER}/libpod-{ID}", "podman", ""),
    (
        "Podman, systemd, in a pod of Podman",
        f"/machine.slice/machine-libpod_pod_{OUTER}.slice/libpod-{ID}.scope", "podman", "",
    ),
    ("Podman rootless, systemd, v2", f"{USER}/user.slice/libpod-{ID}.scope", "podman", ""),
    ("Podman rootless before 4, systemd, v2", f"{USER}/libpod-{ID}.scope", "podman", ""),
    (
        "Podman 4+, Quadlet's unit (--cgroups=split)",
        f"/system.slice/redis.service/libpod-payload-{ID}", "podman", "",
    ),
    (
        "Podman 4+, Quadlet's unit of a user",
        f"{USER}/app.slice/redis.service/libpod-payload-{ID}", "podman", "",
    ),
    ("nerdctl, cgroupfs, default namespace", f"/default/{ID}", "containerd", ""),
    ("containerd without a parent, namespace k8s.io", f"/k8s.io/{ID}", "containerd", ""),
    ("nerdctl, systemd", f"/system.slice/nerdctl-{ID}.scope", "containerd", ""),
    ("nerdctl rootless, systemd, v2", f"{USER}/user.slice/nerdctl-{ID}.scope", "containerd", ""),
    (
        "Kubernetes, cgroupfs, guaranteed: GKE and EKS before v2, k3s, minikube, MicroK8s",
        f"/kubepods/pod{UID}/{ID}", "", UID,
    ),
    ("the same, burstable", f"/kubepods/burstable/pod{UID}/{ID}", "", UID),
    ("the same, best effort", f"/kubepods/besteffort/pod{UID}/{ID}", "", UID),
    ("the same, static pod", f"/kubepods/burstable/pod{STATIC}/{ID}", "", STATIC),
    ("Docker Desktop's Kubernetes", f"/kubepods/kubepods/besteffort/pod{UID}/{ID}", "", UID),
    (
        "containerd, systemd, guaranteed: GKE, EKS, AKS with v2; kubeadm 1.22+",
        f"/kubepods.slice/kubepods-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
        "containerd", UID,
    ),
    ("the same, burstable", f"{POD}/cri-containerd-{ID}.scope", "containerd", UID),
    (
        "the same, best effort",
        f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{ESCAPED}.slice"
        f"/cri-containerd-{ID}.scope",
        "containerd", UID,
    ),
    (
        "the same, static pod: the control plane of kubeadm",
        f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC}.slice"
        f"/cri-containerd-{ID}.scope",
        "containerd", STATIC,
    ),
    (
        "containerd 1.4+, cgroupfs driver, kubelet with systemd's, v1",
        f"/system.slice/containerd.service/kubepods-burstable-pod{ESCAPED}.slice"
        f":cri-containerd:{ID}",
        "containerd", UID,
    ),
    (
        "the same at the root, as for cpuset",
        f"/kubepods-besteffort-pod{ESCAPED}.slice:cri-containerd:{ID}", "containerd", UID,
    ),
    ("dockershim, systemd: Kubernetes before 1.24", f"{POD}/docker-{ID}.scope", "docker", UID),
    ("CRI-O, systemd: OpenShift 4", f"{POD}/crio-{ID}.scope", "cri-o", UID),
    (
        "CRI-O, systemd, guaranteed",
        f"/kubepods.slice/kubepods-pod{ESCAPED}.slice/crio-{ID}.scope", "cri-o", UID,
    ),
    ("CRI-O, cgroupfs", f"/kubepods/besteffort/pod{UID}/crio-{ID}", "cri-o", UID),
    ("CRI-O without a parent", f"/crio/crio-{ID}", "cri-o", ""),
    (
        "kind 0.20+, systemd, v2, seen from inside the node",
        f"/{KIND}/kubelet-kubepods-besteffort.slice"
        f"/kubelet-kubepods-besteffort-pod{ESCAPED}.slice/cri-containerd-{ID}.scope",
        "containerd", UID,
    ),
    (
        "the same, seen from the host, whose Docker has the systemd driver",
        f"/system.slice/docker-{OUTER}.scope/{KIND}/kubelet-kubepods-pod{ESCAPED}.slice"
        f"/cri-containerd-{ID}.scope",
        "containerd", UID,
    ),
    (
        "the same, whose Docker has the cgroupfs driver",
        f"/docker/{OUTER}/{KIND}/kubelet-kubepods-burstable.slice"
        f"/kubelet-kubepods-burstable-pod{STATIC}.slice/cri-containerd-{ID}.scope",
        "containerd", STATIC,
    ),
    (
        "kind before 0.13, cgroupfs",
        f"/docker/{OUTER}/kubelet/kubepods/burstable/pod{UID}/{ID}", "", UID,
    ),
    (
        "kind on Podman, v2",
        f"/machine.slice/libpod-{OUTER}.scope/container/kubelet/kubepods/pod{UID}/{ID}", "", UID,
    ),
    ("k3d, minikube on Docker", f"/docker/{OUTER}/kubepods/besteffort/pod{UID}/{ID}", "", UID),
    (
        "kind in a pod: the inner pod's",
        f"/kubepods/burstable/pod{STATIC}/{OUTER}/docker/{OUTER}/kubelet/kubepods/pod{UID}/{ID}",
        "", UID,
    ),
    ("in a folder that only begins like a pod's", f"/kubepods/pod{STATIC}0/{ID}", "", ""),
    ("seen from inside a pod's own cgroup namespace", f"/../../pod{UID}/{ID}", "", UID),
]  # fmt: skip

PODS = [
    ("cgroupfs, guaranteed", f"/kubepods/pod{UID}", UID),
    ("cgroupfs, burstable", f"/kubepods/burstable/pod{UID}", UID),
    ("cgroupfs, static", f"/kubepods/besteffort/pod{STATIC}", STATIC),
    ("systemd, burstable", POD, UID),
    ("systemd, guaranteed", f"/kubepods.slice/kubepods-pod{ESCAPED}.slice", UID),
    ("kind, from the host", f"/docker/{OUTER}/{KIND}/kubelet-kubepods-pod{ESCAPED}.slice", UID),
]

NEITHER = [
    ("the root", "/"),
    ("a service", "/system.slice/nginx.service"),
    ("folders above pods, cgroupfs", "/kubepods/burstable"),
    ("folders above pods, systemd", "/kubepods.slice/kubepods-burstable.slice"),
    ("a kind node's folders", f"/docker/{OUTER}/{KIND}"),
    ("CRI-O's monitor, systemd", f"{POD}/crio-conmon-{ID}.scope"),
    ("CRI-O's monitor, system.slice", f"/system.slice/crio-conmon-{ID}.scope"),
    ("Podman's monitor, systemd", f"/machine.slice/libpod-conmon-{ID}.scope"),
    ("Podman's monitor, cgroupfs", "/libpod_parent/conmon"),
    ("Podman's monitor, --cgroups=split", "/system.slice/redis.service/runtime"),
    ("a pod of Podman, cgroupfs", f"/libpod_parent/{ID}"),
    ("a pod of Podman, systemd", f"/machine.slice/machine-libpod_pod_{ID}.slice"),
    ("crun's own, of Podman", f"/machine.slice/libpod-{ID}.scope/container"),
    ("crun's own, of CRI-O", f"{POD}/crio-{ID}.scope/container"),
    ("systemd in a container", f"{POD}/cri-containerd-{ID}.scope/system.slice"),
    ("dockerd in a container", f"/docker/{ID}/init"),
    ("a pod's sandbox without a container, CRI-O, systemd", f"{POD}/crio-{ID}"),
    ("a mount unit of Docker", f"/system.slice/var-lib-docker-containers-{ID}-mounts-shm.mount"),
    ("a mount unit of a scope", f"/system.slice/docker-{ID}.scope.mount"),
    ("BuildKit's steps", "/docker/buildkit/5cf82fwiumld3vcs5d5l5pzyv"),
    ("containers of ctr, which are named freely", "/default/web"),
    ("63 digits", f"/docker/{ID[1:]}"),
    ("65 digits", f"/docker/0{ID}"),
    ("digits of another case", f"/docker/{ID.upper()}"),
    ("an engine that is not known", f"/system.slice/other-{ID}.scope"),
    ("an engine that is not known, in systemd's path", f"/system.slice:other:{ID}"),
    ("no slice before the engine's name", f"/system.slice/:docker:{ID}"),
    ("a name that only ends like a pod's", f"/kubepods/tripod{UID}"),
    ("a name that only begins like a pod's", f"/kubepods/pod{UID}0"),
    ("the same, static", f"/kubepods/pod{STATIC}0"),
    ("a name that only ends like a scope's", f"/system.slice/docker-{ID}_scope"),
    ("a suffix that is no scope's", f"/system.slice/docker-{ID}.service"),
]


@pytest.mark.parametrize(("path", "runtime", "pod"), [c[1:] for c in CONTAINERS])
def test_a_container_is_told_by_its_own_cgroup(path: str, runtime: str, pod: str) -> None:
    """Engine, driver, version, nesting: the id and the pod are found."""
    assert parse(path) == ContainerRef(runtime, ID, pod)


@pytest.mark.parametrize(("path", "pod"), [p[1:] for p in PODS])
def test_a_pod_is_told_by_its_own_cgroup(path: str, pod: str) -> None:
    """The UID is written as the API writes it."""
    assert parse(path) == ContainerRef("", "", pod)


@pytest.mark.parametrize("path", [n[1] for n in NEITHER])
def test_what_is_neither_gives_nothing(path: str) -> None:
    """Monitors, folders between, and what a container made inside itself."""
    assert parse(path) is None


@pytest.mark.parametrize("path", [c[1] for c in CONTAINERS])
def test_beneath_a_container_nothing_is_one(path: str) -> None:
    """Walking up from there comes to the container itself."""
    for inner in ("container", "init.scope", "system.slice/cron.service"):
        assert parse(f"{path}/{inner}") is None


AUTOMATON = build([(CONTAINER, 0)], 256)  # small enough to be one of many in the kernel
EMPTY = {f"/libpod_parent/{ID}", f"{POD}/crio-{ID}"}


@pytest.mark.parametrize("path", [entry[1] for entry in [*CONTAINERS, *PODS, *NEITHER]])
def test_the_pattern_agrees_with_the_parser(path: str) -> None:
    """Every container's cgroup matches, and beside them only the two kinds that `parse` refuses."""
    found = parse(path)
    expected = bool(found and found.id) or path in EMPTY
    assert bool(AUTOMATON.run(path.encode())) == expected


def test_the_table_is_of_different_paths() -> None:
    """No line is there twice."""
    paths = [entry[1] for entry in [*CONTAINERS, *PODS, *NEITHER]]
    assert len(paths) == len(set(paths))


PARTS = st.sampled_from(
    [ID, OUTER, UID, ESCAPED, STATIC, "/", "/..", ":", "-", "pod", ".slice", ".scope", "docker"]
)


@given(st.lists(PARTS | st.text(max_size=3), max_size=12).map(lambda parts: "/" + "".join(parts)))
@example("/" * 4096)
@example("/" + "a:" * 2000)
def test_any_path_has_an_answer(path: str) -> None:
    """Names are chosen freely by whoever may make cgroups; an id is 64 digits or nothing."""
    found = parse(path)
    if found and found.id:
        assert AUTOMATON.run(path.encode())
        assert re.fullmatch("[0-9a-f]{64}", found.id)

"""Names and images from the files of Docker, Podman, CRI-O, containerd and nerdctl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exporter.metadata.runtimes import Runtimes
from exporter.model.metadata import ContainerRef, Facts

ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
OTHER = "9ec39b91f3d70e1beff50a308f77067065ea6be0d91a3378375056cd4422cf3d"
UID = "2c48913c-b29f-11e7-9350-020968147796"

DOCKER = f"var/lib/docker/containers/{ID}/config.v2.json"
CONTAINERD = f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"
CRIO = f"var/lib/containers/storage/overlay-containers/{ID}/userdata/config.json"
PODMAN = "var/lib/containers/storage/overlay-containers/containers.json"


def write(root: Path, path: str, content: object) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def docker(name: str, labels: dict[str, str] | None = None) -> object:
    """The part of Docker 20.10's config.v2.json that matters, and some that does not."""
    return {
        "StreamConfig": {}, "State": {"Running": True, "Pid": 56944}, "ID": ID, "Managed": False,
        "Config": {"Hostname": ID[:12], "Image": "nginx:1.25", "Labels": labels},
        "Image": "sha256:59507b30b48ad1faa1fa804b635b1fe0d17c60315722d622d1ed89ca1481192b",
        "Name": f"/{name}", "Driver": "overlay2",
    }  # fmt: skip


def podman(*containers: tuple[str, str]) -> object:
    """Podman 4's containers.json: what is Podman's own is JSON in a text."""
    return [
        {
            "id": id_, "names": [name], "image": "b51afbd7", "layer": "06c94ccb",
            "metadata": json.dumps({"image-name": "docker.io/library/nginx:1.25", "name": name}),
            "flags": {"MountLabel": "", "ProcessLabel": ""},
        }
        for id_, name in containers
    ]  # fmt: skip


def facts(root: Path, runtime: str, uid: str = "") -> Facts | None:
    return Runtimes(root).facts(ContainerRef(runtime, ID, uid))


def test_docker(tmp_path: Path) -> None:
    """The name without Docker's slash, the image as it was typed."""
    write(tmp_path, DOCKER, docker("web-1"))
    assert facts(tmp_path, "docker") == Facts(container="web-1", image="nginx:1.25")


def test_docker_where_the_path_does_not_say_so(tmp_path: Path) -> None:
    """--cgroup-parent leaves a bare id under a folder of any name."""
    write(tmp_path, DOCKER, docker("web-1"))
    assert facts(tmp_path, "") == Facts(container="web-1", image="nginx:1.25")


@pytest.mark.parametrize(
    ("labels", "workload"),
    [
        ({"com.docker.compose.service": "web", "com.docker.compose.project": "shop"}, "shop/web"),
        ({"com.docker.compose.service": "web"}, "web"),
    ],
)
def test_docker_compose(tmp_path: Path, labels: dict[str, str], workload: str) -> None:
    """A service is the workload, with its project: two projects may have services of one name."""
    write(tmp_path, DOCKER, docker("shop-web-1", labels))
    assert facts(tmp_path, "docker") == Facts(
        container="shop-web-1", image="nginx:1.25", workload=workload, workload_kind="compose"
    )


def test_dockershim(tmp_path: Path) -> None:
    """The kubelet's labels tell the pod; Docker's own name is a long one that nobody typed."""
    labels = {
        "io.kubernetes.pod.name": "web-7848d4b86f-xztfp", "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.container.name": "nginx",
    }  # fmt: skip
    write(tmp_path, DOCKER, docker("k8s_nginx_web-7848d4b86f-xztfp_shop_2c48913c_0", labels))
    assert facts(tmp_path, "docker", UID) == Facts(
        namespace="shop", pod="web-7848d4b86f-xztfp", container="nginx", image="nginx:1.25"
    )


@pytest.mark.parametrize(
    "top",
    ["run/containerd", "run/k3s/containerd", "run/k0s/containerd",
     "var/snap/microk8s/common/run/containerd"],
)  # fmt: skip
@pytest.mark.parametrize("runtime", ["containerd", ""])
def test_containerd(tmp_path: Path, top: str, runtime: str) -> None:
    """CRI's annotations in the bundle; k3s, k0s and MicroK8s have folders of their own."""
    write(
        tmp_path, f"{top}/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json",
        {"ociVersion": "1.0.2", "annotations": {
            "io.kubernetes.cri.container-name": "nginx",
            "io.kubernetes.cri.container-type": "container",
            "io.kubernetes.cri.image-name": "docker.io/library/nginx:latest",
            "io.kubernetes.cri.sandbox-id": OTHER,
            "io.kubernetes.cri.sandbox-name": "web-7848d4b86f-xztfp",
            "io.kubernetes.cri.sandbox-namespace": "default",
        }},
    )  # fmt: skip
    assert facts(tmp_path, runtime, UID) == Facts(
        namespace="default", pod="web-7848d4b86f-xztfp", container="nginx",
        image="docker.io/library/nginx:latest",
    )  # fmt: skip


def test_containerd_sandbox(tmp_path: Path) -> None:
    """The container that holds a pod's namespaces is no container of the pod's."""
    annotations = {
        "io.kubernetes.cri.container-type": "sandbox",
        "io.kubernetes.cri.sandbox-name": "web", "io.kubernetes.cri.sandbox-namespace": "develop",
        "io.kubernetes.cri.sandbox-uid": UID,
    }  # fmt: skip
    write(tmp_path, CONTAINERD, {"annotations": annotations})
    assert facts(tmp_path, "containerd", UID) == Facts(
        namespace="develop", pod="web", container="POD"
    )


def test_nerdctl(tmp_path: Path) -> None:
    """nerdctl writes its labels into the annotations; the image is not among them."""
    path = f"run/containerd/io.containerd.runtime.v2.task/default/{ID}/config.json"
    annotations = {"nerdctl/name": "sql-serve", "nerdctl/namespace": "default"}
    write(tmp_path, path, {"annotations": annotations})
    assert facts(tmp_path, "containerd") == Facts(container="sql-serve")


@pytest.mark.parametrize("top", ["var/lib", "run"])
def test_crio(tmp_path: Path, top: str) -> None:
    """CRI-O keeps a bundle in both places; its list has names that nobody typed."""
    place = f"{top}/containers/storage/overlay-containers"
    annotations = {
        "io.kubernetes.container.name": "api", "io.kubernetes.pod.name": "api-0",
        "io.kubernetes.pod.namespace": "shop", "io.kubernetes.cri-o.ContainerType": "container",
        "io.kubernetes.cri-o.ImageName": "quay.io/shop/api:3", "io.container.manager": "cri-o",
    }  # fmt: skip
    write(tmp_path, f"{place}/{ID}/userdata/config.json", {"annotations": annotations})
    write(tmp_path, PODMAN, podman((ID, "k8s_api_api-0_shop_2c48913c_0")))
    assert facts(tmp_path, "cri-o", UID) == Facts(
        namespace="shop", pod="api-0", container="api", image="quay.io/shop/api:3"
    )


@pytest.mark.parametrize("driver", ["overlay", "vfs", "btrfs", "zfs"])
@pytest.mark.parametrize("name", ["containers.json", "volatile-containers.json"])
@pytest.mark.parametrize("top", ["var/lib", "run", "home/ada/.local/share"])
def test_podman(tmp_path: Path, top: str, name: str, driver: str) -> None:
    """Every driver's folder; --rm's list, a transient store's, and a user's."""
    path = f"{top}/containers/storage/{driver}-containers/{name}"
    write(tmp_path, path, podman((OTHER, "db"), (ID, "web-1")))
    assert facts(tmp_path, "podman") == Facts(
        container="web-1", image="docker.io/library/nginx:1.25"
    )


def test_docker_of_a_user(tmp_path: Path) -> None:
    """Rootless Docker keeps its data in the home folder."""
    write(tmp_path, DOCKER.replace("var/lib", "home/ada/.local/share"), docker("web-1"))
    assert facts(tmp_path, "docker") == Facts(container="web-1", image="nginx:1.25")


def test_what_a_user_writes_does_not_rename_the_systems_containers(tmp_path: Path) -> None:
    """The system's files are looked at first, and pods are not looked for in homes at all."""
    write(tmp_path, PODMAN, podman((ID, "web-1")))
    write(tmp_path, PODMAN.replace("var/lib", "home/eve/.local/share"), podman((ID, "evil")))
    write(tmp_path, DOCKER.replace("var/lib", "home/eve/.local/share"), docker("evil"))
    found = facts(tmp_path, "podman")
    assert found and found.container == "web-1"
    assert facts(tmp_path, "", UID) is None


def test_what_comes_late_is_found(tmp_path: Path) -> None:
    """A miss is not remembered, nor a list that has changed since; nor a folder."""
    runtimes, ref = Runtimes(tmp_path), ContainerRef("podman", ID, "")
    assert runtimes.facts(ref) is None
    write(tmp_path, PODMAN, podman((OTHER, "db")))
    assert runtimes.facts(ref) is None
    write(tmp_path, PODMAN, podman((OTHER, "db"), (ID, "web-1")))
    found = runtimes.facts(ref)
    assert found and found.container == "web-1"


def test_what_was_found_stays(tmp_path: Path) -> None:
    """A container that ends is taken out of the lists before its last numbers are published."""
    runtimes, ref = Runtimes(tmp_path), ContainerRef("podman", ID, "")
    write(tmp_path, PODMAN, podman((ID, "web-1")))
    found = runtimes.facts(ref)
    write(tmp_path, PODMAN, podman())
    assert found and runtimes.facts(ref) == found


def test_memory_is_bounded(tmp_path: Path) -> None:
    """The oldest are forgotten, and read again if somebody asks."""
    runtimes = Runtimes(tmp_path)
    ids = [f"{n:064x}" for n in range(9000)]
    write(tmp_path, PODMAN, podman(*((id_, f"c{id_[-4:]}") for id_ in ids)))
    for id_ in ids:
        assert runtimes.facts(ContainerRef("podman", id_, ""))
    assert len(runtimes._known) == 8192
    assert runtimes.facts(ContainerRef("podman", ids[0], "")) == Facts(
        container="c0000", image="docker.io/library/nginx:1.25"
    )


def test_pods_are_not_told(tmp_path: Path) -> None:
    """No engine keeps a file by a pod's UID."""
    write(tmp_path, "var/lib/docker/containers/config.v2.json", docker("web-1"))
    assert Runtimes(tmp_path).facts(ContainerRef("", "", UID)) is None


def test_no_root_is_an_error(tmp_path: Path) -> None:
    """Better at start than never a name."""
    with pytest.raises(FileNotFoundError):
        Runtimes(tmp_path / "missing")

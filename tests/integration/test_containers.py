"""Names and images of real containers, found by their cgroups' paths."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.metadata.runtimes import Runtimes
from exporter.model.container_paths import parse
from exporter.model.metadata import ContainerRef, Facts
from tests import harness
from tests.containers import IMAGE, Podman, bundle, cgroups, podman, tidy


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build("contained", tmp_path_factory.mktemp("programs"), "-static")


@pytest.fixture(scope="module")
def engine(program: Path) -> Iterator[Podman]:
    with podman(program.parent) as running:
        yield running


def told(pid: int) -> ContainerRef:
    """What all of a process' cgroups agree on."""
    refs = {parse(path) for path in cgroups(pid)}
    assert len(refs) == 1
    ref = refs.pop()
    assert ref
    return ref


def test_podman(engine: Podman, program: Path) -> None:
    """In each hierarchy the path names the container, and its list tells the rest."""
    runtimes = Runtimes(engine.root)
    web, db = (engine.run(name, str(program), "0", "0") for name in ("web-1", "db"))
    for container in (web, db):
        ref = told(container.pid)
        assert ref == ContainerRef("podman", container.id, "")
        assert runtimes.facts(ref) == Facts(container=container.name, image=IMAGE)


def test_a_name_that_comes_again(engine: Podman, program: Path) -> None:
    """Restarted, it is the same container; made anew, another of the same name."""
    runtimes = Runtimes(engine.root)
    first = engine.run("again", str(program), "0", "0")
    before = told(first.pid)
    first.stop()
    first.start()
    assert told(first.pid) == before
    first.remove()
    second = engine.run("again", str(program), "0", "0")
    after = told(second.pid)
    assert after.id == second.id != first.id
    assert runtimes.facts(after) == Facts(container="again", image=IMAGE)


def test_images_by_the_name_they_were_run_by(engine: Podman, program: Path) -> None:
    """One image of two names: the container's is what somebody typed."""
    engine("tag", IMAGE, "docker.io/library/web:3")
    web = engine.run("tagged", str(program), "0", "0", image="docker.io/library/web:3")
    facts = Runtimes(engine.root).facts(told(web.pid))
    assert facts == Facts(container="tagged", image="docker.io/library/web:3")


def test_in_a_pod_of_podmans(engine: Podman, program: Path) -> None:
    """The pod's folder is no container's, though it is named by an id."""
    image, program_of_it = f"--infra-image={IMAGE}", "--infra-command=/bin/sleep infinity"
    pod = engine("pod", "create", image, program_of_it, "--share=uts")
    front = engine.run("front", str(program), "0", "0", flags=[f"--pod={pod}"])
    folders = {str(Path(path).parent) for path in cgroups(front.pid)}
    assert folders == {f"/libpod_parent/{pod}"}
    assert parse(*folders) is None
    assert Runtimes(engine.root).facts(told(front.pid)) == Facts(container="front", image=IMAGE)
    engine("pod", "rm", "--force", "--time=0", pod)
    tidy(*folders)


UID = "2c48913c-b29f-11e7-9350-020968147796"
ESCAPED = UID.replace("-", "_")


@pytest.mark.parametrize(
    ("folder", "token"),
    [
        (f"/kubepods.slice/kubepods-pod{ESCAPED}.slice", "cri-containerd-"),
        (f"/kubepods/besteffort/pod{UID}", ""),
    ],
)
def test_containerd(tmp_path: Path, program: Path, folder: str, token: str) -> None:
    """A bundle where containerd puts it, run in the cgroup that CRI asks for."""
    id_ = uuid.uuid4().hex * 2
    cgroup = f"{folder}/{token}{id_}{'.scope' if token else ''}"
    annotations = {
        "io.kubernetes.cri.container-name": "api", "io.kubernetes.cri.container-type": "container",
        "io.kubernetes.cri.image-name": "docker.io/shop/api:3",
        "io.kubernetes.cri.sandbox-name": "api-0", "io.kubernetes.cri.sandbox-namespace": "shop",
    }  # fmt: skip
    place = tmp_path / f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{id_}"
    with bundle(place, cgroup, annotations, str(program), "0", "0") as pid:
        ref = told(pid)
        assert ref == ContainerRef("containerd" if token else "", id_, UID)
        assert Runtimes(tmp_path).facts(ref) == Facts(
            namespace="shop", pod="api-0", container="api", image="docker.io/shop/api:3"
        )

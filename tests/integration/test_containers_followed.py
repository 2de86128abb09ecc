"""Real containers are targets by name and image: each of their calls counts, and counts once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests import harness
from tests.containers import IMAGE, Container, Podman, bundle, podman
from tests.harness import Exporter, Scrape, exporter
from tests.kernel.trees import until

WEB, DB = "docker.io/library/web:3", "docker.io/library/db:1"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def contained(programs: Path) -> str:
    return str(harness.build("contained", programs, "-static"))


@pytest.fixture(scope="module")
def million(programs: Path) -> str:
    return str(harness.build("million", programs, "-static"))


@pytest.fixture(scope="module")
def empty_engine(programs: Path) -> Iterator[Podman]:
    with podman(programs) as running:
        for name in (WEB, DB):
            running("tag", IMAGE, name)
        yield running


@pytest.fixture
def engine(empty_engine: Podman) -> Iterator[Podman]:
    """Without containers at the test's begin."""
    yield empty_engine
    empty_engine("rm", "--all", "--force", "--time=0")


def following(
    engine: Podman, words: str, labels: str = "container, image"
) -> AbstractContextManager[Exporter]:
    config = f"labels: [{labels}]\ntargets: [{{name: c, container: {{{words}}}}}]\n"
    return exporter(config, f"--path.rootfs={engine.root}", "--web.enable-lifecycle")


def calls(scrape: Scrape, syscall: str = "getpgid") -> dict[str, float]:
    """By the values of the other labels. getpgid is contained.c's; runc starts nothing with it."""
    assert scrape.lost() == 0
    return scrape.all("proctree_syscalls_total", target="c", syscall=syscall)


def started(scrape: Scrape) -> float:
    """0 before the tree has its name."""
    return max(scrape.all("proctree_tree_start_time_seconds", target="c").values(), default=0)


def trees(scrape: Scrape) -> float:
    return scrape.value("proctree_target_trees", target="c")


def has_said(container: Container, word: str, times: int = 1) -> None:
    while container.said().count(word) < times:
        assert container.pid, f"it ended: {container.said()}"


def test_two_at_once_and_one_that_is_not_meant(engine: Podman, contained: str) -> None:
    """From the first instruction, with all children, each under its own name."""
    with following(engine, "name: web*") as running:
        one = engine.run("web-1", contained, "3", "7", image=WEB)
        other = engine.run("web-2", contained, "5", "11", image=WEB)
        db = engine.run("db", contained, "13", "17", image=DB)
        for container in (one, other, db):
            has_said(container, "done")
        wanted = {f"web-1,{WEB}": 4 * 7, f"web-2,{WEB}": 6 * 11}
        scrape = until(running, lambda scrape: calls(scrape) == wanted)
        assert trees(scrape) == 2


def test_one_that_was_there_before(engine: Podman, million: str) -> None:
    """It is followed from when the exporter is ready."""
    with (
        engine.attached("web-1", million, image=WEB) as tree,
        engine.attached("db", million, image=DB) as other,
    ):
        for workload in (tree, other):
            workload.expect("ready")
        with following(engine, "name: web*") as running:
            for workload in (tree, other):
                workload.go()
                workload.expect("done")
            assert calls(running.scrape(), "getppid") == {f"web-1,{WEB}": 1_000_000}


def test_by_image(engine: Podman, contained: str) -> None:
    """A glob of the image's whole name."""
    with following(engine, "image: '*/web:*'") as running:
        web = engine.run("one", contained, "3", "7", image=WEB)
        db = engine.run("two", contained, "5", "11", image=DB)
        for container in (web, db):
            has_said(container, "done")
        until(running, lambda scrape: calls(scrape) == {f"one,{WEB}": 4 * 7})


def test_by_name_and_image(engine: Podman, contained: str) -> None:
    """Both must hold."""
    with following(engine, f"name: web*, image: '{WEB}'") as running:
        web = engine.run("web-1", contained, "3", "7", image=WEB)
        others = [engine.run("web-2", contained, "5", "11", image=DB)]
        others.append(engine.run("other", contained, "13", "17", image=WEB))
        for container in (web, *others):
            has_said(container, "done")
        until(running, lambda scrape: calls(scrape) == {f"web-1,{WEB}": 4 * 7})


def test_a_restart_goes_on_counting(engine: Podman, contained: str) -> None:
    """The same container in a new cgroup with the path of the old: one series, which only grows.
    The start time of its tree tells of it."""
    with following(engine, "name: web*") as running:
        web = engine.run("web-1", contained, "3", "7", image=WEB)
        has_said(web, "done")
        began = started(until(running, started))
        for times in (2, 3):
            web.stop()
            web.start()
            has_said(web, "done", times)
            began = started(until(running, lambda scrape, began=began: started(scrape) > began))
        scrape = until(running, lambda scrape: calls(scrape) == {f"web-1,{WEB}": 3 * 4 * 7})
        assert trees(scrape) == 1


def test_another_of_the_same_name(engine: Podman, contained: str) -> None:
    """Made anew it has another id, but the same labels: one series."""
    with following(engine, "name: web*") as running:
        for times in (1, 2, 3):
            web = engine.run("web-1", contained, "3", "7", image=WEB)
            has_said(web, "done")
            until(running, lambda scrape, n=times: calls(scrape) == {f"web-1,{WEB}": n * 4 * 7})
            web.remove()
        until(running, lambda scrape: trees(scrape) == 0)
        assert calls(running.scrape()) == {f"web-1,{WEB}": 3 * 4 * 7}


def test_equal_labels_are_summed(engine: Podman, contained: str) -> None:
    """`labels: [image]` makes one series of all containers of an image."""
    with following(engine, "image: '*'", labels="image") as running:
        for number in range(5):
            image = WEB if number % 2 else DB
            has_said(engine.run(f"c{number}", contained, "3", "7", image=image), "done")
        until(running, lambda scrape: calls(scrape) == {WEB: 2 * 4 * 7, DB: 3 * 4 * 7})


def test_what_is_run_inside_later(engine: Podman, contained: str) -> None:
    """`podman exec` moves a process into the container."""
    with following(engine, "name: web*") as running:
        web = engine.run("web-1", contained, "0", "7", image=WEB)
        has_said(web, "done")
        engine("exec", web.id, contained, "3", "11", "end")
        until(running, lambda scrape: calls(scrape) == {f"web-1,{WEB}": 7 + 4 * 11})


def test_containers_that_end_at_once(engine: Podman, contained: str) -> None:
    """Shorter than the exporter's look at the news; what they did is still told."""
    with following(engine, "name: web*", labels="image") as running:
        for number in range(20):
            engine("run", f"--name=web-{number}", f"--volume={Path(contained).parent}:/w:ro", WEB,
                   "/w/contained_static", "3", "7", "end")  # fmt: skip
        until(running, lambda scrape: calls(scrape) == {WEB: 20 * 4 * 7})


def test_a_reload_loses_nothing(engine: Podman, programs: Path) -> None:
    """Targets come and go around a container that calls all the time."""
    steady = str(harness.build("steady", programs, "-static"))
    with (
        engine.attached("web-1", steady, image=WEB) as tree,
        following(engine, "name: web*") as running,
    ):
        tree.expect("ready")
        config = running.config.read_text()
        tree.go()
        tree.expect("born")
        for targets in (", {name: d, container: {image: '*'}}", "", ", /kubepods/**", ""):
            running.config.write_text(config.replace("}}]", f"}}}}{targets}]"))
            running.reload()
        tree.go()
        total = float(tree.expect("total")[0])
        tree.expect("done")
        assert calls(running.scrape(), "getppid") == {f"web-1,{WEB}": total}
        tree.go()


def test_of_a_pod_without_an_api_server(tmp_path: Path, contained: str) -> None:
    """The annotations of containerd's bundle tell namespace, pod, container and image."""
    annotations = {
        "io.kubernetes.cri.container-name": "api", "io.kubernetes.cri.container-type": "container",
        "io.kubernetes.cri.image-name": "docker.io/shop/api:3",
        "io.kubernetes.cri.sandbox-name": "api-0", "io.kubernetes.cri.sandbox-namespace": "shop",
    }  # fmt: skip
    uid, ids = uuid.uuid4(), [uuid.uuid4().hex * 2 for _ in range(2)]
    pod = f"/kubepods.slice/kubepods-pod{str(uid).replace('-', '_')}.slice"
    bundles = tmp_path / "run/containerd/io.containerd.runtime.v2.task/k8s.io"
    config = (
        "labels: [namespace, pod, container, image]\n"
        "targets: [{name: c, kubernetes: {namespace: shop, container: api}}]\n"
    )
    with exporter(config, f"--path.rootfs={tmp_path}") as running, ExitStack() as containers:
        for id_, name in zip(ids, ("api", "sidecar"), strict=True):
            annotations["io.kubernetes.cri.container-name"] = name
            containers.enter_context(
                bundle(
                    bundles / id_, f"{pod}/cri-containerd-{id_}.scope", annotations,
                    contained, "3", "7",
                )
            )  # fmt: skip
        labels = "api,docker.io/shop/api:3,shop,api-0"
        until(running, lambda scrape: calls(scrape) == {labels: 4 * 7})

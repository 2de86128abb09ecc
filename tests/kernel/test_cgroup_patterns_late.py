"""Containers whose names come late, or never: counted from the first process, shown when named.

An engine's file is all that tells a container's name; here the test is the engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import Exporter, Scrape, exporter, workload
from tests.kernel.cgroup_tree import cgroup, move_tree, version_2
from tests.kernel.trees import until

Build = Callable[..., Path]
ID = f"{os.getpid():08x}" + "0123456789abcdef" * 3 + "00000000"
CALLS = 7 * 13  # of short_lives 7 3 13


@contextmanager
def container(id_: str = ID) -> Iterator[Path]:
    """Its cgroup, as Docker makes it."""
    with cgroup(version_2() / f"system.slice/docker-{id_}.scope") as place:
        yield place


def name_it(root: Path, name: str, id_: str = ID) -> None:
    """What Docker writes."""
    folder = root / "var/lib/docker/containers" / id_
    folder.mkdir(parents=True)
    (folder / "new").write_text(json.dumps({"Name": f"/{name}", "Config": {"Image": "img"}}))
    (folder / "new").rename(folder / "config.v2.json")


def run(build: Build, place: Path) -> None:
    """All that is ever in the container."""
    with workload(build("short_lives"), "7", "3", "13") as tree:
        tree.expect("ready")
        move_tree(tree, place)
        tree.go()
        tree.expect("done")


def calls(scrape: Scrape, target: str = "it") -> dict[str, float]:
    return scrape.all("proctree_syscalls_total", target=target, syscall="getppid")


def held_back(scrape: Scrape) -> float:
    return scrape.value("proctree_exporter_trees_held_back")


def unknown(scrape: Scrape) -> float:
    return scrape.value("proctree_exporter_refused_total", reason="container_unknown")


def trees(scrape: Scrape) -> float:
    return scrape.value("proctree_exporter_trees")


@contextmanager
def serving(root: Path, target: str, settings: str) -> Iterator[tuple[Exporter, float]]:
    """And how many containers there are on this machine that are not ours and have no name."""
    config = f"targets:\n  - {{name: it, {target}}}\n{settings}\n"
    with exporter(config, f"--path.rootfs={root}") as running:
        scrape = running.scrape()
        assert unknown(scrape) == 0
        assert trees(scrape) == held_back(scrape)
        yield running, held_back(scrape)


LABELS = "labels: [container]\nkeep_gone: 1h\nmetadata_timeout: "
BY_PATH = "cgroup: /system.slice/docker-*"


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("target", [BY_PATH, "container: {name: 'web-*'}"])
def test_a_name_that_comes_late(build: Build, tmp_path: Path, target: str, gone: bool) -> None:
    """Nothing is shown before, and it is told so; then all is, though the container be gone."""
    with serving(tmp_path, target, f"{LABELS} 10m") as (running, others):
        with container() as place:
            run(build, place)
            scrape = until(running, lambda scrape: held_back(scrape) == others + 1)
            assert calls(scrape) == {}
            if not gone:
                name_it(tmp_path, "web-1")
                assert calls(until(running, lambda scrape: held_back(scrape) == others))
        if gone:
            assert held_back(running.scrape()) == others + 1
            name_it(tmp_path, "web-1")
        scrape = until(
            running,
            lambda scrape: held_back(scrape) == trees(scrape) == others,
        )
        assert calls(scrape) == {"web-1": CALLS}
        assert unknown(scrape) == 0


@pytest.mark.parametrize("gone", [False, True])
def test_a_name_that_never_comes(build: Build, tmp_path: Path, gone: bool) -> None:
    """After metadata_timeout its series go out with what the path tells."""
    with serving(tmp_path, BY_PATH, f"{LABELS} 2s") as (running, others):
        with container() as place:
            run(build, place)
            if not gone:
                until(running, lambda scrape: calls(scrape) == {ID[:12]: CALLS})
        scrape = until(running, lambda scrape: calls(scrape) == {ID[:12]: CALLS})
        scrape = until(running, lambda scrape: trees(scrape) == others)
        assert (held_back(scrape), unknown(scrape)) == (others, 0)
        assert calls(scrape) == {ID[:12]: CALLS}


def test_a_container_that_is_gone_before_its_name_is_known(build: Build, tmp_path: Path) -> None:
    """Nobody can tell whether it was meant: that is counted, and its slot comes back."""
    with serving(tmp_path, "container: {name: 'web-*'}", f"{LABELS} 2s") as (running, others):
        with container() as place:
            run(build, place)
            until(running, lambda scrape: held_back(scrape) == others + 1)
        scrape = until(running, lambda scrape: unknown(scrape) == 1)
        scrape = until(running, lambda scrape: trees(scrape) == others)
        assert held_back(scrape) == others
        assert calls(scrape) == {}


def test_a_container_that_is_not_meant(build: Build, tmp_path: Path) -> None:
    """It is let go of when its name is known, with what is in it, and is no loss."""
    with serving(tmp_path, "container: {name: 'web-*'}", f"{LABELS} 10m") as (running, others):
        with container() as place, workload(build("short_lives"), "7", "3", "13") as tree:
            tree.expect("ready")
            move_tree(tree, place)
            until(running, lambda scrape: held_back(scrape) == others + 1)
            name_it(tmp_path, "db-1")
            scrape = until(running, lambda scrape: trees(scrape) == others)
            assert (held_back(scrape), unknown(scrape)) == (others, 0)
            tree.go()
            tree.expect("done")
        assert calls(running.scrape()) == {}
        assert running.scrape().lost() == 0


def test_a_container_that_restarts(build: Build, tmp_path: Path) -> None:
    """Another id, and the same name: one series, which goes on."""
    other = ID[::-1]
    name_it(tmp_path, "web-1")
    name_it(tmp_path, "web-1", other)
    with serving(tmp_path, "container: {name: 'web-*'}", f"{LABELS} 10m") as (running, others):
        for times, id_ in ((1, ID), (2, other)):
            with container(id_) as place:
                run(build, place)
            scrape = until(
                running,
                lambda scrape, times=times: calls(scrape) == {"web-1": times * CALLS},  # type: ignore[misc]
            )
        assert held_back(scrape) == others

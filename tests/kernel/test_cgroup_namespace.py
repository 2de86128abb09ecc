"""An exporter in a cgroup namespace of its own, as containers have one, follows the node's cgroups.

Its own /sys/fs/cgroup begins at its own cgroup. The node's is mounted elsewhere, read-only, as a
DaemonSet would; or is not mounted at all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness import PATIENCE_S, Exporter, Scrape, exporter, workload
from tests.kernel.cgroup_tree import ROOT, cgroup, remove, version_2
from tests.kernel.trees import until

NAME = f"proctree-namespace-{os.getpid()}"
IDS = {"web-1": "1" * 64, "web-2": "2" * 64}
#: By the labels under which their calls are exposed: those that are there before, and those after.
BEFORE = {
    ",one": f"/{NAME}/one",
    f"/{NAME}/pods/first,pods": f"/{NAME}/pods/first",
    f"/{NAME}/docker/{IDS['web-1']},web": f"/{NAME}/docker/{IDS['web-1']}",
}
AFTER = {
    ",late": f"/{NAME}/late",
    f"/{NAME}/pods/second,pods": f"/{NAME}/pods/second",
    f"/{NAME}/docker/{IDS['web-2']},web": f"/{NAME}/docker/{IDS['web-2']}",
}
CONFIG = f"""
targets:
  - {{name: one, cgroup: /{NAME}/one}}
  - {{name: late, cgroup: /{NAME}/late}}
  - {{name: pods, cgroup: '/{NAME}/pods/*'}}
  - {{name: web, container: {{name: web-*}}}}
"""
ENTER = """
host=$1 group=$2; shift 2
for place in $group; do echo $$ > $place/cgroup.procs; done
exec unshare --cgroup --mount --propagation private sh -ec '
host=$1; shift
if [ "$host" ]; then
    mount --rbind /sys/fs/cgroup "$host"
    for place in $(findmnt -rno TARGET | grep "^$host"); do mount -o remount,bind,ro $place; done
fi
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec "$@"' sh "$host" "$@"
"""


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    """With what Docker knows of the containers."""
    for name, id_ in IDS.items():
        place = tmp_path / "root/var/lib/docker/containers" / id_
        place.mkdir(parents=True)
        told = {"Name": f"/{name}", "Config": {"Image": "web:3"}}
        (place / "config.v2.json").write_text(json.dumps(told))
    return tmp_path / "root"


@pytest.fixture
def places() -> Iterator[list[Path]]:
    """A cgroup named NAME in version 2, and in a hierarchy of version 1 where there is one."""
    found = [version_2(), *(place for place in [ROOT / "freezer"] if place.exists())]
    with ExitStack() as stack:
        yield [stack.enter_context(cgroup(place / NAME)) for place in found]


def within(places: list[Path], host: Path | None) -> list[str]:
    """The command: an exporter in a cgroup beneath NAME, which is all that its namespace has."""
    groups = [place / "exporter" for place in places]
    for group in groups:
        group.mkdir()
    start = ["sh", "-ec", ENTER, "sh", str(host or ""), " ".join(map(str, groups))]
    return [*start, sys.executable, "-m", "exporter"]


def call(program: Path, places: list[Path], path: str, calls: int) -> int:
    """In this cgroup of version 2, which is made where it is not there. How many calls that are."""
    group = places[0].parent / path.lstrip("/")
    group.mkdir(parents=True, exist_ok=True)
    enter = f"echo $$ > {group}/cgroup.procs; exec {program} 2 {calls} end"
    with workload(Path("sh"), "-ec", enter) as contained:
        contained.expect("done")
        assert contained.end() == 0
    return 3 * calls


def sees(running: Exporter, wanted: dict[str, int]) -> Scrape:
    """These getpgid calls, by the values of all other labels."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        scrape = running.scrape()
        assert scrape.lost() == 0
        found = scrape.all("proctree_syscalls_total", syscall="getpgid")
        if found == wanted:
            return scrape
        assert time.monotonic() < deadline, f"{found} is not {wanted}: {running.log}"
        time.sleep(0.05)


def test_with_the_nodes_cgroups(
    build: Callable[..., Path], places: list[Path], rootfs: Path, tmp_path: Path
) -> None:
    """Listed, matched and named cgroups: those that were there, and those that come."""
    contained, host = build("contained"), tmp_path / "cgroup"
    host.mkdir()
    for path in BEFORE.values():
        call(contained, places, path, 1)
    flags = (f"--path.cgroupfs={host}", f"--path.rootfs={rootfs}")
    with exporter(CONFIG, *flags, command=within(places, host)) as running:
        wanted = {
            labels: call(contained, places, path, 7 + number)
            for number, (labels, path) in enumerate((BEFORE | AFTER).items())
        }
        sees(running, wanted)
        assert "cgroup namespace" not in running.log
        remove(places[0] / "pods")
        scrape = until(running, lambda scrape: trees(scrape, "pods") == 0)
        assert trees(scrape, "web") == 2


def test_with_nothing_of_the_node(
    build: Callable[..., Path], places: list[Path], rootfs: Path
) -> None:
    """It says so and how to mend it; what comes is followed, because the kernel tells."""
    contained = build("contained")
    for path in BEFORE.values():
        call(contained, places, path, 1)
    command = within(places, None)
    with exporter(CONFIG, f"--path.rootfs={rootfs}", command=command) as running:
        assert "--path.cgroupfs" in running.log
        wanted = dict.fromkeys(AFTER, 0)
        for times in range(1, 4):
            for labels, path in AFTER.items():
                wanted[labels] += call(contained, places, path, 7 * times)
            scrape = sees(running, wanted)
        assert {t: trees(scrape, t) for t in ("pods", "web")} == {"pods": 1, "web": 1}
        remove(places[0] / "pods")
        until(running, lambda scrape: trees(scrape, "pods") == 0)


def trees(scrape: Scrape, target: str) -> float:
    return scrape.value("proctree_target_trees", target=target)

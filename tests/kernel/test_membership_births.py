"""A child belongs to its parent's tree before it runs, however it was made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Exporter, workload
from tests.kernel.trees import ended, exits, following, forks, processes, until

Build = Callable[..., Path]
#: How a child is made -> how many processes that takes.
WAYS = {
    "fork": 1, "vfork": 1, "vm": 1, "clone3": 1, "newpid": 1, "newuser": 1, "newuser+newpid": 1,
    "thread": 1, "parent": 2, "daemon": 2,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_child_is_in_the_tree_of_who_made_it(build: Build, idle: Exporter, way: str) -> None:
    """All of its 1,009 calls count: the first, too, and after others have adopted it."""
    with workload(build("births"), way) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            call = "getpgid" if way == "daemon" else "getppid"
            if way == "daemon":  # its end is seen by nobody but init
                until(running, lambda scrape: processes(scrape) == 1)
            scrape = running.scrape()
            assert scrape.calls("it", call) == 1009
            assert scrape.timed("it", call) == 1009
            assert forks(scrape) == WAYS[way]
            assert exits(scrape) == ended(ok=WAYS[way])
            assert processes(scrape) == 1
            assert scrape.lost() == 0


def test_five_thousand_short_lives(build: Build, idle: Exporter) -> None:
    """5,000 children, up to 64 at once, make 13 calls each: none is lost."""
    with workload(build("short_lives"), "5000", "64", "13") as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 5000 * 13
            assert forks(scrape) == 5000
            assert exits(scrape) == ended(ok=5000)
            assert processes(scrape) == 1
            assert scrape.lost() == 0

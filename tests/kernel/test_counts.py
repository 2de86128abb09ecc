"""Calls that are easy to lose when there are many of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.harness import exporter, workload


def test_a_million_calls_of_sixteen_children(build: Callable[..., Path]) -> None:
    """16 forked children making 62,500 calls each are exactly 1,000,000."""
    with workload(build("million")) as tree:
        tree.expect("ready")
        with exporter(f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1_000_000
            assert scrape.timed("it", "getppid") == 1_000_000
            assert scrape.lost() == 0

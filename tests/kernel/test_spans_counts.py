"""Counting does not depend on spans: on whether there are any, and on who takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Scrape, exporter, free_port, workload
from tests.kernel.spans import config, traced
from tests.unit.otlp_server import deaf, otlp_server, status

Build = Callable[..., Path]
LIFE = ("short_lives", "997", "31", "13")
SPANS = {"intervals": True, "processes": True, "sample": 0.5, "errors": ["ECHILD"]}


def counts(scrape: Scrape) -> dict[Any, float]:
    """All that was counted of the target."""
    wanted = (
        "proctree_syscalls_total", "proctree_syscall_errors_total",
        "proctree_syscall_duration_seconds_count", "proctree_process_forks_total",
        "proctree_process_execs_total", "proctree_process_exits_total",
    )  # fmt: skip
    return {key: value for key, value in scrape.samples.items() if key[0] in wanted}


def after_life(build: Build, text: Callable[[int], str]) -> Scrape:
    name, *arguments = LIFE
    with workload(build(name), *arguments) as tree:
        tree.expect("ready")
        with exporter(text(tree.pid)) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.lost() == 0
            assert running.stop() == 0
            return scrape


@pytest.fixture(scope="module")
def plain(build: Build) -> dict[Any, float]:
    """Without spans."""
    scrape = after_life(build, lambda pid: f"[{{name: it, pid: {pid}}}]")
    assert scrape.calls("it", "getppid") == 997 * 13
    return counts(scrape)


def followed(pid: int) -> dict[str, Any]:
    return {"name": "it", "pid": pid, "spans": SPANS}


@pytest.mark.parametrize("backend", ["good", "away", "deaf", "refusing"])
def test_the_same_with_spans(build: Build, plain: dict[Any, float], backend: str) -> None:
    """Whatever becomes of them."""
    with otlp_server() as server, deaf() as (silent, _):
        server.otherwise = status(503) if backend == "refusing" else server.otherwise
        port = {"away": free_port(), "deaf": silent}.get(backend, server.port)
        metrics = {"metrics": True, "interval": "100ms"}
        scrape = after_life(
            build,
            lambda pid: config(f"http://127.0.0.1:{port}", followed(pid), otlp=metrics),
        )
    assert counts(scrape) == plain


def test_every_span_is_somewhere(build: Build) -> None:
    """Of a million calls that are all to be spans: sent, or dropped or lost for a reason."""
    asked = {"syscalls": ["getppid"], "max_per_second": 1_000_000}
    with (
        workload(build("million")) as tree,
        traced({"name": "it", "pid": tree.pid, "spans": asked}) as it,
    ):
        tree.expect("ready")
        tree.go()
        tree.expect("done")
        assert it.running.scrape().calls("it", "getppid") == 1_000_000
        at_rest = ("gave_up", "queue_full", "rejected", "token_bucket", "unsent")

        def accounted() -> float:
            scrape = it.running.scrape()
            dropped = scrape.all("proctree_exporter_dropped_spans_total")
            assert set(dropped) == set(at_rest)
            lost = scrape.all("proctree_exporter_lost_events_total")
            return sum(dropped.values()) + sum(lost.values())

        before, now = -1.0, accounted()
        while before != now or it.number() + now < 1_000_000:
            before, now = now, accounted()
        assert it.number() + now == 1_000_000

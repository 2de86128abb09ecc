"""What is exposed of containers that tests/kernel/workloads/contained.c runs in."""

from __future__ import annotations

import time

from tests.harness import PATIENCE_S, Exporter, Scrape


def calls(scrape: Scrape, target: str = "c") -> dict[str, float]:
    """Of getpgid, which runc does not call, by the values of the other labels."""
    assert scrape.lost() == 0
    return scrape.all("proctree_syscalls_total", target=target, syscall="getpgid")


def own(scrape: Scrape, name: str, **labels: str) -> float:
    return scrape.value(f"proctree_exporter_{name}", **labels)


def sees(running: Exporter, wanted: dict[str, float], target: str = "c") -> Scrape:
    """The first scrape with exactly these `calls`."""
    deadline = time.monotonic() + PATIENCE_S
    while calls(scrape := running.scrape(), target) != wanted:
        assert time.monotonic() < deadline, (
            f"{calls(scrape, target)} is not {wanted}: {running.log}"
        )
        time.sleep(0.05)
    return scrape

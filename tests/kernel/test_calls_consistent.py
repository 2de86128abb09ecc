"""One scrape is consistent, and the numbers depend on nothing but the calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Scrape
from tests.kernel.test_calls import IT, calls_of, counted, errors_of, followed

BUCKETS = "proctree_syscall_duration_seconds_bucket"
COUNT = "proctree_syscall_duration_seconds_count"
SUM = "proctree_syscall_duration_seconds_sum"


def buckets_of(scrape: Scrape, syscall: str) -> dict[float, float]:
    """Cumulative counts by upper bound, in order."""
    found = scrape.all(BUCKETS, target=IT, syscall=syscall)
    return dict(sorted((float(bound), n) for bound, n in found.items()))


def check_consistent(scrape: Scrape) -> None:
    """What holds in every scrape, of every call."""
    for syscall, calls in scrape.all("proctree_syscalls_total", target=IT).items():
        assert sum(scrape.errors(IT, syscall).values()) <= calls
        timed = scrape.timed(IT, syscall)
        assert timed <= calls
        if not timed:
            continue
        counts = list(buckets_of(scrape, syscall).values())
        assert counts == sorted(counts)
        assert counts[-1] == timed
        assert scrape.value(SUM, target=IT, syscall=syscall) > 0


def test_scrapes_in_a_storm(build: Callable[..., Path]) -> None:
    """Each is consistent in itself, none goes back, and nothing is missing in the end."""
    with followed(build("storm")) as (tree, running):
        tree.go()
        tree.expect("storm")
        last: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for _ in range(31):
            scrape = running.scrape()
            check_consistent(scrape)
            counters = {
                key: value
                for key, value in scrape.samples.items()
                if key[0].startswith("proctree_")
                and key[0].endswith(("_total", "_bucket", "_count"))
            }
            assert {key for key, value in last.items() if counters[key] < value} == set()
            last = counters
        tree.go()
        total = int(tree.expect("total")[0])
        tree.expect("done")
        scrape = running.scrape()
    check_consistent(scrape)
    assert scrape.calls(IT, "close") == scrape.timed(IT, "close") == total
    assert scrape.calls(IT, "getppid") == scrape.timed(IT, "getppid") == total
    assert scrape.errors(IT, "close") == {"EBADF": total}
    assert scrape.errors(IT, "getppid") == {}
    assert scrape.lost() == 0


@pytest.fixture(scope="module")
def plain(build: Callable[..., Path]) -> Scrape:
    """The mixture, with nothing optional."""
    return counted(build("mixture"))


def test_durations_lie_in_their_buckets(plain: Scrape) -> None:
    """21 sleeps of 20 ms: none in a bucket below, and the sum says it too."""
    buckets = buckets_of(plain, "clock_nanosleep")
    assert plain.timed(IT, "clock_nanosleep") == 21
    assert {bound: n for bound, n in buckets.items() if bound < 0.02 and n} == {}
    assert min(bound for bound in buckets if bound > 0.02) == 0.0625
    assert buckets[float("inf")] == 21
    assert plain.value(SUM, target=IT, syscall="clock_nanosleep") >= 21 * 0.02


def test_the_mixture(plain: Scrape) -> None:
    """What the other mixtures are compared with."""
    assert calls_of(plain) == {
        "fork": 3,
        "wait4": 3,
        "getppid": 303,
        "close": 159,
        "clock_nanosleep": 21,
        "getpgid": 33,
        "unknown": 15,
        "kill": 3,
        "rt_sigreturn": 3,
        "exit_group": 3,
    }
    assert errors_of(plain) == {"EBADF,close": 159, "ENOSYS,unknown": 15}


def test_self_cost_changes_no_count(plain: Scrape, build: Callable[..., Path]) -> None:
    """`self_cost: true` adds our own price and nothing else."""
    scrape = counted(build("mixture"), settings=", self_cost: true")
    assert calls_of(scrape) == calls_of(plain)
    assert errors_of(scrape) == errors_of(plain)
    assert scrape.all(COUNT, target=IT) == plain.all(COUNT, target=IT)
    runs = scrape.all("proctree_exporter_bpf_runs_total")
    # each call that has both ends runs both programs
    timed = sum(scrape.all(COUNT, target=IT).values())
    assert min(runs["on_sys_enter"], runs["on_sys_exit"]) >= timed
    assert plain.all("proctree_exporter_bpf_runs_total") == {}


def test_histograms_change_no_count(plain: Scrape, build: Callable[..., Path]) -> None:
    """Nor does the resolution of the histograms, or whether they are by class."""
    for histograms in ("{scale: 0}", "{scale: 3}", "{by: class}", "{by: both, native: false}"):
        scrape = counted(build("mixture"), settings=f", histograms: {histograms}")
        assert calls_of(scrape) == calls_of(plain)
        assert errors_of(scrape) == errors_of(plain)

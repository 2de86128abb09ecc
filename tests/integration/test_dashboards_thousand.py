"""With a thousand trees and names of 500 characters queries stay cheap, and panels readable."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.publish.shape import Shape
from tests.dashboards import ALL, Query
from tests.integration.dashboard_crowd import LONG, crowd
from tests.integration.dashboard_server import Server, server

MISSING = [name for name in ("prometheus", "prometheus3") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} not on PATH: make tools")

TREES, CALLS = 1000, 15
#: Series of a panel at most; of a table, rows.
MOST_SERIES, MOST_ROWS = 30, 100


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Prometheus that has scraped them, and does not go on."""
    folder = tmp_path_factory.mktemp("thousand") / "prometheus"
    with ExitStack() as stack:
        with crowd(TREES, CALLS, Shape(by="both", classic="class")) as address:
            found = stack.enter_context(server(address, folder, native=True, interval=5))
            found.until(f"count(tree:proctree_syscalls:rate5m) == {TREES}")
            found.until("sum_over_time(up[10m]) > 4 and up == 1")
            found.now = int(found.one("timestamp(up)")) + 1
        found.variables |= {"__range": "10s", "recent": "10s"}
        yield found


@pytest.mark.parametrize("query", ALL, ids=[query.id for query in ALL])
def test_readable(query: Query, asked: Server) -> None:
    """No panel shows more than people can read, however many trees there are."""
    found = asked.ask(query, target=".*")
    assert len(found) <= (MOST_ROWS if query.instant else MOST_SERIES)


def test_long_names(asked: Server) -> None:
    """They can be chosen, and come back whole."""
    (query,) = [q for q in ALL if q.panel == "What is it, and whose?"]
    (found,) = asked.ask(query, target=LONG)
    assert [found.labels[name] for name in ("target", "namespace", "pod")] == [LONG] * 3


def test_each_second_once(asked: Server) -> None:
    """With histograms by call and by class, time by class is that of all calls, and not twice."""
    (query,) = [q for q in ALL if q.panel.startswith("What does it wait for")]
    shares = asked.ask(query, target=".*", __rate_interval="10s")
    spent = "sum(histogram_sum(rate(proctree_syscall_duration_seconds[10s])))"
    assert sum(one.value for one in shares) == pytest.approx(asked.one(spent))


def test_by_class_only(tmp_path: Path) -> None:
    """Without histograms by call, and without rules, time by class and by tree is there as well."""
    with (
        crowd(10, CALLS, Shape(by="class")) as address,
        server(address, tmp_path / "prometheus", native=False) as asked,
    ):
        asked.until("sum_over_time(up[10m]) > 2 and up == 1")
        asked.now = int(asked.one("timestamp(up)")) + 1
        asked.variables |= {"__range": "20s"}
        for start in ("What do all of them wait for", "Which trees take most time"):
            (query,) = [q for q in ALL if q.panel.startswith(start)]
            assert asked.ask(query)


@pytest.mark.parametrize(
    "panel",
    [
        "How many calls are made?",
        "Which trees make most calls?",
        "Which trees fail most?",
        "Which trees take most time in calls, and since when?",
        "What do all of them wait for?",
        "Which pod or service slowed, and on what?",
    ],
)
def test_recorded(panel: str, asked: Server) -> None:
    """What tells of all trees reads what the rules recorded, and no more: that is little beside the
    series of all calls."""
    (query, *_) = [q for q in ALL if (q.dashboard, q.panel) == ("overview", panel)]
    used, without = (samples(asked, asked.expr(query, unrecorded=jobs)) for jobs in ("()", ".*"))
    assert used["peakSamples"] < without["peakSamples"]
    assert used["totalQueryableSamples"] < without["totalQueryableSamples"]


def samples(asked: Server, expr: str) -> dict[str, int]:
    data = asked.get(
        "/api/v1/query_range", query=expr, start=str(asked.now - 10), end=str(asked.now), step="2",
        stats="all",
    )  # fmt: skip
    return dict(data["stats"]["samples"])

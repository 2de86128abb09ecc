"""Every query of the dashboards, asked of real Prometheis that scraped known workloads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from dashboards.rules.generate import names_of
from tests import dashboards
from tests.caller import born
from tests.dashboards import ALL, NAMES, Query
from tests.integration import dashboard_world
from tests.integration.dashboard_server import Series, Server
from tests.integration.dashboard_world import CALLS, NEW, World

MISSING = [name for name in ("prometheus", "prometheus3") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} not on PATH: make tools")

NOTHING_LOST, NO_API = "nothing is lost", "no API server is asked"
#: Queries that have nothing to show here, and why.
EMPTY = {
    "exporter: How old is what is known of pods? A": NO_API,
    "exporter: What runs where? D": NO_API,
    "exporter: Which calls are lost, and why? A": NOTHING_LOST,
    "exporter: Which events and spans are lost, and why? A": NOTHING_LOST,
    "exporter: Which events and spans are lost, and why? B": NOTHING_LOST,
    "exporter: Does the OpenTelemetry backend take what is sent? A": "nothing is sent",
    "exporter: What was found and not followed? A": "all is followed",
    "exporter: What was found and not followed? B": "all has room",
    "exporter: What was found and not followed? C": NO_API,
    "exporter: What does not show under its own name? A": "all has room",
    "exporter: What does not show under its own name? B": "nothing waits for its name",
    "overview: What came, and what went? B": "nothing went",
    "overview: Restarts Anno": "see test_restarts",
    "tree: Restarts Anno": "the target `it` never restarts",
    "tree: Deploys Anno": "the target `it` was there before",
}
NATIVE = "How long do its calls take, by native histograms?"
CLASSIC = "How long do its calls take, by classic buckets?"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with dashboard_world.world(tmp_path_factory.mktemp("dashboards")) as found:
        yield found
        assert found.exporter.scrape().lost() == 0


@pytest.fixture(params=["native", "classic"])
def asked(request: pytest.FixtureRequest, world: World) -> Server:
    return world.native if request.param == "native" else world.classic


def the(dashboard: str, panel: str, ref: str = "A") -> Query:
    (found,) = [q for q in ALL if (q.dashboard, q.panel, q.ref) == (dashboard, panel, ref)]
    return found


def by(label: str, series: list[Series]) -> dict[str, float]:
    return {one.labels[label]: one.value for one in series}


@pytest.mark.parametrize("query", ALL, ids=[query.id for query in ALL])
def test_query(query: Query, asked: Server) -> None:
    """No error, no warning, and something to show wherever there is something to tell."""
    found = asked.ask(query)
    other = the("tree", CLASSIC if asked.native else NATIVE).id
    assert bool(found) is (query.id not in EMPTY and query.id != other)


@pytest.mark.parametrize("name", NAMES)
def test_variables(name: str, asked: Server, world: World) -> None:
    """Each lists what there is."""
    lists = {
        v["name"]: asked.list(v, name) for v in dashboards.variables(name) if v["type"] == "query"
    }
    assert {"getppid", "mkdir", "read"} <= set(lists.pop("call", ["getppid", "mkdir", "read"]))
    expected = {
        "job": ["proctree"],
        "instance": [world.exporter.address],
        "namespace": ["shop"],
        "pod": ["web-0"],
        "target": ["again", "gone", "it", "late", "neighbour"],
        "unrecorded": [] if asked.native else ["proctree"],
    }
    assert lists == {variable: expected[variable] for variable in lists}


def test_numbers(asked: Server) -> None:
    """What is counted one by one is what there is."""

    def number(dashboard: str, panel: str) -> float:
        (found,) = asked.ask(the(dashboard, panel))
        return found.value

    assert number("overview", "How many nodes report?") == 1
    assert number("overview", "How many trees are followed?") == 5
    assert number("overview", "How many targets have no process?") == 1
    assert number("overview", "Are calls lost?") == 0
    assert number("tree", "How many processes live?") == 1
    assert number("exporter", "How many exporters are down?") == 0
    assert number("exporter", "Was the last config taken?") == 1
    trees = by("target", asked.ask(the("overview", "How many trees has each target?")))
    assert trees == {"it": 1, "neighbour": 1, "late": 1, "again": 1, "gone": 0}


@pytest.mark.parametrize(
    ("choice", "trees"),
    [
        ({"target": ".*"}, {"again", "gone", "it", "late", "neighbour"}),
        ({"target": "(it|late)"}, {"it", "late"}),
        ({"target": ".*", "namespace": "shop"}, {"it"}),
        ({"target": ".*", "pod": "web-0"}, {"it"}),
        ({"target": ".*", "namespace": "", "pod": ""}, {"again", "gone", "late", "neighbour"}),
        ({"target": "none"}, set()),
    ],
)
def test_choice(choice: dict[str, str], trees: set[str], asked: Server) -> None:
    """Trees are chosen by labels; All takes those that do not have one as well."""
    found = asked.ask(the("tree", "What is it, and whose?"), **choice)
    assert {one.labels["target"] for one in found} == trees


def test_rates(asked: Server) -> None:
    """The call that is made most leads, with the rate of a counter that grew by what was made."""
    over = asked.variables["__range"]
    found = asked.ask(the("tree", "Which calls does it make most?"), __rate_interval=over)
    rates = by("syscall", found)
    counter = 'proctree_syscalls_total{target="it",syscall="getppid"}'
    assert asked.one(f"{counter} - {counter} offset {over}") == CALLS
    assert rates["getppid"] == max(rates.values()) == asked.one(f"rate({counter}[{over}])")


def test_recorded_or_not(world: World) -> None:
    """With rules and without, the same numbers: those of the last five minutes."""
    panel = the("overview", "Which trees make most calls?")
    for asked in (world.native, world.classic):
        calls = "sum by (target) (rate(proctree_syscalls_total[5m]))"
        # The rules were evaluated up to a second ago.
        now = by("target", asked.instant(calls))
        assert by("target", asked.ask(panel)) == pytest.approx(now, rel=0.1)


@pytest.mark.parametrize(
    ("dashboard", "panel"),
    [("tree", "Which errno is new?"), ("overview", "Which errno is new, and where?")],
)
def test_new_errnos(dashboard: str, panel: str, asked: Server) -> None:
    """The errno that had not been there, how often it came; none of a tree that is new itself."""
    found = {
        (one.labels["target"], one.labels["syscall"], one.labels["errno"]): one.value
        for one in asked.ask(the(dashboard, panel))
    }
    assert found == {("it", "mkdir", "EEXIST"): NEW}


def test_stuck(asked: Server) -> None:
    """The calls that are stuck, how many, and since when; three queries tell of the same."""
    panel = "What is stuck, where, and since when?"
    ages, begins, numbers = (by("target", asked.ask(the("overview", panel, ref))) for ref in "ABC")
    assert numbers == {"it": 1, "neighbour": 1, "late": 1, "again": 1}
    assert set(ages) == set(begins) == set(numbers)
    for target, age in ages.items():
        assert age > 10
        assert begins[target] == pytest.approx((asked.now - age) * 1000, abs=1)


def of_calls(label: str, series: list[Series]) -> dict[tuple[str, str], float]:
    return {(one.labels["target"], one.labels[label]): one.value for one in series}


def test_slowed(asked: Server) -> None:
    """The class whose calls slowed, how much more time it takes, and of how many more calls; none
    of a tree that is new itself."""
    panel = "Which pod or service slowed, and on what?"
    more, times, calls = (
        of_calls("class", asked.ask(the("overview", panel, ref))) for ref in "ABC"
    )
    assert "late" not in {target for target, _ in more}
    assert set(times) <= set(more) == set(calls)  # a class may be new
    # The rules run once a second, so what they have is that old.
    over = f"offset {asked.variables['__range']}"
    spent = 'sum(rate(proctree_syscall_duration_seconds_sum{target="it",syscall="recvfrom"}[5m] X))'
    if asked.native:
        spent = f"histogram_sum({spent.replace('_sum{', '{')})"
    now, then = (asked.one(spent.replace("X", offset)) for offset in ("", over))
    assert more["it", "network"] == pytest.approx(now - then, rel=0.2)
    assert times["it", "network"] == pytest.approx(now / then, rel=0.2)
    assert now > 2 * then  # four calls of a second, after a hundred of a millisecond
    made = 'sum(rate(proctree_syscalls_total{target="it"}[5m] X))'
    now, then = (asked.one(made.replace("X", offset)) for offset in ("", over))
    assert calls["it", "network"] == pytest.approx(now / then, rel=0.2)


def test_slower(asked: Server) -> None:
    """The call that slowed leads, and by much."""
    panel = "Which of its calls became slower?"
    extra, times = (of_calls("syscall", asked.ask(the("tree", panel, ref))) for ref in "AB")
    assert extra["it", "recvfrom"] == max(extra.values())
    assert times["it", "recvfrom"] > 10  # a second each, after a millisecond each
    assert extra["it", "mkdir"] > 0
    assert ("it", "mkdir") not in times  # it was not made before
    assert not asked.ask(the("tree", panel), target="late")  # nor was anything of this one


def test_classes(asked: Server) -> None:
    """Shares of time add up to all time in calls; each class has that of its calls."""
    over = asked.variables["__range"]

    def spent(selector: str) -> float:
        name = "proctree_syscall_duration_seconds"
        if asked.native:
            return asked.one(f"sum(histogram_sum(rate({name}{{{selector}}}[{over}])))")
        return asked.one(f"sum(rate({name}_sum{{{selector}}}[{over}]))")

    panel = the("tree", "What does it wait for: disk, network, locks, memory?")
    shares = by("class", asked.ask(panel, __rate_interval=over))
    assert sum(shares.values()) == pytest.approx(spent('target="it"'))
    for class_ in ("file", "process"):
        calls = f'target="it",syscall=~"{names_of(class_)}"'
        assert shares[class_] == pytest.approx(spent(calls))


def test_heatmap(asked: Server) -> None:
    """All calls that have a duration are in the picture, once."""
    over = {"call": "getppid", "__rate_interval": asked.variables["__range"]}
    (rate,) = asked.ask(the("tree", "How many calls does it make?"), **over)
    found = asked.ask(the("tree", NATIVE if asked.native else CLASSIC), **over)
    if asked.native:
        assert found[0].histogram
        assert float(found[0].histogram["count"]) == pytest.approx(rate.value)
    else:
        buckets = by("le", found)
        assert buckets["+Inf"] == max(buckets.values()) == pytest.approx(rate.value)


def test_lives(asked: Server) -> None:
    """Children, and how they end: two well, one with a status, one by a signal."""
    panel = "How often does it fork, and how do its processes end?"
    over = {"__rate_interval": asked.variables["__range"]}
    (forks,) = asked.ask(the("tree", panel), **over)
    exits = by("outcome", asked.ask(the("tree", panel, "C"), **over))
    share = {outcome: 4 * rate / forks.value for outcome, rate in exits.items()}
    assert share == pytest.approx({"ok": 2, "error": 1, "signal": 1})


def test_annotations(asked: Server) -> None:
    """What came late is a deploy; the exporter's start is told to the millisecond."""

    def targets(name: str) -> set[str]:
        return {one.labels["target"] for one in asked.ask(the("overview", name, "Anno"))}

    assert "late" in targets("Deploys")
    assert targets("Kills") == {"it"}
    (started,) = asked.ask(the("exporter", "Exporter started", "Anno"))
    assert started.value == asked.one("process_start_time_seconds") * 1000


def test_restarts(asked: Server, world: World) -> None:
    """A service that was there again before anybody looked; to the moment. A minute is two
    seconds here."""
    expr = asked.expr(the("overview", "Restarts", "Anno"))
    for old, new in (("1h", "1m"), ("- 60 -", "- 2 -")):
        assert old in expr
        expr = expr.replace(old, new)
    found = asked.range(expr, int(asked.variables["__range"].removesuffix("s")))
    assert by("target", found) == {"again": pytest.approx(born(world.again.pid) * 1000, abs=20)}

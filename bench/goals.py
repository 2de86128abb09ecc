"""What was wanted, and whether it was reached (issue 2, "Speed and size")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.table import Row, markdown, number


@dataclass(frozen=True, slots=True)
class Goal:
    """At most `limit`, of the row with this key: its ratio to the empty pair, or its value."""

    text: str
    key: str
    limit: float
    unit: str


GOALS = (
    Goal("a traced call", "traced", 1.55, "× empty pair"),
    Goal("a traced call with spans on and none due", "spans", 1.05 * 1.57, "× empty pair"),
    Goal("a call that is not traced", "untraced", 1.18, "× empty pair"),
    Goal("resident memory a minute after start", "rss", 40, "MiB"),
    Goal("resident memory at its peak, compiler included", "peak", 150, "MiB"),
    Goal("ready after start", "ready", 2, "s"),
    Goal("CPU with 1,000 followed processes and no scrapes", "idle", 0.5, "% of a core"),
    Goal("a scrape of 10,000 series", "scrape 10000", 60, "ms"),
    Goal("a scrape of 100,000 series", "scrape 100000", 600, "ms"),
    Goal("CPU time of a span, ring buffer to wire", "span", 20, "µs"),
    Goal("events lost at 50,000 spans a second", "events lost", 0, ""),
    Goal("maps for 100 trees of 60 calls on 64 CPUs", "maps 64", 64, "MiB"),
)


def _figure(goal: Goal, row: Row | None) -> float | None:
    if row is None:
        return None
    return row.ratio if goal.unit.startswith("×") else row.value


def against_goals(rows: Iterable[Row]) -> str:
    by_key = {row.key: row for row in rows if row.key}
    lines = []
    for goal in GOALS:
        figure = _figure(goal, by_key.get(goal.key))
        reached = "not measured" if figure is None else "yes" if figure <= goal.limit else "**no**"
        wanted = f"≤ {goal.limit:g} {goal.unit}"
        found = f"{number(figure)} {goal.unit}" if figure is not None else "–"
        lines.append((goal.text, wanted, found, reached))
    return markdown(("goal", "wanted", "figure", "reached"), lines)

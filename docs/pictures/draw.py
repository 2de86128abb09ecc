"""Draws what the panels show, from a real Prometheus: `python -m docs.pictures.draw`, as root.

Needs matplotlib, and `make tools`. What is followed is in services.py.
"""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

from docs.pictures.services import SECONDS, scraped
from tests import dashboards

HERE = Path(__file__).parent
#: File, dashboard, and which panels of it.
PICTURES = {
    "overview": ("overview", [
        "Which trees take most time in calls, and since when?", "What do all of them wait for?",
        "Which pod or service slowed, and on what?", "Which errno is new, and where?",
    ]),
    "tree": ("tree", [
        "Which of its calls became slower?", "In which state are its threads?",
        "Which calls take its time, waiting for work aside?",
        "How long does one of a hundred take, or longer?",
        "How long do its calls take, by native histograms?",
        "How long do its calls take, by classic buckets?",
        "What does it wait for: disk, network, locks, memory?", "Is it a neighbour on its nodes?",
    ]),
    "stuck": ("overview", [
        "What is stuck, where, and since when?", "Which trees fail most?",
    ]),
    "exporter": ("exporter", [
        "How much CPU do the exporters take?", "How much does watching add to a call?",
        "How long does a run of each program take?", "How long does a scrape take?",
    ]),
}  # fmt: skip
_UNITS = {"cps": "calls/s", "percentunit": "%", "s": "s", "short": "", "none": "", "bytes": "B"}


class Shown:
    """What a Prometheus says of a time that is over."""

    def __init__(self, url: str, end: float) -> None:
        self.url, self.end, self.start = url, end, end - SECONDS

    def expr(self, query: dashboards.Query) -> str:
        now = {"__rate_interval": "20s", "__range": f"{SECONDS}s", "recent": "60s"}
        now |= {"__interval": "2s", "__interval_ms": "2000"}
        values = dashboards.chosen(query.dashboard) | now
        if query.dashboard == "tree":
            values |= {"target": "db", "call": "fsync|pwrite64"}
        # What is compared with before needs a before.
        short = query.panel.startswith(("Which errno is new", "Which pod", "Which of its"))
        return dashboards.asked(query.expr, values | ({"__range": "260s"} if short else {}))

    def ask(self, path: str, **parameters: str) -> Any:
        body = urllib.parse.urlencode(parameters).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", body, timeout=60) as response:
            data = json.load(response)["data"]
        return data["result"] if isinstance(data, dict) else data

    def table(self, query: dashboards.Query) -> list[dict[str, Any]]:
        return list(self.ask("query", query=self.expr(query), time=str(self.end)))

    def graph(self, query: dashboards.Query) -> list[dict[str, Any]]:
        times = {"start": str(self.start), "end": str(self.end)}
        return list(self.ask("query_range", query=self.expr(query), step="2", **times))

    def exemplars(self, query: dashboards.Query) -> list[tuple[float, float]]:
        times = {"start": str(self.start), "end": str(self.end)}
        found = self.ask("query_exemplars", query=self.expr(query), **times)
        return [
            (float(one["timestamp"]) - self.start, float(one["value"]))
            for series in found
            for one in series["exemplars"]
        ]


def _query(panel: dict[str, Any], target: dict[str, Any]) -> dashboards.Query:
    return dashboards.Query(panel["of"], panel["title"], target["refId"], target["expr"], False)


def legend(form: str, labels: dict[str, str]) -> str:
    for name, value in labels.items():
        form = form.replace(f"{{{{{name}}}}}", value)
    return " ".join(part for part in form.split() if "{{" not in part and ":" not in part[-6:-4])


def draw_lines(axes: Any, shown: Shown, panel: dict[str, Any]) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    percent = defaults["custom"].get("stacking", {}).get("mode") == "percent"
    scale = 100 if defaults["unit"] == "percentunit" else 1
    lines: dict[str, dict[float, float]] = {}
    for target in panel["targets"]:
        query = _query(panel, target)
        for series in shown.graph(query):
            name = legend(target["legendFormat"], series["metric"])
            values = {float(t) - shown.start: float(v) * scale for t, v in series["values"]}
            lines[name] = {t: v for t, v in values.items() if v == v}
    lines = dict(sorted(lines.items(), key=lambda line: -sum(line[1].values())))
    if percent:
        times = sorted({t for line in lines.values() for t in line})
        heights = np.array([[line.get(t, 0) for t in times] for line in lines.values()])
        axes.stackplot(times, 100 * heights / heights.sum(axis=0), labels=list(lines))
        axes.set_ylim(0, 100)
    else:
        for name, line in lines.items():
            axes.plot(list(line), list(line.values()), label=name, linewidth=1.2)
        axes.set_ylim(bottom=0)
    axes.set_ylabel(_UNITS[defaults["unit"]])
    if defaults["unit"] == "s":
        axes.yaxis.set_major_formatter(lambda value, _: _duration(value))
    axes.legend(fontsize=7, ncols=3, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.12))


def draw_spread(axes: Any, shown: Shown, panel: dict[str, Any]) -> None:
    (target,) = panel["targets"]
    query = _query(panel, target)
    cells = list(_native(shown, query) if "native" in panel["title"] else _classic(shown, query))
    most = max(count for *_, count in cells)
    corners = [((t - 2, low), (t, low), (t, high), (t - 2, high)) for t, low, high, _ in cells]
    colors = mpl.colormaps["Oranges"]([(count / most) ** 0.5 for *_, count in cells])
    axes.add_collection(PolyCollection(corners, facecolors=colors, linewidth=0))
    axes.set_ylim(min(low for _, low, _, _ in cells), max(high for _, _, high, _ in cells))
    points = shown.exemplars(query)
    axes.plot([t for t, _ in points], [v for _, v in points], ".", color="#1f60c4", markersize=2)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: _duration(value))


def _native(shown: Shown, query: dashboards.Query) -> Iterator[tuple[float, float, float, float]]:
    for series in shown.graph(query):
        for at, histogram in series["histograms"]:
            for _, low, high, count in histogram["buckets"]:
                yield float(at) - shown.start, float(low), float(high), float(count)


def _classic(shown: Shown, query: dashboards.Query) -> Iterator[tuple[float, float, float, float]]:
    found = sorted(shown.graph(query), key=lambda series: float(series["metric"]["le"]))
    columns: dict[float, list[tuple[float, float]]] = {}
    for series in found:
        for at, value in series["values"]:
            columns.setdefault(float(at), []).append((float(series["metric"]["le"]), float(value)))
    for at, column in columns.items():
        low, below = column[0][0] / 4, 0.0
        for high, value in column:
            if value > below and high != float("inf"):
                yield at - shown.start, low, high, value - below
            low, below = high, value


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or not seconds:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def draw_table(axes: Any, shown: Shown, panel: dict[str, Any]) -> None:
    (organize,) = [t for t in panel["transformations"] if t["id"] == "organize"]
    names = organize["options"]["renameByName"]
    rows: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for target in panel["targets"]:
        query = _query(panel, target)
        for series in shown.table(query):
            wanted = ("target", "class", "syscall", "errno")
            labels = tuple((k, series["metric"][k]) for k in wanted if k in series["metric"])
            field = f"Value #{target['refId']}" if len(panel["targets"]) > 1 else "Value"
            value = float(series["value"][1])
            if names[field] == "Since":
                text = time.strftime("%H:%M:%S", time.gmtime(value / 1000))
            elif names[field] == "Age of the oldest":
                text = _duration(value)
            elif "second" in names[field]:
                text = f"{100 * value:.3g} %"
            else:
                text = f"{value:.3g}"
            rows.setdefault(labels, dict(labels))[names[field]] = text
    cells = list(rows.values())[:8]
    columns = list(dict.fromkeys(name for row in cells for name in row))
    axes.axis("off")
    if cells:
        texts = [[row.get(name, "") for name in columns] for row in cells]
        drawn = axes.table(texts, colLabels=columns, cellLoc="left", loc="upper center")
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(8)
        drawn.auto_set_column_width(range(len(columns)))
        for cell in drawn.get_celld().values():
            cell.set_linewidth(0.3)
    else:
        axes.text(0.5, 0.5, panel["fieldConfig"]["defaults"]["noValue"], ha="center")


DRAW = {"timeseries": draw_lines, "heatmap": draw_spread, "table": draw_table}


def draw(shown: Shown) -> None:
    """All pictures, beside this file."""
    mpl.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    for name, (dashboard, titles) in PICTURES.items():
        found = {panel["title"]: panel for panel in dashboards.panels(dashboard)}
        lines = (len(titles) + 1) // 2
        figure, grid = plt.subplots(lines, 2, figsize=(12, 3.3 * lines), squeeze=False)
        for axes, title in zip(grid.flat, titles, strict=False):
            panel = found[title] | {"of": dashboard}
            DRAW[panel["type"]](axes, shown, panel)
            axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
            if panel["type"] in ("timeseries", "heatmap"):
                _marks(axes, shown)
        figure.tight_layout()
        figure.savefig(HERE / f"{name}.png", dpi=80)
        plt.close(figure)


def _marks(axes: Any, shown: Shown) -> None:
    """What the annotation of deploys tells."""
    (found,) = [q for q in dashboards.queries("overview") if q.panel == "Deploys"]
    for series in shown.graph(found):
        began = float(series["values"][0][0]) - shown.start
        if began > 0:
            axes.axvline(began, color="green", linestyle=":", linewidth=1)
    axes.set_xlim(0, SECONDS)
    axes.set_xticks(range(0, SECONDS + 1, 60), [f"{m} min" for m in range(SECONDS // 60 + 1)])


if __name__ == "__main__":
    with scraped() as url:
        draw(Shown(url, time.time()))

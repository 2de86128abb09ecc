"""When the dashboards tell of a deploy and of a restart, by Prometheus' own engine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import dashboards

PROMTOOL = shutil.which("promtool")
STEPS = 320  # of 30 seconds
EVENT = 240  # two hours, when it happens; the processes then are 15 s old
BORN = EVENT * 30 - 15
#: How many processes a tree has, and when the oldest began, at each step.
TREES = {
    "stays": ("1x320", "0x320"),
    "again": ("1x320", f"0x239 {BORN}x80"),
    "new": (f"_x240 1x{STEPS - EVENT}", f"_x240 {BORN}x80"),
    "back": ("1x230 0x9 1x80", f"0x230 _x9 {BORN}x80"),
    "loses its oldest": ("2x239 1x80", "0x239 3600x80"),
    "short-lived": ("1x320", "-15+30x320"),
    "never": ("0x320", "_x320"),
}


def series(target: str) -> list[dict[str, str]]:
    processes, began = TREES[target]
    labels = f'job="proctree", instance="node", target="{target}"'
    return [
        {"series": f"proctree_tree_processes{{{labels}}}", "values": processes},
        {"series": f"proctree_tree_start_time_seconds{{{labels}}}", "values": began},
    ]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH: use make test")
@pytest.mark.parametrize("interval", [60, 300, 1800])  # of an hour, of six, of two days
@pytest.mark.parametrize(
    ("name", "event", "value"),
    [("Deploys", {"new"}, 1), ("Restarts", {"again", "back"}, BORN * 1000)],
)
def test_events(name: str, event: set[str], value: int, interval: int, tmp_path: Path) -> None:
    """At the first point after it, however far apart points are; of trees to which it happened."""
    (annotation,) = [one for one in dashboards.annotations("overview") if one["name"] == name]
    own = {"__interval": f"{interval}s", "__interval_ms": f"{interval * 1000}"}
    expr = dashboards.asked(annotation["expr"], dashboards.chosen("overview") | own)
    first = EVENT * 30 + 30
    tests = [
        {
            "expr": expr,
            "eval_time": f"{first + point * interval}s",
            "exp_samples": [
                {"labels": f'{{target="{target}",tree="{target}   "}}', "value": value}
                for target in (event if point == 0 else ())
            ],
        }
        for point in (-2, -1, 0, 1, 2)
        if first + point * interval < STEPS * 30
    ]
    group = {
        "interval": "30s",
        "input_series": [one for target in TREES for one in series(target)],
        "promql_expr_test": tests,
    }
    file = tmp_path / "events.yaml"
    file.write_text(json.dumps({"rule_files": [], "tests": [group]}))
    done = subprocess.run([PROMTOOL or "", "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

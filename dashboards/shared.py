"""Panels that answer the same question of all trees and of one."""

from __future__ import annotations

from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries

from dashboards.parts import query, table, timeseries
from dashboards.queries import new_errnos, stuck

Links = list[tuple[str, str]]

NO_CALLS = "No calls of this choice in this time"
NO_FAILURES = "No call has failed in this time"
NO_TIMES = "No durations by call: see histograms.by, and whether Prometheus takes native histograms"
NO_TREE = "No tree of this choice"
#: Where a row's PIDs are.
API = (
    "Processes, with their PIDs (needs --web.enable-api)",
    "http://${__data.fields.instance}/api/v1/targets",
)


def stuck_table(title: str, selector: str, links: Links) -> Table:
    age, since, number = stuck(selector)
    return table(
        title,
        "Calls in the kernel for more than 10 seconds that by their name do not wait for work; a"
        " `read` may, from a pipe or a socket. In which process? A click on a row leads to the"
        " target's PIDs; on the node `/proc/PID/task/TID/syscall` has the call of each thread. Once"
        " a call ends, its span has the PID.",
        [
            query(age, ref="A", instant=True),
            query(since, ref="B", instant=True),
            query(number, ref="C", instant=True),
        ],
        {
            "Value #A": ("Age of the oldest", "dtdurations"),
            "Value #B": ("Since", "dateTimeAsIso"),
            "Value #C": ("In flight", "short"),
        },
        unit="none",
        empty="Nothing",
        sort="Age of the oldest",
        links=[*links, API],
    )


def errno_table(title: str, selector: str, links: Links, width: int) -> Table:
    return table(
        title,
        "Failures that had not been counted in the hour before the time that is shown, of trees"
        " that were there. The number is all of them so far.",
        [query(new_errnos(selector), instant=True)],
        {"Value": ("So far", "short")},
        unit="none",
        empty="None: what fails now had failed before, or its tree is new itself",
        width=width,
        sort="So far",
        links=links,
    )


def shares(title: str, expr: str) -> TimeSeries:
    """By class of call; `expr` has the seconds of each."""
    return timeseries(
        title,
        "How the time in calls is shared: `file` disk and descriptors, `network` sockets, `futex`"
        " locks, `memory` address spaces, `process` forks and the like; `wait` and `sleep` have"
        " nothing to do.",
        query(f"sum by (class) ({expr}) > 0", "{{class}}"),
        unit="percentunit",
        empty="No durations",
        stacked=True,
        percent=True,
    )

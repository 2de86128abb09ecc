"""All trees of all nodes: which of them slowed, fails, hangs, or changed."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards import frame
from dashboards.parts import TREE_NAME, Row, fill, query, row, stat, table, timeseries
from dashboards.queries import (
    EXPORTER,
    RANGE,
    TREE,
    calls_of,
    changes,
    errors_of,
    of,
    slowed,
    time_by_class,
    top,
    work_of,
)
from dashboards.shared import (
    NO_CALLS,
    NO_FAILURES,
    NO_TIMES,
    errno_table,
    shares,
    stuck_table,
)

NO_EXPORTER = "No exporter: is it scraped?"
_POD, _TARGET = ("instance", "namespace", "pod", "target"), ("instance", "target")
OF_TREE = [("This pod", frame.tree_url(_POD)), ("This target", frame.tree_url(_TARGET))]
OF_CALL = [
    ("This call of this pod", frame.tree_url((*_POD, "call"))),
    ("This call of this target", frame.tree_url((*_TARGET, "call"))),
]


def _there() -> Row:
    calls, _ = calls_of(TREE)
    errors, _ = errors_of(TREE)
    down = f'proctree_target_up{{{EXPORTER},target=~"$target"}} == 0'
    lost = f"increase(proctree_exporter_lost_calls_total{{{EXPORTER}}}[$__range])"
    return row(
        "Is everything there?",
        stat(
            "How many nodes report?",
            "Exporters that Prometheus reaches.",
            f"sum(up{{{EXPORTER}}})",
            unit="short",
            empty=NO_EXPORTER,
        ),
        stat(
            "How many trees are followed?",
            "Of all nodes chosen, those that have no name yet included.",
            f"sum(proctree_exporter_trees{{{EXPORTER}}})",
            unit="short",
            empty=NO_EXPORTER,
        ),
        stat(
            "How many targets have no process?",
            "What is listed, and not there.",
            f"count({down}) or vector(0)",
            unit="short",
            empty=NO_EXPORTER,
            warning=1,
        ),
        stat(
            "How many calls are made?",
            "System calls a second of all trees chosen.",
            f"sum({calls})",
            unit="cps",
            empty=NO_CALLS,
        ),
        stat(
            "What part of the calls fails?",
            "Some calls fail by design (EAGAIN, ENOENT): a change says more than the height.",
            f"(sum({errors}) or vector(0))\n/ sum({calls})",
            unit="percentunit",
            empty=NO_CALLS,
        ),
        stat(
            "Are calls lost?",
            "Calls that were made and not counted, in the time that is shown.",
            f"sum({lost})",
            unit="short",
            empty=NO_EXPORTER,
            critical=1,
        ),
    )


def _slow() -> Row:
    work, rank = work_of(TREE)
    return row(
        "What is slow?",
        table(
            "Which pod or service slowed, and on what?",
            "The time that trees spend in calls of each class, in the last five minutes, beyond"
            " that before the time that is shown. Where the calls are not as many times more, they"
            " take longer: a click leads to the tree, which tells in which call. Waiting for work,"
            " for locks or for a time is left out.",
            [
                query(expr, ref=ref, instant=True)
                for ref, expr in zip("ABC", slowed(TREE), strict=True)
            ],
            {
                "Value #A": ("More time a second", "percentunit"),
                "Value #B": ("Times the time", "none"),
                "Value #C": ("Times the calls", "none"),
            },
            unit="none",
            empty="None, or no durations",
            sort="More time a second",
            links=OF_TREE,
        ),
        timeseries(
            "Which trees take most time in calls, and since when?",
            "Time in calls that do not wait: 100 % is one thread that is always in them. The ten"
            " that lead.",
            query(top(10, work, rank), TREE_NAME),
            unit="percentunit",
            empty=NO_TIMES,
        ),
        shares("What do all of them wait for?", time_by_class(TREE)),
    )


def _busy() -> Row:
    return row(
        "What is busy, and what fails?",
        timeseries(
            "Which trees make most calls?",
            "Calls a second; the ten that lead in the time shown.",
            query(top(10, *calls_of(TREE)), TREE_NAME),
            unit="cps",
            empty=NO_CALLS,
        ),
        timeseries(
            "Which trees fail most?",
            "Failed calls a second; the ten that lead in the time shown.",
            query(top(10, *errors_of(TREE)), TREE_NAME),
            unit="cps",
            empty=NO_FAILURES,
        ),
        errno_table("Which errno is new, and where?", TREE, OF_CALL, 24),
    )


def _changed() -> Row:
    came, went = changes(TREE)
    trees = f'proctree_target_trees{{{EXPORTER},target=~"$target"}}'
    most = f"sum by (target) (avg_over_time({trees}{RANGE}))"
    failed = f'{TREE},outcome!="ok"'
    ended = f"sum without (outcome) ({of('proctree_process_exits_total', failed)})"
    rank = f"sum without (outcome) ({of('proctree_process_exits_total', failed, RANGE)})"
    return row(
        "What is stuck, and what changed?",
        stuck_table("What is stuck, where, and since when?", TREE, OF_CALL),
        table(
            "What came, and what went?",
            "Trees that had not lived in the hour before the time that is shown, and those"
            " that are gone by now: deploys, restarts under another name, nodes.",
            [query(came, ref="A", instant=True), query(went, ref="B", instant=True)],
            {},
            unit="none",
            empty="Nothing",
            links=OF_TREE,
            hide=("Value #A", "Value #B"),
        ),
        timeseries(
            "Where do processes fail?",
            "Processes that end with a status other than 0, or by a signal, a second; the ten"
            " trees that lead.",
            query(top(10, ended, f"{rank} > 0"), TREE_NAME),
            unit="cps",
            empty="None has, in this time",
        ),
        timeseries(
            "How many trees has each target?",
            "Containers come and go; the ten targets that have most.",
            query(top(10, f"sum by (target) ({trees})", most), "{{target}}"),
            unit="short",
            empty=NO_EXPORTER,
        ),
    )


def build() -> Dashboard:
    board = frame.begin(
        "overview",
        "proctree: Overview",
        "All trees of all nodes: which of them slowed, fails, hangs or changed.",
        ("job", "instance", "namespace", "pod", "target"),
        classes=True,
        unrecorded=True,
    )
    events = frame.tree_events(TREE, "target, namespace, workload", kills=False)
    board = board.annotations([*events, *frame.exporter_events()])
    return fill(board, _there(), _slow(), _busy(), _changed())

"""One target, or what of it is chosen: what it does, how it fails, and how long that takes."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards import frame
from dashboards.parts import Row, fill, query, row, spread, stat, table, timeseries
from dashboards.queries import (
    CALL,
    DURATION,
    NOT_WAITING,
    RANGE,
    TREE,
    of,
    quantile,
    seconds,
    slower,
    top,
    top_calls,
)
from dashboards.shared import API, NO_CALLS, NO_FAILURES, NO_TIMES, NO_TREE
from dashboards.tree_states import lives_row, stuck_row, waits_row


def _what() -> Row:
    calls, errors = of("proctree_syscalls_total", CALL), of("proctree_syscall_errors_total", CALL)
    oldest = f"proctree_syscall_oldest_in_flight_seconds{{{CALL},{NOT_WAITING}}}"
    return row(
        "What is it?",
        stat(
            "How many processes live?",
            "Processes of what is chosen, alive now.",
            f"sum(proctree_tree_processes{{{TREE}}})",
            unit="short",
            empty=NO_TREE,
            width=6,
        ),
        stat(
            "How many calls does it make?",
            "System calls a second, of the calls chosen.",
            f"sum({calls})",
            unit="cps",
            empty=NO_CALLS,
            width=6,
        ),
        stat(
            "What part of its calls fails?",
            "Some calls fail by design (EAGAIN, ENOENT): a change says more than the height.",
            f"(sum({errors}) or vector(0))\n/ sum({calls})",
            unit="percentunit",
            empty=NO_CALLS,
            width=6,
        ),
        stat(
            "How old is its oldest call?",
            "Of calls that should come back by themselves: those that wait for work, for locks or"
            " for a time are left out.",
            f"max({oldest})",
            unit="s",
            empty="None in the kernel",
            width=6,
            warning=10,
            critical=60,
        ),
        table(
            "What is it, and whose?",
            "What was listed to find it, and its labels; those of its pod where `pod_labels`"
            " allows them.",
            [query(f"topk(100, proctree_target_info{{{TREE}}})", instant=True)],
            {},
            unit="none",
            empty=NO_TREE,
            height=6,
            hide=("Value",),
            links=[API],
        ),
    )


def _calls() -> Row:
    working = f"{CALL},{NOT_WAITING}"
    extra, times = slower(CALL)
    most = f"sum by (syscall) ({seconds(working, RANGE)})"
    return row(
        "Rate, errors and duration by call",
        timeseries(
            "Which calls does it make most?",
            "Calls a second; the ten that lead in the time shown.",
            query(top_calls("syscall", "proctree_syscalls_total"), "{{syscall}}"),
            unit="cps",
            empty=NO_CALLS,
        ),
        timeseries(
            "Which calls fail, and with which errno?",
            "Failures a second; the ten that lead.",
            query(
                top_calls("syscall, errno", "proctree_syscall_errors_total"),
                "{{syscall}} {{errno}}",
            ),
            unit="cps",
            empty=NO_FAILURES,
        ),
        timeseries(
            "Which calls take its time, waiting for work aside?",
            "100 % is one thread that is always in them. The ten that lead: a step in a line is the"
            " moment when its call slowed.",
            query(top(10, f"sum by (syscall) ({seconds(working)})", most), "{{syscall}}"),
            unit="percentunit",
            empty=NO_TIMES,
        ),
        timeseries(
            "How long does one of a hundred take, or longer?",
            "99th percentile of the ten calls that take most time; those that wait for work are"
            " left out.",
            query(top(10, f"({quantile(0.99, 'syscall', working)})", most), "{{syscall}}"),
            unit="s",
            empty=NO_TIMES,
        ),
        table(
            "Which of its calls became slower?",
            "The time that calls took in `Recent` beyond what as many would have taken in as long a"
            " time before that which is shown; and how many times as long one took. Of calls that"
            " were not made before all counts. Those that wait for work, for locks or for a time"
            " are left out.",
            [query(extra, ref="A", instant=True), query(times, ref="B", instant=True)],
            {
                "Value #A": ("Extra time a second", "percentunit"),
                "Value #B": ("Times as long", "none"),
            },
            unit="none",
            empty="None, or no durations by call",
            sort="Extra time a second",
        ),
        spread(
            "How long do its calls take, by native histograms?",
            "All calls chosen: choose one, and the picture gets sharp. Points are calls that have"
            " a span; where they lead to is said in the data source, under Exemplars.",
            f"sum({of(DURATION, CALL)})",
            classic=False,
            empty="No native histograms: see scrape_native_histograms, or the classic ones beside",
        ),
        spread(
            "How long do its calls take, by classic buckets?",
            "The same, where Prometheus has buckets with `le`. Points are calls that have a span.",
            f"sum by (le) ({of(DURATION + '_bucket', CALL)})",
            classic=True,
            empty="No classic buckets by call: see histograms.classic, or the native ones beside",
        ),
    )


def build() -> Dashboard:
    board = frame.begin(
        "tree",
        "proctree: Tree",
        "One target: rate, errors and duration of its system calls, and what it waits for.",
        ("job", "instance", "namespace", "pod", "target", "call"),
        classes=True,
        recent=True,
        unrecorded=True,
    )
    events = frame.tree_events(TREE, "target, namespace, workload, pod")
    board = board.annotations([*events, *frame.exporter_events()])
    return fill(board, _what(), _calls(), stuck_row(), waits_row(), lives_row())

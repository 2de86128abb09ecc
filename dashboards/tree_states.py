"""The rows of one target that tell what hangs, what it waits for, and how its processes live."""

from __future__ import annotations

from dashboards.parts import TREE_NAME, Row, query, row, timeseries
from dashboards.queries import (
    CALL,
    EXPORTER,
    NOT_WAITING,
    RANGE,
    TREE,
    by_class,
    of,
    top,
    top_calls,
    work_of,
)
from dashboards.shared import NO_FAILURES, NO_TREE, errno_table, shares, stuck_table


def stuck_row() -> Row:
    flying = f"proctree_syscalls_in_flight{{{CALL}}}"
    oldest = f"proctree_syscall_oldest_in_flight_seconds{{{CALL},{NOT_WAITING}}}"
    most = f"sum by (syscall) (avg_over_time({flying}{RANGE}))"
    longest = f"max by (syscall) (max_over_time({oldest}{RANGE}))"
    return row(
        "What is stuck?",
        timeseries(
            "How many calls are in the kernel at a time?",
            "By call, those that wait included.",
            query(top(10, f"sum by (syscall) ({flying})", most), "{{syscall}}"),
            unit="short",
            empty="None: nobody of this choice is in a call",
        ),
        timeseries(
            "How old is the oldest call of each kind?",
            "Those that wait for work, for locks or for a time are left out. A line that rises"
            " steadily is a call that hangs.",
            query(top(10, f"max by (syscall) ({oldest})", longest), "{{syscall}}"),
            unit="s",
            empty="None in the kernel at the time of any scrape",
        ),
        stuck_table("What is stuck, and since when?", CALL, []),
    )


def waits_row() -> Row:
    here = f"proctree_tree_processes{{{TREE}}}"
    others, rank = (
        f"({found}\nunless {here}\nand on (job, instance) {here})" for found in work_of(EXPORTER)
    )
    return row(
        "Is it the disk, the network, a lock, memory, or a neighbour?",
        shares("What does it wait for: disk, network, locks, memory?", by_class(TREE)),
        timeseries(
            "In which state are its threads?",
            "`uninterruptible` is mostly waiting for a disk, or a file server.",
            query(f"sum by (state) (proctree_tree_threads{{{TREE}}})", "{{state}}"),
            unit="short",
            empty=NO_TREE,
            stacked=True,
        ),
        timeseries(
            "Is it a neighbour on its nodes?",
            "Time in calls that do not wait, of other trees on the nodes of this one; the five"
            " that lead. One that rises with this tree's times takes what it waits for.",
            query(top(5, others, rank), TREE_NAME),
            unit="percentunit",
            width=24,
            empty="No other tree is followed on its nodes",
        ),
    )


def lives_row() -> Row:
    def rate(name: str) -> str:
        return f"sum({of(f'proctree_process_{name}_total', TREE)})"

    exits = of("proctree_process_exits_total", TREE)
    return row(
        "How do its processes live, and what is new?",
        timeseries(
            "How many processes and threads does it have?",
            "Alive at the time of a scrape.",
            query(f"sum(proctree_tree_processes{{{TREE}}})", "processes"),
            query(f"sum(proctree_tree_threads{{{TREE}}})", "threads", ref="B"),
            unit="short",
            empty=NO_TREE,
        ),
        timeseries(
            "How often does it fork, and how do its processes end?",
            "`error` is a status other than 0, `signal` a process that was killed.",
            query(rate("forks"), "forks"),
            query(rate("execs"), "execs", ref="B"),
            query(f"sum by (outcome) ({exits})", "exits: {{outcome}}", ref="C"),
            unit="cps",
            empty=NO_TREE,
        ),
        timeseries(
            "Which errno comes, and since when?",
            "Failures a second, whatever the call; the ten that lead.",
            query(top_calls("errno", "proctree_syscall_errors_total"), "{{errno}}"),
            unit="cps",
            empty=NO_FAILURES,
        ),
        errno_table("Which errno is new?", CALL, [], 12),
    )

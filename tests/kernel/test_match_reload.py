"""A `match` that is added, removed or changed: what stays loses not one call."""

from __future__ import annotations

import itertools
import subprocess
from typing import Any

from tests.harness import exporter, workload
from tests.kernel.programs import Build, config, copy, counted, finish, programs, run, waiting
from tests.kernel.trees import execs, is_up, loses_no_call, reconfigure

LIFECYCLE = "--web.enable-lifecycle"
LIMITS = {"trees": 256}


def test_a_match_that_stays_loses_no_call(build: Build) -> None:
    """7 reloads in a storm of calls and forks, with other matches before and behind it that come,
    go and change: counted == made."""
    program = build("steady")
    it = {"name": "it", "match": {"exe": str(program)}}
    others: list[dict[str, Any]] = [
        {"name": "a", "match": {"exe": "/no/such"}},
        {"name": "b", "match": {"exe": "/no/such", "user": 0}},
        {"name": "c", "match": {"comm": "sleep"}, "follow_forks": False},
        {"name": "d", "match": {"cmdline": "*a*b*c*"}, "exclude": [{"comm": "steady"}]},
    ]
    chosen = itertools.cycle(itertools.permutations(others, 2))
    with (
        workload(program) as tree,
        exporter(config(it, limits=LIMITS), LIFECYCLE) as running,
    ):
        configs = (
            config(*([before] if i % 3 else []), it, *([behind] if i % 2 else []), limits=LIMITS)
            for i, (before, behind) in zip(range(7), chosen, strict=False)
        )
        loses_no_call(running, tree, configs)


def test_programs_that_begin_during_reloads(build: Build) -> None:
    """Each counts from its first instruction to its last, whatever table the kernel looks into."""
    with programs(build) as folder:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        followed = {"name": "it", "match": {"exe": str(it)}}
        second = {"name": "second", "match": {"exe": [other, str(it)]}}
        steps = f'"{it}" 11 fork 13 exec "{other}" 17'
        loop = f"i=0; while [ $i -lt 200 ]; do {steps}; i=$((i+1)); done"
        with exporter(config(followed, limits=LIMITS), LIFECYCLE) as running:
            process = subprocess.Popen(["sh", "-c", loop])
            targets = itertools.cycle([[followed, second], [followed]])
            while process.poll() is None:
                reconfigure(running, config(*next(targets), limits=LIMITS))
            assert process.returncode == 0
            scrape = running.scrape()
            assert counted(scrape) == {"it": 200 * (11 + 13 + 17)}
            assert execs(scrape) == 2 * 200
            assert scrape.lost() == 0


def test_added_and_removed(build: Build) -> None:
    """A new match finds what runs now, with its descendants; one that is taken off follows nobody
    any more, and the next in the list has what it held, if it fits."""
    with programs(build) as folder:
        a, b = str(copy(folder, "a")), str(copy(folder, "b"))
        first = {"name": "first", "match": {"exe": a}}
        second = {"name": "second", "match": {"exe": f"{folder}/*"}}
        steps = [x for calls in (11, 13, 17, 19) for x in ("wait", str(calls))]
        with (
            waiting(folder / "a", "fork", "exec", b, *steps) as inner,
            waiting(folder / "b", *steps) as outer,
            exporter(config({"name": "none", "match": {"exe": "/no/such"}}), LIFECYCLE) as running,
        ):
            found = {"first": 0, "second": 0}
            for targets, mine, others in (
                ([first], 11, 0),
                ([first, second], 13, 13),
                ([second], 0, 2 * 17),
            ):
                reconfigure(running, config(*targets))
                for process in (inner, outer):
                    process.go()
                    process.expect("ready")
                found["first"] += mine
                found["second"] += others
                assert counted(running.scrape()) == {k: v for k, v in found.items() if v}
            assert is_up(running.scrape(), "first") == 0
            reconfigure(running, config({"name": "none", "match": {"exe": "/no/such"}}))
            finish(inner, outer)
            run(a, "7")
            assert counted(running.scrape()) == found


def test_changed(build: Build) -> None:
    """Other words, another order, other forks to follow: from then on, also for what runs."""
    with programs(build) as folder:
        a, b = str(copy(folder, "a")), str(copy(folder, "b"))
        one: dict[str, Any] = {"name": "one", "match": {"exe": a}}
        two: dict[str, Any] = {"name": "two", "match": {"exe": [a, b]}}
        steps = [x for calls in (11, 13, 17, 19) for x in ("wait", str(calls))]
        with (
            waiting(folder / "a", "fork", "exec", b, *steps) as it,
            exporter(config(one, two), LIFECYCLE) as running,
        ):

            def count(calls: int) -> dict[str, float]:
                before = counted(running.scrape())
                it.go()
                it.expect("ready")
                run(a, str(calls))
                now = counted(running.scrape())
                return {k: v - before.get(k, 0) for k, v in now.items() if v != before.get(k, 0)}

            assert count(101) == {"one": 11 + 101}
            reconfigure(running, config(two, one))
            assert count(103) == {"two": 13 + 103}
            reconfigure(running, config({**one, "follow_forks": False}, two))
            assert count(107) == {"one": 107, "two": 17}
            reconfigure(running, config({**one, "match": {"exe": b}}, two))
            finish(it)
            run(a, "109")
            found = counted(running.scrape())
            assert found == {"one": 11 + 101 + 107 + 19, "two": 13 + 103 + 17 + 109}

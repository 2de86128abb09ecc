"""Who belongs to a `match`: descendants, other programs, several that hold, and other targets."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.harness import Exporter, exporter, workload
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.programs import Build, config, copy, counted, finish, programs, run, waiting
from tests.kernel.trees import (
    ended,
    execs,
    exits,
    following,
    forks,
    is_up,
    processes,
    until,
)


def test_descendants_are_followed(build: Build, idle: Exporter) -> None:
    """Children and what they execute, to any depth, whoever adopts them; another program that the
    process itself executes is still of its tree."""
    with programs(build) as folder:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        targets: list[dict[str, Any]] = [{"name": "it", "match": {"exe": str(it)}}]
        with following(idle, json.dumps(targets)) as running:
            run(it, "11", "fork", "13", "exec", other, "17", "fork", "19", "exec", it, "23")
            run(it, "orphan", "exec", other, "orphan", "29")
            run(other, "7")
            scrape = until(running, lambda scrape: processes(scrape) == 0)
            assert counted(scrape) == {"it": 11 + 13 + 17 + 19 + 23 + 29}
            assert (forks(scrape), execs(scrape)) == (4, 5)
            assert exits(scrape) == ended(ok=6)
            assert scrape.value("proctree_target_trees", target="it") == 1
            assert is_up(scrape) == 0


def test_what_was_there_before(build: Build, idle: Exporter) -> None:
    """Descendants of what runs now; what was such a process, or whose ancestor was, and is none any
    more when the exporter starts, is nobody's."""
    with programs(build) as folder:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        targets: list[dict[str, Any]] = [{"name": "it", "match": {"exe": str(it)}}]
        with (
            waiting(it, "wait", "11", "fork", "13", "exec", other, "17") as first,
            waiting(it, "fork", "exec", other, "fork", "wait", "19", "exec", other, "23") as second,
            waiting(it, "orphan", "exec", other, "wait", "7") as orphan,
            waiting(it, "exec", other, "wait", "7") as was,
            following(idle, json.dumps(targets)) as running,
        ):
            assert processes(running.scrape()) == 4
            assert is_up(running.scrape()) == 1
            finish(first, second, was, orphan)
            scrape = running.scrape()
            assert counted(scrape) == {"it": 11 + 13 + 17 + 19 + 23}
            assert (forks(scrape), execs(scrape)) == (1, 2)


def test_a_process_whose_first_thread_has_ended(build: Build, idle: Exporter) -> None:
    """It runs its program as before, and any other of its threads tells which that is."""
    program = build("leader_first")
    targets: list[dict[str, Any]] = [
        {"name": "it", "match": {"exe": str(program), "cmdline": "* exit *"}}
    ]
    with workload(program, "pthread_exit", "exit", "0") as it:
        it.expect("ready")
        it.go()
        it.expect("alone")
        with following(idle, json.dumps(targets)) as running:
            it.go()
            it.expect("made")
            assert counted(running.scrape()) == {"it": 17}
            finish(it)


def test_without_follow_forks(build: Build, idle: Exporter) -> None:
    """The process alone, while it runs this program; at the start each that runs it."""
    with programs(build) as folder:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        targets: list[dict[str, Any]] = [
            {"name": "it", "match": {"exe": str(it)}, "follow_forks": False}
        ]
        with (
            waiting(it, "fork", "wait", "11", "fork", "7", "exec", other, "7") as first,
            following(idle, json.dumps(targets)) as running,
        ):
            finish(first)
            run(
                it,
                "13",
                "fork",
                "7",
                "exec",
                it,
                "17",
                "exec",
                other,
                "7",
                "fork",
                "exec",
                it,
                "19",
            )
            run(it, "23", "exec", other, "7", "exec", it, "29")
            scrape = running.scrape()
            assert counted(scrape) == {"it": 11 + 13 + 17 + 19 + 23 + 29}
            assert execs(scrape) == 5


def test_the_first_of_the_list(build: Build, idle: Exporter) -> None:
    """Of those that hold, and of one inherited and one that holds now; never back."""
    with programs(build) as folder:
        a, b, c = (str(copy(folder, name)) for name in "abc")
        targets: list[dict[str, Any]] = [
            {"name": "first", "match": {"exe": a}},
            {"name": "second", "match": {"exe": [a, b]}},
            {"name": "third", "match": {"exe": f"{folder}/*", "cmdline": "* -third *"}},
        ]
        with (
            waiting(
                folder / "c", "-third", "fork", "exec", b, "fork", "exec", a, "wait", "11"
            ) as it,
            waiting(folder / "b", "-third", "wait", "13") as second,
            following(idle, json.dumps(targets)) as running,
        ):
            finish(it, second)
            run(
                c,
                "-third",
                "17",
                "exec",
                b,
                "19",
                "exec",
                a,
                "23",
                "exec",
                b,
                "29",
                "exec",
                c,
                "31",
            )
            run(a, "37", "fork", "exec", c, "-third", "41")
            run(b, "43", "fork", "exec", c, "-third", "47")
            run(c, "7")
            assert counted(running.scrape()) == {
                "first": 11 + 23 + 29 + 31 + 37 + 41,
                "second": 13 + 19 + 43 + 47,
                "third": 17,
            }


def test_first_of_the_list_with_one_that_is_alone(build: Build, idle: Exporter) -> None:
    """`follow_forks: false` makes no difference to the order, before another as behind it."""
    with programs(build) as folder:
        a, b, c = (str(copy(folder, name)) for name in "abc")
        targets: list[dict[str, Any]] = [
            {"name": "alone", "match": {"exe": a}, "follow_forks": False},
            {"name": "tree", "match": {"exe": [a, b]}},
            {"name": "behind", "match": {"exe": [b, c]}, "follow_forks": False},
        ]
        with (
            waiting(folder / "a", "wait", "11", "exec", c, "13") as first,
            waiting(folder / "c", "wait", "17", "exec", b, "19") as second,
            following(idle, json.dumps(targets)) as running,
        ):
            finish(first, second)
            run(a, "23", "fork", "29", "exec", c, "31", "exec", a, "37")
            run(c, "41", "fork", "7", "exec", b, "43", "exec", c, "47")
            assert counted(running.scrape()) == {
                "alone": 11 + 23 + 37,
                "tree": 13 + 19 + 29 + 31 + 43 + 47,
                "behind": 17 + 41,
            }


def test_other_targets(build: Build) -> None:
    """A listed PID and a listed cgroup go before, `all` comes after; what has left the cgroup is
    the match's again."""
    name = f"proctree-match-{os.getpid()}"
    with programs(build) as folder, cgroup(version_2() / name) as place:
        steps, it = folder / "steps", str(copy(folder, "it"))
        with (
            waiting(steps, "wait", "fork", "11", "exec", it, "13", "fork", "17") as listed,
            waiting(steps, "wait", "exec", it, "19", "wait", "23", "wait", "29") as moved,
            waiting(folder / "it", "wait", "31", "wait", "37") as there,
        ):
            targets: list[dict[str, Any]] = [
                {"name": "all", "all": True},
                {"name": "pid", "pid": listed.pid},
                {"name": "group", "cgroup": f"/{name}"},
                {"name": "it", "match": {"exe": it}},
            ]
            with exporter(config(*targets)) as running:
                finish(listed)
                there.go()
                there.expect("ready")
                move(there.pid, place)
                moved.go()
                moved.expect("ready")
                move(moved.pid, place)
                moved.go()
                moved.expect("ready")
                move(moved.pid, place.parent)
                finish(there, moved)
                run(steps, "41", "fork", "exec", it, "43")
                found = counted(running.scrape())
                assert found.pop("all") >= 41
                assert found == {"pid": 11 + 13 + 17, "group": 23 + 37, "it": 19 + 29 + 31 + 43}


def test_a_name_taken_by_prctl(build: Build, idle: Exporter) -> None:
    """It says nothing until the next exec, which takes it away; at the start of the exporter it is
    the name of the process."""
    with programs(build) as folder:
        it, other = str(copy(folder, "it")), copy(folder, "other")
        targets: list[dict[str, Any]] = [{"name": "it", "match": {"comm": "it"}}]
        with (
            waiting(other, "name=it", "wait", "11") as before,
            following(idle, json.dumps(targets)) as running,
        ):
            finish(before)
            run(other, "name=it", "7", "fork", "7")
            run(it, "name=other", "13", "fork", "17")
            assert counted(running.scrape()) == {"it": 11 + 13 + 17}

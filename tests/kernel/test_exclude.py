"""`exclude` takes processes and their descendants out: of one target, or of all."""

from __future__ import annotations

import os
from typing import Any

from tests.harness import exporter
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.programs import Build, config, copy, counted, finish, programs, run, waiting
from tests.kernel.trees import execs, processes, reconfigure

LIFECYCLE = "--web.enable-lifecycle"


def test_of_one_target(build: Build) -> None:
    """From the first instruction of the excluded program on, whatever it or its descendants execute
    later: another target may have them."""
    with programs(build) as folder:
        a, b, c = (str(copy(folder, name)) for name in "abc")
        targets: list[dict[str, Any]] = [
            {"name": "it", "match": {"exe": a}, "exclude": [{"exe": b}, {"cmdline": "* -not *"}]},
            {"name": "rest", "match": {"comm": ["b", "c"]}},
        ]
        with (
            waiting(folder / "a", "wait", "11", "fork", "13", "exec", b, "17") as first,
            waiting(
                folder / "a", "fork", "exec", b, "wait", "19", "fork", "exec", a, "23"
            ) as second,
            waiting(folder / "a", "-not", "wait", "7", "exec", c, "29") as third,
            exporter(config(*targets)) as running,
        ):
            finish(first, second, third)
            run(
                a,
                "31",
                "fork",
                "37",
                "exec",
                b,
                "41",
                "fork",
                "43",
                "exec",
                a,
                "47",
                "exec",
                c,
                "53",
            )
            run(a, "-not", "7", "fork", "7", "exec", a, "7", "exec", c, "59")
            scrape = running.scrape()
            assert counted(scrape) == {
                "it": 11 + 13 + 31 + 37,
                "rest": 17 + 19 + 23 + 29 + 41 + 43 + 47 + 53 + 59,
            }
            assert (execs(scrape), execs(scrape, "rest")) == (1, 7)


def test_of_all_targets(build: Build) -> None:
    """Of a listed PID, a cgroup, a match and `all` alike, existing and new ones."""
    name = f"proctree-exclude-{os.getpid()}"
    with programs(build) as folder, cgroup(version_2() / name) as place:
        steps, it, out = folder / "steps", str(copy(folder, "it")), copy(folder, "out")
        with (
            waiting(steps, "wait", "11", "exec", str(out), "7", "fork", "7") as listed,
            waiting(out, "wait", "7") as listed_itself,
            waiting(steps, "wait", "13", "exec", str(out), "7", "exec", it, "7") as inside,
            waiting(out, "wait", "7", "exec", it, "7") as there,
        ):
            targets: list[dict[str, Any]] = [
                {"name": "pid", "pid": listed.pid},
                {"name": "other pid", "pid": listed_itself.pid},
                {"name": "group", "cgroup": f"/{name}"},
                {"name": "it", "match": {"exe": it}},
                {"name": "all", "all": True, "exclude": [{"exe": ["/usr/**", "/bin/**"]}]},
            ]
            with exporter(config(*targets, exclude=[{"exe": str(out)}])) as running:
                move(inside.pid, place)
                finish(listed, listed_itself, inside, there)
                run(it, "17", "exec", str(out), "7", "fork", "exec", it, "7")
                run(str(out), "7", "exec", str(steps), "7")
                run(steps, "19", "exec", str(out), "7")
                assert counted(running.scrape()) == {"pid": 11, "group": 13, "it": 17}


def test_a_user_is_excluded(build: Build) -> None:
    """By any of the words of `match`, all of which must hold."""
    with programs(build) as folder:
        it, steps = str(copy(folder, "it")), folder / "steps"
        out = {"user": [40_001, 40_003], "comm": "it"}
        targets: list[dict[str, Any]] = [
            {"name": "it", "match": {"exe": f"{folder}/*"}, "exclude": [out]}
        ]
        with exporter(config(*targets)) as running:
            for user in (40_001, 40_003):
                run(steps, "11", f"uid={user}", "13", "exec", it, "7")
                run(steps, f"uid={user}", "exec", str(steps), "17")
            run(it, "19", "uid=40001", "23")
            assert counted(running.scrape()) == {"it": 2 * (11 + 13 + 17) + 19 + 23}


def test_taken_on_and_off_by_reloads(build: Build) -> None:
    """A new `exclude` takes out who runs now and their descendants; one that is gone lets them in
    again, and what it said is not taken for what another says that comes after."""
    with programs(build) as folder:
        a, b = str(copy(folder, "a")), str(copy(folder, "b"))
        it = {"name": "it", "match": {"exe": a}}
        steps = [x for calls in (11, 13, 17, 19, 23, 29, 31) for x in ("wait", str(calls))]
        with (
            waiting(folder / "a", *steps) as kept,
            waiting(folder / "a", "fork", "exec", b, *steps) as out,
            exporter(config(it), LIFECYCLE) as running,
        ):

            def both() -> None:
                for process in (kept, out):
                    process.go()
                    process.expect("ready")

            both()
            made = 11 + 11
            for changed, mine in (
                (config({**it, "exclude": [{"exe": b}]}), 13),
                (config(it), 17 + 17),
                (config({**it, "exclude": [{"exe": "/no/such"}, {"comm": "nobody"}]}), 19 + 19),
                (config(it, exclude=[{"comm": "b"}]), 23),
                (config(it), 29 + 29),
            ):
                reconfigure(running, changed)
                both()
                made += mine
                assert counted(running.scrape()) == {"it": made}
            assert processes(running.scrape()) == 3
            finish(kept, out)

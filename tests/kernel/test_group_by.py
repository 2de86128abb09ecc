"""`group_by` splits a target by program: exact for each, and in sum."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.harness import Scrape, exporter
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.programs import Build, config, copy, finish, programs, run, waiting
from tests.kernel.trees import ended


def by_program(scrape: Scrape, name: str = "", target: str = "it") -> dict[str, float]:
    """getppid, or this metric, by the program; what is 0 is left out."""
    if name:
        found = scrape.all(name, target=target)
    else:
        found = scrape.all("proctree_syscalls_total", target=target, syscall="getppid")
    return {program: value for program, value in found.items() if value}


def test_by_comm(build: Build) -> None:
    """Each program by its name, whatever file it is, from its first instruction on; a child is its
    parent's program until it executes one; before the start as after."""
    with programs(build) as folder:
        a, b, c = (copy(folder, name) for name in ("a", "b", "sub/c"))
        same = str(copy(folder, "sub/a"))
        targets: list[dict[str, Any]] = [
            {"name": "it", "match": {"exe": f"{folder}/**"}, "group_by": "comm"}
        ]
        with (
            waiting(a, "fork", "wait", "11", "exec", str(b), "13") as first,
            waiting(c, "wait", "17", "fork", "19") as second,
            exporter(config(*targets)) as running,
        ):
            finish(first, second)
            run(a, "23", "name=odd", "29", "fork", "31", "exec", str(b), "37", "exec", str(c), "41")
            run(same, "43", "exec", "/bin/true")
            scrape = running.scrape()
            assert by_program(scrape) == {
                "a": 11 + 23 + 29 + 31 + 43,
                "b": 13 + 37,
                "c": 17 + 19 + 41,
            }
            assert by_program(scrape, "proctree_process_execs_total") == {
                "a": 2, "b": 2, "c": 1, "true": 1,
            }  # fmt: skip
            assert by_program(scrape, "proctree_process_forks_total") == {"a": 1, "c": 1}
            ends = scrape.all("proctree_process_exits_total", target="it", comm="c")
            assert ends == ended(ok=3)
            assert scrape.lost() == 0


def test_by_exe(build: Build) -> None:
    """By the path of the file, of targets of each kind."""
    name = f"proctree-group-{os.getpid()}"
    with programs(build) as folder, cgroup(version_2() / name) as place:
        steps = str(folder / "steps")
        a, same = str(copy(folder, "a")), str(copy(folder, "sub/a"))
        with (
            waiting(folder / "steps", "wait", "11", "fork", "exec", a, "13") as listed,
            waiting(folder / "a", "wait", "17", "wait", "19", "wait", "23") as moved,
            waiting(folder / "sub/a", "wait", "29", "exec", a, "31") as there,
        ):
            move(there.pid, place)
            targets: list[dict[str, Any]] = [
                {"name": "pid", "pid": listed.pid, "group_by": "exe"},
                {"name": "group", "cgroup": f"/{name}", "group_by": "exe"},
                {"name": "all", "all": True, "group_by": "exe"},
            ]
            with exporter(config(*targets)) as running:
                finish(listed, there)
                moved.go()
                moved.expect("ready")
                move(moved.pid, place)
                moved.go()
                moved.expect("ready")
                move(moved.pid, place.parent)
                finish(moved)
                run(same, "37")
                scrape = running.scrape()
                assert by_program(scrape, target="pid") == {steps: 11, a: 13}
                assert by_program(scrape, target="group") == {same: 29, a: 31 + 19}
                everybody = by_program(scrape, target="all")
                assert (everybody[a], everybody[same]) == (17 + 23, 37)


def test_more_programs_than_limits_comms(build: Build) -> None:
    """The first have series of their own for good, the others are `other`: each call is in one."""
    with programs(build) as folder:
        files = [copy(folder, f"program-{i}") for i in range(7)]
        targets: list[dict[str, Any]] = [
            {"name": name, "match": {"exe": f"{folder}/**", "user": user}, "group_by": "comm"}
            for name, user in (("it", 0), ("second", 40_001))
        ]
        with exporter(config(*targets, limits={"comms": 3})) as running:
            for _ in range(2):
                for i, file in enumerate(files):
                    run(file, str(101 + 2 * i))
            run("setpriv", "--reuid=40001", files[6], "11")
            scrape = running.scrape()
            assert by_program(scrape) == {
                "program-0": 2 * 101,
                "program-1": 2 * 103,
                "program-2": 2 * 105,
                "other": 2 * (107 + 109 + 111 + 113),
            }
            assert by_program(scrape, target="second") == {"program-6": 11}
            assert by_program(scrape, "proctree_process_execs_total")["other"] == 8
            assert scrape.lost() == 0


def test_hostile_names(build: Build) -> None:
    """No name breaks a scrape; what cannot be told apart as text is one series."""
    with programs(build) as folder:
        comms = ['"', "\\", "a\nb", "{}", 'x="y"', "#", "other", "ünï", "\udcc3(", "\udcc4("]
        targets: list[dict[str, Any]] = [
            {"name": "it", "match": {"exe": f"{folder}/**"}, "group_by": "comm"}
        ]
        with exporter(config(*targets)) as running:
            for number, comm in enumerate(comms, 11):
                run(copy(folder, comm), str(number))
            *single, first, second = enumerate(comms, 11)
            assert by_program(running.scrape()) == {
                **{comm: number for number, comm in single},
                "\ufffd(": first[0] + second[0],
            }


def test_events_that_are_lost(build: Build) -> None:
    """While the exporter stands still, the ring gets full of moves: who begins then is counted all
    the same, under its name or as `other`."""
    name = f"proctree-ring-{os.getpid()}"
    with programs(build) as folder, cgroup(version_2() / name) as place:
        a, b, moved = (copy(folder, name) for name in ("a", "b", "moved"))
        targets: list[dict[str, Any]] = [
            {"name": "group", "cgroup": f"/{name}"},
            {"name": "it", "match": {"exe": f"{folder}/*"}, "group_by": "comm"},
        ]
        with (
            exporter(config(*targets)) as running,
            waiting(moved, "wait", "11") as process,
        ):
            os.kill(running.pid, signal.SIGSTOP)
            try:
                for _ in range(10_000):
                    move(process.pid, place)
                    move(process.pid, place.parent)
                for _ in range(2):
                    run(a, "101")
                    run(b, "103")
            finally:
                os.kill(running.pid, signal.SIGCONT)
            finish(process)
            run(a, "107")
            found = by_program(running.scrape())
            assert sum(found.values()) == 2 * (101 + 103) + 11 + 107
            assert set(found) <= {"moved", "a", "b", "other"}

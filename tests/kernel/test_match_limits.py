"""A match that finds no room for its process: each call is counted as lost, until there is room."""

from __future__ import annotations

from contextlib import ExitStack

from tests.harness import Scrape, exporter
from tests.kernel.programs import Build, config, copy, finish, programs, waiting
from tests.kernel.trees import execs, lost, processes, until

LIMITS = {"processes": 16}
MANY = 24


def all_calls(scrape: Scrape) -> float:
    return sum(scrape.all("proctree_syscalls_total", target="it").values())


def test_followed_when_there_is_room(build: Build) -> None:
    """24 equal processes, of which 16 at most find room: all calls of the others are lost by
    number, from the first instruction on; when half of all have ended, those left are followed."""
    with programs(build) as folder, ExitStack() as stack:
        it = copy(folder, "it")
        targets = [{"name": "it", "match": {"exe": str(it)}}]
        running = stack.enter_context(exporter(config(*targets, limits=LIMITS)))
        steps = ("101", "wait", "103", "wait", "107")
        crowd = [stack.enter_context(waiting(it, *steps)) for _ in range(MANY)]
        scrape = running.scrape()
        followed, rest = divmod(scrape.calls("it", "getppid"), 101)
        assert (rest, execs(scrape)) == (0, MANY)
        assert 8 < followed <= 16
        assert lost(scrape, "process_limit") == all_calls(scrape) / followed * (MANY - followed)
        until(running, lambda _: "limits.processes" in running.log)
        for process in crowd[::2]:
            process.go()
            process.expect("ready")
        finish(*crowd[::2])
        left = crowd[1::2]
        before = until(running, lambda scrape: processes(scrape) == len(left))
        for process in left:
            process.go()
            process.expect("ready")
        after = running.scrape()
        assert after.calls("it", "getppid") - before.calls("it", "getppid") == len(left) * 103
        assert lost(after, "process_limit") == lost(before, "process_limit")
        finish(*left)


def test_another_program_is_not_waited_for(build: Build) -> None:
    """Without follow_forks, what has found no room executes another program: that is not followed,
    so its calls are none that are lost."""
    with programs(build) as folder, ExitStack() as stack:
        it, other = copy(folder, "it"), str(copy(folder, "other"))
        targets = [{"name": "it", "match": {"exe": str(it)}, "follow_forks": False}]
        running = stack.enter_context(exporter(config(*targets, limits=LIMITS)))
        steps = ("wait", "exec", other, "wait", "7", "wait", "7")
        crowd = [stack.enter_context(waiting(it, *steps)) for _ in range(MANY)]
        assert lost(running.scrape(), "process_limit") > 0
        for process in crowd:
            process.go()
            process.expect("ready")
        before = until(running, lambda scrape: processes(scrape) == 0)
        for process in crowd:
            process.go()
            process.expect("ready")
        scrape = running.scrape()
        assert (scrape.calls("it", "getppid"), processes(scrape)) == (0, 0)
        assert lost(scrape, "process_limit") == lost(before, "process_limit")
        finish(*crowd)

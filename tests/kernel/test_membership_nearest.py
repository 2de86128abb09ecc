"""A process belongs to exactly one target: which one, and which not."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import Exporter, Workload, exporter, workload
from tests.kernel.trees import (
    RARE,
    ended,
    exits,
    following,
    forks,
    idle_exporter,
    is_up,
    processes,
    reconfigure,
    until,
)

Build = Callable[..., Path]

ROOT, THREAD, CHILD, GRANDCHILD, ORPHAN = 101, 103, 211, 307, 401
SELF = ROOT + THREAD


@contextmanager
def family(build: Build) -> Iterator[tuple[Workload, str, str]]:
    """Root, thread, child, grandchild and orphan; yields the numbers of child and grandchild."""
    with workload(build("family")) as tree:
        _, child, grandchild, orphan = tree.expect("ready")
        try:
            yield tree, child, grandchild
        finally:
            os.kill(int(orphan), signal.SIGKILL)


def one_round(tree: Workload) -> None:
    tree.go()
    tree.expect("round")


def test_without_follow_forks_it_is_the_process_alone(build: Build, idle: Exporter) -> None:
    """All of its threads, none of its children, old or new."""
    with family(build) as (tree, _, _):
        config = f"[{{name: it, pid: {tree.pid}, follow_forks: false}}]"
        with following(idle, config) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == SELF
            assert processes(scrape) == 1


def test_without_follow_forks_new_children_are_not_in_it(build: Build, idle: Exporter) -> None:
    """Children born later count as its forks, and nothing that they do."""
    with workload(build("short_lives"), "101", "7", "13") as tree:
        tree.expect("ready")
        config = f"[{{name: it, pid: {tree.pid}, follow_forks: false}}]"
        with following(idle, config) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 0
            assert forks(scrape) == 101
            assert sum(exits(scrape).values()) == 0
            assert processes(scrape) == 1


def test_without_follow_forks_new_children_are_the_outer_trees(
    build: Build, idle: Exporter
) -> None:
    """They are born by one that is a target by itself, and belong to the tree around it."""
    with workload(build("short_lives"), "101", "7", "13") as tree:
        tree.expect("ready")
        alone = f"- {{name: it, pid: {tree.pid}, follow_forks: false}}\n"
        with following(idle, alone + f"- {{name: outer, pid: {os.getpid()}}}\n") as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 0
            assert scrape.calls("outer", "getppid") == 101 * 13
            assert exits(scrape, "outer") == ended(ok=101)


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")])
def test_children_of_one_alone_belong_to_the_outer_tree(
    build: Build, idle: Exporter, order: tuple[str, str]
) -> None:
    """The child is a target by itself, its child and all others are its parent's tree's."""
    with family(build) as (tree, child, _):
        entries = {
            "outer": f"- {{name: outer, pid: {tree.pid}}}\n",
            "inner": f"- {{name: inner, pid: {child}, follow_forks: false}}\n",
        }
        with following(idle, entries[order[0]] + entries[order[1]]) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("inner", RARE) == CHILD
            assert scrape.calls("outer", RARE) == SELF + GRANDCHILD
            assert processes(scrape, "outer") == 2


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")])
def test_the_nearest_root_wins(build: Build, idle: Exporter, order: tuple[str, str]) -> None:
    """Each process is in the tree of the nearest listed root, whatever the order of the list."""
    with family(build) as (tree, child, _):
        entries = {
            "outer": f"- {{name: outer, pid: {tree.pid}}}\n",
            "inner": f"- {{name: inner, pid: {child}}}\n",
        }
        with following(idle, entries[order[0]] + entries[order[1]]) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("inner", RARE) == CHILD + GRANDCHILD
            assert scrape.calls("outer", RARE) == SELF


@pytest.mark.alone
def test_all_holds_what_nobody_else_does(build: Build) -> None:
    """A listed root takes its tree out of `all`; an orphan of that tree stays in `all`."""
    with family(build) as (tree, child, _):
        config = f"- {{name: node, all: true}}\n- {{name: it, pid: {child}}}\n"
        with exporter(config) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == CHILD + GRANDCHILD
            assert scrape.calls("node", RARE) == SELF + ORPHAN


@pytest.mark.alone
def test_pid_1_ranks_with_all(build: Build) -> None:
    """Its tree holds what no other root does: the orphan, and what is below it, too."""
    with family(build) as (tree, child, _):
        config = f"- {{name: init, pid: 1}}\n- {{name: it, pid: {child}}}\n"
        with exporter(config) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == CHILD + GRANDCHILD
            assert scrape.calls("init", RARE) == SELF + ORPHAN


@pytest.mark.alone
def test_pid_1_is_nearer_than_all(build: Build) -> None:
    """With both, every descendant of PID 1 is in its tree, and counted once."""
    with family(build) as (tree, _, _):
        config = "- {name: node, all: true}\n- {name: init, pid: 1}\n"
        with exporter(config) as running:
            one_round(tree)
            scrape = running.scrape()
            assert scrape.calls("init", RARE) == SELF + CHILD + GRANDCHILD + ORPHAN
            assert scrape.calls("node", RARE) == 0


SELF_CALLER = """
import ctypes, os, sys, threading
sys.path.insert(0, os.getcwd())
from exporter import cli
reached, go = os.open(sys.argv[1], os.O_RDWR), sys.argv[2]  # none is opened for writing later
del sys.argv[1:3]
def call():
    while True:
        open(go).read()
        for _ in range(1009):
            ctypes.CDLL(None).syscall(148, 0, ctypes.create_string_buffer(16))
        os.write(reached, b"made\\n")
# A thread of ours must not start before the exporter has compiled: it is made when it is ready.
from exporter.kernel import memory
settle = memory.settle
def started():
    settle()
    threading.Thread(target=call, daemon=True).start()
memory.settle = started
cli.main()
"""


@pytest.fixture(scope="module")
def itself(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Exporter, Callable[[], None]]]:
    """An exporter, and what makes it call."""
    folder = tmp_path_factory.mktemp("itself")
    reached, go = folder / "reached", folder / "go"
    os.mkfifo(reached)
    os.mkfifo(go)
    command = [sys.executable, "-c", SELF_CALLER, str(reached), str(go)]

    def call() -> None:
        go.write_text("go")
        with reached.open() as said:
            assert said.readline() == "made\n"

    with idle_exporter(command=command) as running:
        yield running, call


@pytest.mark.alone
@pytest.mark.parametrize(
    ("name", "target", "counted"),
    [
        ("node", "all: true", 0),
        ("init", "pid: 1", 0),
        ("root", "cgroup: /", 0),
        ("itself", "pid: SELF", 1009),
    ],
)
def test_the_exporter_counts_itself_only_where_it_is_named(
    itself: tuple[Exporter, Callable[[], None]], name: str, target: str, counted: int
) -> None:
    """It makes 1,009 calls that nothing else makes: only `pid:` with its number counts them."""
    own, call = itself
    named = target.replace("SELF", str(own.pid))
    reconfigure(own, f"[{{name: {name}, {named}}}]")
    call()
    assert own.scrape().calls(name, RARE) == counted


def test_a_number_used_again_is_another_process(build: Build, idle: Exporter) -> None:
    """The root ends, a stranger gets its PID: the target stays down, its counters stay."""
    with workload(build("million")) as tree:
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("done")
            tree.go()
            assert tree.process.wait() == 0
            with workload(build("stranger"), str(tree.pid)) as stranger:
                stranger.expect("ready")
                stranger.go()
                stranger.expect("made")
                scrape = until(running, lambda scrape: is_up(scrape) == 0)
                assert scrape.calls("it", "getppid") == 1_000_000
                assert processes(scrape) == 0
                assert exits(scrape) == ended(ok=17)


def test_the_number_of_a_dead_member_used_again(build: Build, idle: Exporter) -> None:
    """A descendant ends, a stranger outside gets its PID: it is not in the tree."""
    with workload(build("one_child")) as tree:
        (child,) = tree.expect("child")
        tree.expect("ready")
        with following(idle, f"[{{name: it, pid: {tree.pid}}}]") as running:
            tree.go()
            tree.expect("gone")
            with workload(build("stranger"), child) as stranger:
                stranger.expect("ready")
                stranger.go()
                stranger.expect("made")
                scrape = running.scrape()
                assert scrape.calls("it", "getppid") == 101
                assert processes(scrape) == 1


#: One more than the kernel gives.
NO_PID = int(Path("/proc/sys/kernel/pid_max").read_text())


def unused_pid() -> int:
    """And nobody gets it later: once past 300, the kernel never gives a lower one again."""
    return next(pid for pid in range(2, NO_PID) if not Path(f"/proc/{pid}").exists())


def test_a_pid_that_is_no_process_to_follow(build: Build, idle: Exporter) -> None:
    """Not there, a thread, a zombie, a kernel thread, of another namespace: down, one line each."""
    inner = unused_pid()
    with (
        workload(build("zombie")) as tree,
        workload(build("inner_number"), str(inner)) as namespace,
    ):
        (zombie,) = tree.expect("zombie")
        (thread,) = tree.expect("thread")
        tree.expect("ready")
        namespace.expect("ready")
        why = {
            str(NO_PID): f"there is no process {NO_PID}",
            thread: f"{thread} is a thread of process {tree.pid}",
            zombie: "zombie",
            "2": "kernel thread",
            str(inner): "inside a namespace of their own",
        }
        config = "".join(f"- {pid}\n" for pid in why) + f"- {tree.pid}\n"
        with following(idle, config) as running:
            scrape = running.scrape()
            for pid, reason in why.items():
                assert scrape.value("proctree_target_up", target=f"pid:{pid}") == 0
                lines = [line for line in running.log.splitlines() if f"pid:{pid} " in line]
                assert len(lines) == 1, running.log
                assert "level=warn" in lines[0]
                assert reason in lines[0]
            assert scrape.value("proctree_target_up", target=f"pid:{tree.pid}") == 1

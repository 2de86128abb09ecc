"""The counts of real programs agree with strace's of the same run, call by call."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness import Scrape, Workload, exporter, workload
from tests.kernel.test_calls import IT, READ, until_asleep_in

MAKEFILE = """\
CFLAGS = -O1
hello: main.o greet.o
\t$(CC) -o $@ $^
"""
SOURCES = {
    "Makefile": MAKEFILE,
    "main.c": "void greet(void);\nint main(void) { greet(); return 0; }\n",
    "greet.c": '#include <stdio.h>\nvoid greet(void) { puts("hello"); }\n',
}
SCRIPT = """\
seq 1 1000 | sort -rn | head -n 3 | wc -l
yes | head -n 3
for n in 1 2 3 5 7; do echo $n | sed s/[1-5]/x/; done | sort | uniq -c
sleep 0.1 & wait; false || cat /does/not/exist; (exit 3)
"""


class Strace(NamedTuple):
    """What `strace -f -C` wrote: each call in its log, and its summary."""

    calls: dict[str, int]
    errors: dict[str, int]
    log: list[str]

    def in_log(self, pattern: str) -> dict[str, int]:
        """How often lines of this kind are in the log, by the call's name in its first group."""
        return Counter(found[1] for line in self.log if (found := re.search(pattern, line)))


def parse(text: str) -> Strace:
    """A call without errors has no such column."""
    log, _, summary = text.partition("% time ")
    table = summary.split("\n------", 2)[1]  # between two lines of dashes
    calls, errors = {}, {}
    for line in table.splitlines()[1:]:
        _, _, _, n, *failed, name = line.split()
        calls[name] = int(n)
        errors[name] = sum(map(int, failed))
    return Strace(calls, errors, log.splitlines())


@contextmanager
def traced(tree: Workload, output: Path) -> Iterator[None]:
    """strace is attached, and the workload is back in the read that the attaching interrupted."""
    until_asleep_in(tree.pid, READ)  # not before: strace would see how it gets there
    strace = subprocess.Popen(
        ["strace", "-f", "-C", "-o", str(output), "-p", str(tree.pid)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert strace.stderr
    try:
        assert "attached" in strace.stderr.readline()
        until_asleep_in(tree.pid, READ)
        yield
        strace.stderr.read()
        assert strace.wait() == 0
    finally:
        strace.kill()
        strace.wait()


def both_see(becomes: Path, folder: Path, *command: str) -> tuple[Scrape, Strace]:
    """One run of a command, seen by strace and by us, from the word that starts it to its end."""
    output = folder.parent / "strace.out"
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder.parent)}
    arguments = ["/usr/bin/env", "-C", str(folder), *command]
    with workload(becomes, *arguments, env=environment) as tree:
        tree.expect("ready")
        config = f"[{{name: {IT}, pid: {tree.pid}}}]"
        with traced(tree, output), exporter(config) as running:
            tree.go()
            assert tree.process.stdout
            tree.process.stdout.read()
            assert tree.process.wait() == 0
            scrape = running.scrape()
    return scrape, parse(output.read_text())


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    environment = os.environ | {"HOME": str(folder.parent)}
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, env=environment)


def a_project(folder: Path) -> tuple[str, ...]:
    """A C program of two files; make compiles and links it."""
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    return ("make",)


def a_repository(folder: Path, *command: str) -> tuple[str, ...]:
    """A repository of three commits, and a file that is in none."""
    git(folder, "init", "-q")
    for number in (2, 3, 5):
        (folder / f"{number}.txt").write_text("text\n" * number)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"the commit {number}")
    (folder / "7.txt").touch()
    return command


def a_log(folder: Path) -> tuple[str, ...]:
    return a_repository(folder, "git", "log", "--stat")


def a_status(folder: Path) -> tuple[str, ...]:
    return a_repository(folder, "git", "status")


def a_script(folder: Path) -> tuple[str, ...]:
    """A shell script with pipes, of which some break, a job in the background, and failures."""
    (folder / "script").write_text(SCRIPT + "exit 0\n")
    return ("sh", "script")


@pytest.mark.parametrize("program", [a_project, a_log, a_status, a_script])
def test_counts_agree_with_strace(
    build: Callable[..., Path], tmp_path: Path, program: Callable[[Path], tuple[str, ...]]
) -> None:
    """All of them; and each difference has a name and is as big as it has to be."""
    folder = tmp_path / "work"
    folder.mkdir()
    scrape, strace = both_see(build("becomes"), folder, *program(folder))
    assert scrape.lost() == 0
    ours = scrape.all("proctree_syscalls_total", target=IT)

    # 1. strace counts what returns; its log has the others, as we do
    ending = strace.in_log(r"^\d+ +(exit|exit_group)\(")
    assert set(ending) == {"exit_group"}
    assert ours == strace.calls | ending

    # 2. strace takes for errors what are none: restart codes, and what rt_sigreturn restores
    restarts = strace.in_log(r"(?:^\d+ +|<\.\.\. )(\w+).* = \? ERESTART")
    restored = strace.in_log(r"(rt_sigreturn).* = -1 E")
    errors = {name: sum(scrape.errors(IT, name).values()) for name in ours}
    assert errors == {
        name: strace.errors.get(name, 0) - restarts.get(name, 0) - restored.get(name, 0)
        for name in ours
    }

    # 3. no duration: the read that was in flight when we began to follow; and what never returns
    assert {name: n - scrape.timed(IT, name) for name, n in ours.items()} == {
        name: {"read": 1, **ending}.get(name, 0) for name in ours
    }
    assert ours["execve"] > 1

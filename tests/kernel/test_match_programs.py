"""Programs in odd places and with odd names: `match` means what /proc/PID/exe says, from the first
instruction to the last."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.harness import Workload, exporter
from tests.kernel.programs import (
    Build,
    config,
    copy,
    counted,
    exe_of,
    finish,
    programs,
    run,
    waiting,
)
from tests.kernel.trees import ended, execs, exits


def test_from_the_first_instruction(build: Build) -> None:
    """200 lives that are over at once, while others begin and end beside them: every call."""
    with programs(build) as folder:
        it = copy(folder, "it")
        loop = 'i=0; while [ $i -lt %d ]; do "$0" %d; i=$((i+1)); done'
        with exporter(config({"name": "it", "match": {"exe": str(it)}})) as running:
            beside = [
                subprocess.Popen(["sh", "-c", loop % (300, 3), str(folder / "steps")])
                for _ in range(2)
            ]
            run("sh", "-c", loop % (200, 11), it)
            assert [process.wait() for process in beside] == [0, 0]
            scrape = running.scrape()
            assert counted(scrape) == {"it": 200 * 11}
            assert counted(scrape, "exit_group") == {"it": 200}
            assert execs(scrape) == 200
            assert exits(scrape) == ended(ok=200)
            assert scrape.lost() == 0


def exactly(text: str) -> str:
    """A glob of this text; for what no config may contain, any character."""
    return "".join(f"\\{c}" if c in "*?[\\" else c if c.isprintable() else "?" for c in text)


NAMES = [
    "with blanks ", "with'quotes\"", "with\nnewline", "with\ttab", "with\\backslash", "[a-z]*?",
    "ünï", "\U0001f600", "not-\udcc3(-utf-8", "{a: b}", "x" * 255, "memfd:x", "#", "\x01",
]  # fmt: skip


def test_odd_names(build: Build) -> None:
    """Each by a glob of exactly its path, or its comm, or its command line."""
    with programs(build) as folder, ExitStack() as stack:
        files = [copy(folder, name) for name in NAMES]
        there = [stack.enter_context(waiting(file, "wait", "101")) for file in files]
        targets = []
        for number, (file, it) in enumerate(zip(files, there, strict=True)):
            comm = os.fsdecode(file.name.encode(errors="surrogateescape")[:15])
            line = "*/" + exactly(file.name) + " *"
            words = (
                {"exe": exactly(exe_of(it))},
                {"comm": exactly(comm)},
                {"cmdline": line},
            )
            targets.append({"name": f"{number}", "match": words[number % 3]})
        running = stack.enter_context(exporter(config(*targets)))
        finish(*there)
        for file in files:
            run(file, "103")
        found = counted(running.scrape())
        assert found == {f"{number}": 204 for number in range(len(NAMES))}


@contextmanager
def bind_mount(source: Path, place: Path) -> Iterator[None]:
    place.mkdir()
    run("mount", "--bind", source, place)
    try:
        yield
    finally:
        run("umount", "--lazy", place)


def test_odd_places(build: Build) -> None:
    """In a chroot, on a bind mount, in a mount namespace of its own, in memory, deleted; a script,
    which gives its interpreter its name: what /proc/PID/exe says, before the start and after."""
    with programs(build) as folder, ExitStack() as stack:
        steps = folder / "steps"
        interpreter = copy(folder, "interpreter")
        for script in (folder / "script", folder / "script 2"):
            script.write_text(f"#!{interpreter} -x\n")
            script.chmod(0o755)
        jail, pivoted = folder / "jail", folder / "pivoted"
        copy(folder, "jail/bin/jailed")
        copy(folder, "pivoted/bin/in-its-own")
        stack.enter_context(bind_mount(folder / "jail", folder / "bound"))

        def unlinked() -> str:
            shutil.copy(steps, folder / "gone")
            return f"unlinked={folder}/gone"

        places: dict[str, list[str]] = {
            "jailed": [str(steps), f"chroot={jail}", "exec", "/bin/jailed"],
            "bound": [str(folder / "bound/bin/jailed")],
            "pivoted": [str(steps), f"pivot={pivoted}", "exec", "/bin/in-its-own"],
            "memory": [str(steps), "memfd"],
            "script": [str(folder / "script")],
            "interpreter": [str(folder / "script 2")],
        }
        there: dict[str, Workload] = {}

        def begin(name: str, command: list[str]) -> None:
            there[name] = stack.enter_context(
                waiting(Path(command[0]), *command[1:], "wait", "101")
            )

        for name, command in places.items():
            begin(name, command)
        begin("deleted", [str(steps), unlinked()])
        exes = {name: exe_of(it) for name, it in there.items()}
        assert exes == {
            "jailed": f"{jail}/bin/jailed",
            "bound": f"{folder}/bound/bin/jailed",
            "pivoted": "/bin/in-its-own",
            "memory": "/memfd:in memory (deleted)",
            "script": str(interpreter),
            "interpreter": str(interpreter),
            "deleted": f"{folder}/gone (deleted)",
        }
        words = {name: {"exe": exe.removesuffix(" (deleted)")} for name, exe in exes.items()}
        words["script"] = {"comm": "script", "cmdline": f"{interpreter} -x {folder}/script *"}
        targets = [{"name": name, "match": it} for name, it in words.items()]
        running = stack.enter_context(exporter(config(*targets)))
        finish(*there.values())
        for command in places.values():
            run(*command, "103")
        run(steps, unlinked(), "103")
        assert counted(running.scrape()) == dict.fromkeys(places, 204) | {"deleted": 204}

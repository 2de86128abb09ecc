"""`match` by each of its words: for what runs when the exporter starts, and from the first
instruction of what begins later."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.harness import exporter
from tests.kernel.programs import Build, config, copy, counted, finish, programs, run, waiting

BEFORE, AFTER, MISSED = 101, 103, 7
BOTH = BEFORE + AFTER
#: Name of a target -> its words, a program that they mean, its arguments.
Cases = dict[str, tuple[dict[str, Any], str, tuple[str, ...]]]


def follow(folder: Path, cases: Cases, others: list[tuple[str, tuple[str, ...]]]) -> None:
    """One process of each runs before the exporter starts, one begins after."""
    for name in {name for _, name, _ in cases.values()} | {name for name, _ in others}:
        if name != "steps":
            copy(folder, name)
    with ExitStack() as stack:
        there = [
            stack.enter_context(waiting(folder / name, "wait", str(calls), *arguments))
            for calls, name, arguments in [
                *((BEFORE, name, arguments) for _, name, arguments in cases.values()),
                *((MISSED, name, arguments) for name, arguments in others),
            ]
        ]
        targets = [{"name": name, "match": words} for name, (words, _, _) in cases.items()]
        running = stack.enter_context(exporter(config(*targets)))
        finish(*there)
        for _, name, arguments in cases.values():
            run(folder / name, str(AFTER), *arguments)
        for name, arguments in others:
            run(folder / name, str(MISSED), *arguments)
        scrape = running.scrape()
        assert counted(scrape) == dict.fromkeys(cases, BOTH)
        assert scrape.lost() == 0


def test_by_exe(build: Build) -> None:
    """A path, globs of a component and of many, a regular expression of the whole path, a list."""
    with programs(build) as folder:
        cases: Cases = {
            "path": ({"exe": f"{folder}/a/exactly"}, "a/exactly", ()),
            "component": ({"exe": f"{folder}/*/gl?b"}, "b/glob", ()),
            "anywhere": ({"exe": "**/anywhere-of-ours"}, "c/d/e/anywhere-of-ours", ()),
            "below": ({"exe": f"{folder}/below/**"}, "below/f/g/h", ()),
            "class": ({"exe": f"{folder}/class[1-3]"}, "class2", ()),
            "regular": ({"exe_re": r".*/regular-\d{3}"}, "regular-123", ()),
            "list": ({"exe": ["/no/such", "**/one-of-two"]}, "one-of-two", ()),
        }
        others = [
            "exactly", "a/exactly2", "b/c/glob", "b/globb", "c/anywhere-of-ours2", "class4",
            "regular-1234", "xregular-12", "f/below",
        ]  # fmt: skip
        follow(folder, cases, [(name, ()) for name in others])


def test_by_comm(build: Build) -> None:
    """The file's name, of which the kernel keeps 15 bytes."""
    with programs(build) as folder:
        cases: Cases = {
            "name": ({"comm": "comm-of-it"}, "comm-of-it", ()),
            "cut": ({"comm": "fifteen-bytes-a"}, "fifteen-bytes-and-more", ()),
            "exactly": ({"comm": "exactly-15-byte"}, "exactly-15-byte", ()),
            "glob": ({"comm": "g*b-*"}, "glib-and-glob-3", ()),
            "slash": ({"comm_re": "[a-c]{3}/?x+"}, "abcxxx", ()),
            "several": ({"comm": ["this", "or-that"]}, "or-that", ()),
        }
        others = ["comm-of-i", "comm-of-it2", "fifteen-bytes-b", "abcyxx", "ORT-THAT", "b-glob"]
        follow(folder, cases, [(name, ()) for name in others])


def test_by_cmdline(build: Build) -> None:
    """Blanks stand between the arguments, of which the first 4,095 bytes count."""
    with programs(build) as folder:
        cases: Cases = {
            "argument": ({"cmdline": "* -role=web"}, "steps", ("-role=web",)),
            "between": ({"cmdline": "* -a -b?c *"}, "steps", ("-a", "-b c", "-d")),
            "regular": (
                {"cmdline_re": r".*/steps (wait )?\d+ -x{2,3}( -y)?"},
                "steps",
                ("-xxx", "-y"),
            ),
            "several": ({"cmdline": ["*-one-", "*-two-"]}, "steps", ("-two-",)),
            "whole": ({"cmdline": "*-0-*"}, "steps", ("-0-", "-" * 100_000)),
        }
        others = [
            ("steps", ("-role=web2",)), ("steps", ("-a -b", "-c",)), ("steps", ("-xxx", "-z")),
            ("steps", ("-one",)), ("steps", ("-" * 4095, "-0-")),
        ]  # fmt: skip
        follow(folder, cases, others)


def test_by_the_end_of_a_long_cmdline(build: Build) -> None:
    """What is cut there ends there, to the byte; up to it nothing is lost."""
    with programs(build) as folder:
        for name in ("cut", "not"):
            copy(folder, name)
        targets = [{"name": "it", "match": {"cmdline": "*e-n-d"}}]
        with exporter(config(*targets)) as running:
            for name, more, length in (
                ("cut", "-and-more", 4095), ("not", "-and-more", 4094), ("not", "-and-more", 4096),
                ("cut", "", 4095), ("cut", "", 4094), ("cut", "", 4093), ("cut", "", 4000),
                ("not", "", 4096), ("cut", "", 33), ("cut", "x" * 100_000, 4095),
            ):  # fmt: skip
                command = f"{folder}/{name} 11 -"
                length = max(length, len(command) + 5)
                last = "-" + "x" * (length - len(command) - len("e-n-d")) + "e-n-d" + more
                before = running.scrape().calls("it", "getppid")
                run(folder / name, "11", last)
                found = running.scrape().calls("it", "getppid") - before
                assert (name, more[:9], length, found) == (
                    name, more[:9], length, 11 if name == "cut" else 0,
                )  # fmt: skip


def test_by_user(build: Build) -> None:
    """The effective one, by name and by number; a new one counts from the next exec on."""
    with programs(build) as folder:
        steps = folder / "steps"
        owned = copy(folder, "owned")
        os.chown(owned, 40_009, 40_009)
        owned.chmod(0o4755)
        targets = [
            {"name": "number", "match": {"user": 40_001}},
            {"name": "name", "match": {"user": "daemon"}},
            {"name": "list", "match": {"user": [40_003, 40_005]}},
            {"name": "setuid", "match": {"user": 40_009}},
            {"name": "never", "match": {"user": ["nobody-has-this-name", 40_011]}},
        ]
        with (
            waiting(steps, "uid=40001", "wait", "101") as first,
            waiting(steps, "uid=40003", "wait", "101") as second,
            waiting(owned, "wait", "101") as third,
            waiting(steps, "uid=40007", "wait", "101") as fourth,
            exporter(config(*targets)) as running,
        ):
            finish(first, second, third, fourth)
            for user in (40_001, 1, 40_003, 40_005, 40_007):
                run(steps, f"uid={user}", "5", "exec", str(steps), "103")
            run(owned, "103")
            scrape = running.scrape()
            assert counted(scrape) == {
                "number": BOTH, "name": AFTER, "list": BOTH + AFTER, "setuid": BOTH,
            }  # fmt: skip
            assert "nobody-has-this-name" in running.log


def test_all_words_must_hold(build: Build) -> None:
    """Several keys: each of them, by any of its entries."""
    with programs(build) as folder:
        for name in ("alpha", "beta", "gamma"):
            copy(folder, name)
        targets = [
            {
                "name": "it",
                "match": {
                    "exe": [f"{folder}/alpha", f"{folder}/beta"],
                    "comm_re": "alpha|gamma",
                    "cmdline": ["* -yes", "* -y"],
                    "user": 40_001,
                },
            }
        ]
        with exporter(config(*targets)) as running:
            steps = folder / "steps"
            for user, name, word in (
                (40_001, "alpha", "-yes"),
                (40_001, "alpha", "-y"),
                (40_003, "alpha", "-yes"),
                (40_001, "beta", "-yes"),
                (40_001, "gamma", "-yes"),
                (40_001, "alpha", "-no"),
            ):
                run(steps, f"uid={user}", "exec", str(folder / name), "103", word)
            assert counted(running.scrape()) == {"it": 2 * 103}

"""The systemd unit: well formed, tight, and enough for the exporter to do its work."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.caller import caller
from tests.harness import COMMAND, ROOT, exporter
from tests.kernel.test_privileges import counts_exactly, threads

UNIT = ROOT / "systemd/proctree-exporter.service"
#: Tenths. Of what is left above 0, reading other processes and the network are most.
MOST_EXPOSED = 24
_NOBODY = "65534"
#: As systemd makes its filters of the settings; see src/shared/seccomp-util.c there.
_UNDER_ITS_RULES = """
import errno, os, seccomp, socket, sys
calls, families, *command = sys.argv[1:]
found = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
found.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.ALLOW)
conditional = {"socket", "mmap", "mprotect", "pkey_mprotect", "clone3"}
for call in set(calls.split()) - conditional:
    if seccomp.resolve_syscall(seccomp.Arch(), call) != -1:
        found.add_rule(seccomp.ALLOW, call)
for family in families.split():
    found.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family)))
for prot in (0, 2, 4):
    found.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, 6, prot))
found.add_rule(seccomp.ALLOW, "mprotect", seccomp.Arg(2, seccomp.MASKED_EQ, 4, 0))
found.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
found.load()
os.execv(command[0], command)
"""


@pytest.fixture(scope="module")
def settings() -> dict[str, list[str]]:
    """Of the unit: every value of each key."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key].append(value)
    return found


def test_verify(settings: dict[str, list[str]], tmp_path: Path) -> None:
    """systemd knows every key and value of it."""
    (program,) = (value.split()[0] for value in settings["ExecStart"])
    unit = tmp_path / UNIT.name
    unit.write_text(
        UNIT.read_text().replace(program, sys.executable)
    )  # it looks whether it is there
    said = subprocess.run(["systemd-analyze", "verify", unit], text=True, capture_output=True)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_security() -> None:
    """What the sandbox leaves open does not become more."""
    said = subprocess.run(
        [
            "systemd-analyze", "security", "--offline=true", "--no-pager",
            f"--threshold={MOST_EXPOSED}", UNIT,
        ],
        text=True, capture_output=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout


def members(name: str) -> Iterator[str]:
    """The calls of a group, and of those in it."""
    if not name.startswith("@"):
        yield name
        return
    said = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], text=True, stdout=subprocess.PIPE, check=True
    )
    for line in said.stdout.splitlines()[1:]:
        if (word := line.strip()) and not word.startswith("#"):
            yield from members(word)


def test_enough(settings: dict[str, list[str]]) -> None:
    """Under its user, capabilities, system calls and address families all is counted."""
    calls: set[str] = set()
    for value in settings["SystemCallFilter"]:
        group = {call for word in value.removeprefix("~").split() for call in members(word)}
        calls = calls - group if value.startswith("~") else calls | group
    (capabilities,) = settings["AmbientCapabilities"]
    assert [capabilities] == settings["CapabilityBoundingSet"]
    names = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in capabilities.split())
    (families,) = settings["RestrictAddressFamilies"]
    command = [
        "setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups",
        f"--inh-caps=-all,{names}", f"--ambient-caps=-all,{names}", f"--bounding-set=-all,{names}",
        "--no-new-privs", "--",
        sys.executable, "-c", _UNDER_ITS_RULES, " ".join(calls), families, *COMMAND,
    ]  # fmt: skip
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]", command=command) as running:
        assert counts_exactly(running, it)
        assert "level=warn" not in running.log
        assert {thread["Seccomp_filters"] for thread in threads(running.pid)} == {"2"}
        assert running.stop() == 0

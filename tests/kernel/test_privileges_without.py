"""Started otherwise than as plain root: without being root, and where something forbids it."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.caller import caller
from tests.harness import COMMAND, ROOT, exporter
from tests.kernel.test_privileges import NUMBERS, START, bits, counts_exactly, threads

NOBODY = 65534
#: What an engine does: a filter of its own, then our program.
_UNDER_A_FILTER = """
import errno, os, seccomp, sys
found = seccomp.SyscallFilter(seccomp.ALLOW)
found.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.ALLOW)
for call in sys.argv[1].split(","):
    name, _, first = call.partition("=")
    only = [seccomp.Arg(0, seccomp.EQ, int(first))] if first else []
    found.add_rule(seccomp.ERRNO(errno.EPERM), name, *only)
found.load()
os.execv(sys.argv[2], sys.argv[2:])
"""
_WITHOUT_A_MODULE = """
import runpy, sys
sys.modules[sys.argv.pop(1)] = None
runpy.run_module("exporter", run_name="__main__", alter_sys=True)
"""


def where_forbidden(*calls: str) -> list[str]:
    return [sys.executable, "-c", _UNDER_A_FILTER, ",".join(calls), *COMMAND]


def in_a_user_namespace() -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--", *COMMAND]


def with_ambient_capabilities() -> list[str]:
    """As systemd starts a service with User= and AmbientCapabilities=."""
    names = ",".join(f"+{name}" for name in START)
    return [
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
        f"--inh-caps=-all,{names}", f"--ambient-caps=-all,{names}", f"--bounding-set=-all,{names}",
        "--", *COMMAND,
    ]  # fmt: skip


@pytest.fixture
def with_file_capabilities() -> Iterator[list[str]]:
    """As an image does for a pod that is not root: Python itself has them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        python = Path(shutil.copy(Path(sys.executable).resolve(), folder / "python3"))
        # include/uapi/linux/capability.h, struct vfs_cap_data: version 2, effective
        held = bits(START)
        data = struct.pack("<5I", 0x02000001, held & 0xFFFFFFFF, 0, held >> 32, 0)
        os.setxattr(python, "security.capability", data)
        packages = f"PYTHONPATH={ROOT}:{sysconfig.get_path('purelib')}"
        yield [
            "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--", "env", packages, str(python), "-m", "exporter",
        ]  # fmt: skip


def works_as_nobody(command: Sequence[str]) -> None:
    """Counts exactly, sees exe and environ of root's processes, drops what it does not need."""
    with caller() as it:
        config = f"""
            - {{name: it, pid: {it.pid}}}
            - {{name: by-exe, match: {{exe: {Path(sys.executable).resolve()}}}}}
        """
        with exporter(config, command=command) as running:
            assert counts_exactly(running, it)
            assert running.scrape().value("proctree_target_up", target="by-exe") == 1
            for thread in threads(running.pid):
                assert thread["Uid"].split() == [str(NOBODY)] * 4
                assert not int(thread["CapPrm"], 16) & ~bits(set(NUMBERS) - {"perfmon"})
                assert thread["Seccomp"] == "2"
            assert running.stop() == 0


def test_as_nobody_with_ambient_capabilities() -> None:
    """A service of systemd need not be root."""
    works_as_nobody(with_ambient_capabilities())


def test_as_nobody_with_file_capabilities(with_file_capabilities: list[str]) -> None:
    """Nor need a pod, where Python itself has them."""
    works_as_nobody(with_file_capabilities)


@pytest.mark.parametrize(
    ("command", "mend"),
    [
        (where_forbidden("bpf"), "give the container a profile that allows bpf"),
        (in_a_user_namespace(), "run it as the machine's own root"),
    ],
)
def test_bpf_is_refused_in_spite_of_the_capability(command: list[str], mend: str) -> None:
    """Exit status 3, and one line that says who refuses and what to do; doctor finds it, too."""
    with exporter("[1]", command=command, ready=False) as running:
        assert running.process.wait(timeout=60) == 3
        (line,) = running.log.splitlines()
        assert "bpf(2) is refused (Operation not permitted): " in line
        assert mend in line
    said = subprocess.run([*command, "doctor", "--json"], stdout=subprocess.PIPE, cwd=ROOT)
    found = {finding["what"]: finding for finding in json.loads(said.stdout)}
    assert said.returncode == 3
    assert (found["CAP_BPF"]["state"], found["bpf(2)"]["state"]) == ("ok", "missing")
    assert mend in found["bpf(2)"]["mend"]
    assert found["privileges after"]["state"] == "limited"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (where_forbidden("seccomp", "prctl=22"), "the kernel refuses it"),
        ([sys.executable, "-c", _WITHOUT_A_MODULE, "seccomp"], "apt-get install python3-seccomp"),
    ],
)
def test_without_a_filter_it_counts_all_the_same(command: list[str], why: str) -> None:
    """One warning says so and why, and what else can be given up is; doctor says it, too."""
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]", command=command) as running:
        assert counts_exactly(running, it)
        (line,) = [line for line in running.log.splitlines() if "level=warn" in line]
        assert "no seccomp filter of our own: " in line
        assert why in line
        for thread in threads(running.pid):
            assert not int(thread["CapEff"], 16) & bits(("perfmon",))
    said = subprocess.run([*command, "doctor", "--json"], stdout=subprocess.PIPE, cwd=ROOT)
    (after,) = [f for f in json.loads(said.stdout) if f["what"] == "privileges after"]
    assert said.returncode == 0
    assert after["state"] == "limited"
    assert why in after["mend"]

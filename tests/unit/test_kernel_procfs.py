"""Why a listed PID is no process to follow: each reason, on a /proc made of ordinary files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.kernel.procfs import parse_status, why_not

GOOD = "Name:\tbash\nState:\tS (sleeping)\nTgid:\t{pid}\nNSpid:\t{pid}\nVmSize:\t  100 kB\n"
ENDED = "Name:\tx\nState:\t{state}\nTgid:\t41\n"


def proc(folder: Path, **texts: str) -> Path:
    """/proc with p41="…" as the status of 41."""
    for name, text in texts.items():
        (folder / name[1:]).mkdir()
        (folder / name[1:] / "status").write_text(text)
    return folder


def test_a_process_is_one(tmp_path: Path) -> None:
    """No reason against it."""
    assert why_not(proc(tmp_path, p41=GOOD.format(pid=41)), 41) is None


def test_nobody(tmp_path: Path) -> None:
    """No process has the number."""
    assert why_not(proc(tmp_path, p41=GOOD.format(pid=41)), 42) == "there is no process 42"


def test_a_number_of_another_namespace(tmp_path: Path) -> None:
    """Who lists the PID that is seen inside a container is told the one outside."""
    inside = GOOD.format(pid=900).replace("NSpid:\t900", "NSpid:\t900\t17\t1")
    folder = proc(tmp_path, p900=inside, p41=GOOD.format(pid=41))
    reason = why_not(folder, 1)
    assert reason
    assert "namespace" in reason
    assert "900" in reason
    assert why_not(folder, 17) == "there is no process 17"  # neither here nor innermost


def test_a_thread(tmp_path: Path) -> None:
    """It names the process to list instead."""
    reason = why_not(proc(tmp_path, p42=GOOD.format(pid=41)), 42)
    assert reason == "42 is a thread of process 41: list that"


@pytest.mark.parametrize("state", ["Z (zombie)", "X (dead)"])
def test_a_zombie(state: str, tmp_path: Path) -> None:
    """It has ended, and says so, though it has no memory as kernel threads have none."""
    folder = proc(tmp_path, p41=ENDED.format(state=state))
    (folder / "41/task/41").mkdir(parents=True)
    assert "zombie" in str(why_not(folder, 41))


def test_a_leader_that_exited_first(tmp_path: Path) -> None:
    """The process lives as long as any of its threads does."""
    folder = proc(tmp_path, p41=ENDED.format(state="Z (zombie)"))
    (folder / "41/task/41").mkdir(parents=True)
    (folder / "41/task/43").mkdir()
    assert why_not(folder, 41) is None


def test_a_zombie_that_is_reaped_meanwhile(tmp_path: Path) -> None:
    """Between one look and the next it is gone: a reason, not a traceback."""
    assert why_not(proc(tmp_path, p41=ENDED.format(state="Z (zombie)")), 41)


@pytest.mark.parametrize("extra", ["", "Kthread:\t1\n"])
def test_a_kernel_thread(extra: str, tmp_path: Path) -> None:
    """Known by the kernel's own word where there is one (6.10), else by having no memory."""
    text = f"Name:\tkthreadd\nState:\tS (sleeping)\nTgid:\t2\n{extra}"
    reason = why_not(proc(tmp_path, p2=text), 2)
    assert reason
    assert "kernel thread (kthreadd)" in reason


def test_a_hostile_name(tmp_path: Path) -> None:
    """A name cannot make a line of its own (the kernel escapes it), nor break us by its bytes."""
    folder = proc(tmp_path, p41="")
    text = GOOD.format(pid=41).replace("bash", "Tgid:\\n\\tx: y")
    (folder / "41/status").write_bytes(text.encode() + b"Odd:\t\xff\xfe\n")
    assert why_not(folder, 41) is None


def test_parse_status() -> None:
    """Keys and values, stripped; a value may hold colons."""
    assert parse_status("Name:\ta:b\nUid:\t0\t0\n\nNo colon\n") == {
        "Name": "a:b", "Uid": "0\t0", "": "", "No colon": "",
    }  # fmt: skip


def test_ourselves() -> None:
    """On the real /proc: we are a process, and our parent is, too."""
    assert why_not(Path("/proc"), os.getpid()) is None
    assert why_not(Path("/proc"), 2**22 + 1) == f"there is no process {2**22 + 1}"

"""What the kernel says of our privileges, and what we make of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.errors import KernelError
from exporter.kernel import bpf, privileges, seccomp_filter
from exporter.kernel.privileges import Privileges
from exporter.kernel.syscalls import Abi, load_names

EVERY_UID = "         0          0 4294967295\n"


def proc(folder: Path, status: str, uid_map: str = EVERY_UID) -> Path:
    (folder / "self").mkdir()
    (folder / "self/status").write_text(status)
    (folder / "self/uid_map").write_text(uid_map)
    return folder


@pytest.mark.parametrize(
    ("status", "held", "text"),
    [
        (
            "CapEff:\t0000000000080004\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
            Privileges(1 << 19 | 1 << 2, True, 3),
            "CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, no_new_privs, seccomp filters: 3",
        ),
        (
            "CapEff:\t000001fffeffffff\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n",
            Privileges(0x1FFFEFFFFFF, False, 0),
            "CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF,"
            " 35 other capabilities, seccomp filters: 0",
        ),
        (
            "CapEff:\t0000000000000000\nSeccomp:\t2\n",
            Privileges(0, False, 1),
            "no capability, seccomp filters: 1",
        ),
        (
            "CapEff:\t0000000000000001\n",
            Privileges(1, False, 0),
            "1 other capabilities, seccomp filters: 0",
        ),
    ],
)
def test_from_a_status(status: str, held: Privileges, text: str, tmp_path: Path) -> None:
    """The effective set; kernels without seccomp say nothing of it, old ones not how many."""
    assert privileges.held(proc(tmp_path, status)) == held
    assert str(held) == text


def test_what_stands_for_what() -> None:
    """CAP_SYS_ADMIN stands for the two that were split off it, and for no others."""
    assert privileges.has("CAP_BPF", 1 << 21)
    assert privileges.has("CAP_PERFMON", 1 << 21)
    assert not privileges.has("CAP_SYS_PTRACE", 1 << 21)
    assert not privileges.has("CAP_SYS_ADMIN", 1 << 38 | 1 << 39)


@pytest.mark.parametrize(
    ("status", "uid_map", "mend"),
    [
        ("CapEff:\t0\nSeccomp:\t2\n", "0 1000 1\n", "the machine's own root"),
        ("CapEff:\t0\nSeccomp:\t2\n", EVERY_UID, "a profile that allows bpf"),
        ("CapEff:\t0\nSeccomp:\t0\n", EVERY_UID, "SELinux, AppArmor"),
    ],
)
def test_who_refuses_bpf(
    status: str, uid_map: str, mend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user namespace, a container's filter, else a security module; each with what to do."""

    def refuse() -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(bpf, "create_array", refuse)
    with pytest.raises(KernelError, match=mend) as caught:
        privileges.require_bpf(proc(tmp_path, status, uid_map), tmp_path)
    assert str(caught.value).startswith("bpf(2) is refused (Operation not permitted): ")


@pytest.mark.parametrize(
    ("lockdown", "fine"),
    [
        ("none integrity [confidentiality]\n", False),
        ("none [integrity] confidentiality\n", True),
        ("[none] integrity confidentiality\n", True),
        (None, True),
    ],
)
def test_lockdown(
    lockdown: str | None, fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for confidentiality does it hide the kernel's memory from BPF programs."""
    monkeypatch.setattr(bpf, "create_array", lambda: os.open(tmp_path, os.O_PATH))
    if lockdown:
        (tmp_path / "kernel/security").mkdir(parents=True)
        (tmp_path / "kernel/security/lockdown").write_text(lockdown)
    if fine:
        privileges.require_bpf(tmp_path, tmp_path)
    else:
        with pytest.raises(KernelError, match="lockdown=integrity"):
            privileges.require_bpf(tmp_path, tmp_path)


def test_calls_of_both_machines() -> None:
    """What has another name, or is not there, on arm64 has its successor on the list."""
    conditional = {name for name, _ in seccomp_filter.conditions()}
    names = {*seccomp_filter.CALLS.split(), *conditional}
    assert names <= set(load_names(Abi.X86_64).values())
    successors = {
        "access": "faccessat", "dup2": "dup3", "epoll_wait": "epoll_pwait", "lstat": "newfstatat",
        "open": "openat", "poll": "ppoll", "readlink": "readlinkat", "select": "pselect6",
        "stat": "newfstatat", "time": "clock_gettime",
    }  # fmt: skip
    assert names - set(load_names(Abi.AARCH64).values()) == set(successors)
    assert set(successors.values()) <= names

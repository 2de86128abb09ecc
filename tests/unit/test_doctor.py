"""`doctor`: one line for each thing, what it is, how it is, what to do about it."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from exporter import doctor
from exporter.doctor import Finding
from exporter.kernel import bpf

FINDINGS = [
    Finding("kernel", "ok", "6.1"),
    Finding("a longer name", "limited", "without it less", "grant it"),
    Finding("btf", "missing", "/sys", "boot another kernel"),
]


def test_as_text() -> None:
    """One line each, in columns; what to do follows what is wrong."""
    assert doctor.as_text(FINDINGS).splitlines() == [
        "kernel         ok       6.1",
        "a longer name  limited  without it less; grant it",
        "btf            missing  /sys; boot another kernel",
    ]


def test_as_json() -> None:
    """The same, for machines."""
    assert json.loads(doctor.as_json(FINDINGS))[1] == {
        "what": "a longer name", "state": "limited", "detail": "without it less",
        "mend": "grant it",
    }  # fmt: skip


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The bare least of a machine: no BTF, no capabilities, no cgroups, no tracefs, 64 CPUs."""
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("CapEff:\t0000000000000000\n")
    (tmp_path / "proc/self/ns/pid").touch()
    (tmp_path / "proc/self/mountinfo").touch()
    (tmp_path / "proc/self/cgroup").touch()
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/possible").write_text("0-63\n")
    return tmp_path


def examined(machine: Path) -> dict[str, Finding]:
    found = doctor.examine(machine / "proc", machine / "sys", machine / "sys/fs/cgroup")
    by_name = {finding.what: finding for finding in found}
    assert len(by_name) == len(found)
    return by_name


def test_a_machine_that_has_nothing(machine: Path) -> None:
    """Everything is looked at, whatever is missing; what is missing says how to mend it."""
    found = examined(machine)
    states = {what: finding.state for what, finding in found.items()}
    for what in ("btf", "CAP_BPF", "CAP_PERFMON", "pid namespace"):
        assert states[what] == "missing"
    for what in ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN", "cgroups"):
        assert states[what] == "limited"
    assert states["tracefs"] == "ok"
    for finding in found.values():
        assert finding.state == "ok" or finding.mend
        assert "\n" not in finding.detail + finding.mend
    assert "64 CPUs" in found["kernel memory"].detail


@pytest.mark.parametrize(
    ("release", "state"),
    [
        ("5.10.0-28-amd64", "missing"), ("5.14.0", "missing"), ("5.15.0-100-generic", "ok"),
        ("6.1.0", "ok"), ("6.18.44-fc-v669", "ok"), ("7.0", "ok"), ("6.12+deb13-amd64", "ok"),
        ("6.9-rc1", "ok"), ("6.6.87.2-microsoft-standard-WSL2+", "ok"), ("6.19_next", "ok"),
    ],
)  # fmt: skip
def test_the_floor(
    release: str, state: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux 5.15, however distributions spell their releases."""
    monkeypatch.setattr(platform, "release", lambda: release)
    assert examined(machine)["kernel"].state == state


def test_some_capabilities(machine: Path) -> None:
    """Exactly those that the effective set has; CAP_SYS_ADMIN stands for the two."""
    (machine / "proc/self/status").write_text("CapEff:\t0000008000080004\n")
    found = examined(machine)
    assert [found[f"CAP_{n}"].state for n in ("BPF", "PERFMON", "SYS_PTRACE")] == [
        "ok", "missing", "ok",
    ]  # fmt: skip
    (machine / "proc/self/status").write_text("CapEff:\t0000000000200000\n")
    found = examined(machine)
    assert [found[f"CAP_{n}"].state for n in ("BPF", "PERFMON", "SYS_PTRACE")] == [
        "ok", "ok", "limited",
    ]  # fmt: skip


def test_where_bpf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and does not try what comes later."""

    def refuse() -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(bpf, "create_array", refuse)
    found = {f.what: f for f in doctor.examine(Path("/proc"), Path("/sys"), Path("/sys/fs/cgroup"))}
    assert found["bpf(2)"].state == "missing"
    assert found["bpf(2)"].detail == "bpf(2) is refused (Operation not permitted)"
    assert found["bpf(2)"].mend
    assert found["privileges after"].state == "limited"


def test_without_bcc(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names Debian's package, and why it may not be seen."""
    monkeypatch.setitem(sys.modules, "bcc", None)
    found = examined(machine)["bcc"]
    assert found.state == "missing"
    assert "python3-bpfcc" in found.mend
    assert "--system-site-packages" in found.mend


def test_an_unsupported_processor(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a finding, not a traceback."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in examined(machine)["btf"].mend


def test_this_machine() -> None:
    """All of it, in one go, on the real one."""
    found = doctor.examine(Path("/proc"), Path("/sys"), Path("/sys/fs/cgroup"))
    assert {finding.state for finding in found} <= {"ok", "limited", "missing"}
    assert (
        len(doctor.as_text(found).splitlines())
        == len(found)
        == len(json.loads(doctor.as_json(found)))
    )

"""The command line: what there is, what is said, and with which exit status it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter import __version__, cli, doctor
from exporter.doctor import Finding
from exporter.errors import (
    ConfigError,
    KernelError,
    Problem,
    ProctreeError,
    ServiceError,
    UsageError,
)
from tests.harness import COMMAND, ROOT


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command."""
    try:
        status = cli.run(arguments)
    except SystemExit as end:  # as argparse ends
        status = end.code if isinstance(end.code, int) else 1
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("serve", [
            "--config.file", "--web.listen-address", "--web.telemetry-path",
            "--web.enable-lifecycle", "--web.enable-api", "--log.level", "--log.format",
            "--path.procfs", "--path.sysfs", "--path.cgroupfs", "--path.rootfs",
        ]),
        ("check", ["--config.file", "--estimate-series", "--explain", "--path.cgroupfs"]),
        ("doctor", ["--json", "--path.procfs", "--path.sysfs", "--path.cgroupfs"]),
    ],
)  # fmt: skip
def test_help_lists_every_flag(
    command: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Design, section 2: flags and their defaults."""
    status, out, err = said(capsys, command, "--help")
    assert (status, err) == (0, "")
    assert all(flag in out for flag in flags)
    if command == "serve":
        assert ":9847" in out
        assert "/metrics" in out
        assert "logfmt,json" in out
        assert "debug,info,warn,error" in out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command is in the help; the version is the package's."""
    status, out, _ = said(capsys, "--help")
    assert status == 0
    assert all(command in out for command in ("serve", "check", "doctor"))
    assert said(capsys, "--version") == (0, f"proctree-exporter {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["nonsense"], ["serve"], ["check"], ["check", "--config"],
        ["check", "--config.fil", "x"], ["doctor", "--yaml"], ["doctor", "more"],
        ["serve", "--config.file", "x", "--log.level", "loud"],
        ["serve", "--config.file", "x", "--log.format", "xml"],
    ],
)  # fmt: skip
def test_bad_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """And no flag may be shortened."""
    status, out, err = said(capsys, *arguments)
    assert (status, out) == (2, "")
    assert "usage: proctree-exporter" in err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x"), 2),
        (ConfigError([Problem("f", 1, 2, "x")]), 2),
        (KernelError("x"), 3),
        (ServiceError("x"), 1),
        (ProctreeError("x"), 1),
    ],
)
def test_every_error_has_its_status(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Given out here and nowhere else; the message is one line, with no traceback."""

    def fail(_: object) -> int:
        raise error

    monkeypatch.setitem(cli._COMMANDS, "check", fail)
    found, out, err = said(capsys, "check", "--config.file", "f")
    assert (found, out) == (status, "")
    prefix = "" if isinstance(error, ConfigError) else "proctree-exporter: "
    assert err == f"{prefix}{error}\n"


def check(
    capsys: pytest.CaptureFixture[str], path: Path, text: str, *flags: str
) -> tuple[int, str, str]:
    path.write_text(text)
    return said(capsys, "check", "--config.file", str(path), *flags)


def test_check_says_what_a_good_config_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many targets, and the kernel memory of the maps with what it comes from."""
    path = tmp_path / "c.yaml"
    limits = "limits: {trees: 41, processes: 4001, series: 9001}"
    text = f"targets: [1, 2, {{name: x, cgroup: /y}}]\n{limits}\n"
    status, out, err = check(capsys, path, text)
    assert (status, err) == (0, "")
    assert f"{path}: good: 3 targets" in out.splitlines()
    (memory,) = [line for line in out.splitlines() if line.startswith("kernel memory")]
    assert " MiB " in memory
    assert "limits.trees 41" in memory
    assert "limits.processes 4001" in memory
    assert "CPUs" in memory
    assert any(line.startswith("series: at most 9001") for line in out.splitlines())


def test_checks_memory_follows_the_limits_and_the_cpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the machine that --path.sysfs shows: 100 trees and 64 CPUs are under 64 MiB."""
    cpus = tmp_path / "sys/devices/system/cpu"
    cpus.mkdir(parents=True)
    (cpus / "possible").write_text("0-63\n")

    def mebibytes(limits: str) -> float:
        text = f"targets: [1]\nlimits: {limits}\n"
        status, out, _ = check(
            capsys, tmp_path / "c.yaml", text, f"--path.sysfs={tmp_path / 'sys'}"
        )
        assert status == 0
        (line,) = [line for line in out.splitlines() if line.startswith("kernel memory")]
        assert "64 CPUs" in line
        return float(line.split(": ")[1].split()[0])

    assert mebibytes("{trees: 100}") < 64
    assert mebibytes("{trees: 100, processes: 200000}") > mebibytes("{trees: 100}")


def test_explain_says_whose_a_process_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 0 and one line that says it, where the process is there; 1 where there is none."""
    path = tmp_path / "c.yaml"
    pid = os.getpid()
    status, out, err = check(capsys, path, f"- {{name: me, pid: {pid}}}", "--explain", str(pid))
    assert (status, err) == (0, "")
    comm = Path("/proc/self/comm").read_text().strip()
    assert out.splitlines()[0] == (
        f"PID {pid} ({comm}) belongs to target me: it is the listed PID {pid}"
    )
    status, out, err = check(capsys, path, "[1]", "--explain", "4194304")
    assert (status, out) == (1, "")
    assert err == "proctree-exporter: there is no process 4194304\n"
    status, out, err = check(capsys, path, "- {nme: x}", "--explain", str(pid))
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:1:")


def test_explain_needs_no_privileges_and_writes_nothing(tmp_path: Path) -> None:
    """Whoever may read /proc is answered; what he may not read of others is not known."""
    path = tmp_path / "c.yaml"
    path.write_text("- {name: all, all: true}\n")
    command = [*COMMAND, "check", f"--config.file={path}", "--explain=1"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "belongs to target all" in done.stdout


@pytest.mark.parametrize("pid", ["0", "-1", "x", "1.5", "12345678", "\u0663", ""])
def test_explain_of_what_is_no_pid_is_bad_usage(
    pid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was expected."""
    status, out, err = check(capsys, tmp_path / "c.yaml", "[1]", f"--explain={pid}")
    assert (status, out) == (2, "")
    assert f"expected a PID, found {pid!r}" in err


def test_check_names_every_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2; one line each, with file, line and column, in the order of the file."""
    path = tmp_path / "c.yaml"
    text = "targets:\n  - {nme: a, pid: 1}\n  - {name: b, pid: x}\ncolour: red\n"
    status, out, err = check(capsys, path, text)
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert [line.split(":")[1] for line in lines] == ["2", "3", "4"]
    assert all(line.startswith(f"{path}:") for line in lines)
    assert "name" in lines[0]


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    """`check … | head -0`: whoever reads went away."""
    path = tmp_path / "c.yaml"
    path.write_text("[1]")
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "check", f"--config.file={path}"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 1


def test_check_does_not_import_what_only_serving_needs() -> None:
    """It touches neither the kernel nor bcc: it runs anywhere, also as nobody."""
    program = (
        "import sys; from exporter import cli; cli.run(['check', '--config.file', sys.argv[1]]);"
        "print([m for m in ('bcc', 'exporter.service') if m in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(ROOT / "config/default.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


FINDINGS = [
    Finding("kernel", "ok", "6.1"),
    Finding("CAP_SYS_ADMIN", "limited", "without it self_cost is refused", "grant it"),
]


@pytest.mark.parametrize(("worst", "status"), [("ok", 0), ("limited", 0), ("missing", 3)])
def test_doctors_status(
    worst: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """3 only where something without which nothing works is missing."""
    found = [*FINDINGS, Finding("x", worst, "y", "z")]
    monkeypatch.setattr(doctor, "examine", lambda *paths: found)
    assert said(capsys, "doctor")[0] == status
    assert said(capsys, "doctor", "--json")[0] == status

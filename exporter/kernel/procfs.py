"""What /proc tells about one process: why a listed PID cannot be followed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from exporter.kernel.records import CMDLINE_BYTES

_EUID = re.compile(rb"^Uid:\t\d+\t(\d+)", re.MULTILINE)


def parse_status(text: str) -> dict[str, str]:
    """Of /proc/PID/status."""
    return {
        key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())
    }


def _status(procfs: Path, pid: int | str) -> dict[str, str] | None:
    try:
        return parse_status((procfs / str(pid) / "status").read_text(errors="replace"))
    except OSError:
        return None


def _threads(procfs: Path, pid: int) -> int:
    try:
        return len(list((procfs / str(pid) / "task").iterdir()))
    except OSError:  # reaped meanwhile
        return 0


def numbers_inside(procfs: Path) -> dict[str, list[str]]:
    """Of processes in PID namespaces of their own: the number there -> their numbers here."""
    found: dict[str, list[str]] = {}
    for entry in procfs.iterdir():
        status = _status(procfs, entry.name) if entry.name.isdecimal() else None
        _, *inner = status.get("NSpid", "").split() or [""] if status else [""]
        if inner:
            found.setdefault(inner[-1], []).append(entry.name)
    return found


def why_not(
    procfs: Path, pid: int, inside: Callable[[], Mapping[str, list[str]]] | None = None
) -> str | None:
    """One clause that says why `pid` is not a process to follow; None if it is one.

    `inside` gives what numbers_inside gives, which reads all of /proc: once for many that are dead.
    """
    status = _status(procfs, pid)
    if status is None:
        same = (inside or partial(numbers_inside, procfs))().get(str(pid))
        if same:
            return (
                f"there is no process {pid} in this PID namespace; inside a namespace of their own"
                f" these have that number: {', '.join(same[:5])}; list one of them"
            )
        return f"there is no process {pid}"
    if status.get("Tgid") != str(pid):
        return f"{pid} is a thread of process {status.get('Tgid')}: list that"
    if status.get("State", "").startswith(("Z", "X")):
        # That is the first thread: the process lives as long as any other does.
        if _threads(procfs, pid) > 1:
            return None
        return f"process {pid} has ended and waits for its parent to notice (zombie)"
    if status.get("Kthread") == "1" or "VmSize" not in status:
        return f"{pid} is a kernel thread ({status.get('Name')}): it makes no system calls"
    return None


def in_first_namespace(procfs: Path) -> bool:
    """Whether we see the PIDs of the whole machine. 0xEFFFFFFC: PROC_PID_INIT_INO."""
    return (procfs / "self/ns/pid").stat().st_ino == 0xEFFFFFFC


@dataclass(frozen=True, slots=True)
class Texts:
    """By what people name a process; bytes as the kernel has them, `cmdline` with blanks between
    the arguments and cut like the kernel's own copy."""

    comm: bytes
    exe: bytes
    cmdline: bytes
    uid: int


def texts(procfs: Path, pid: int) -> Texts | None:
    """None where it has ended, or is a kernel thread. Asked of every process there is while trees
    change, so without pathlib, which costs more than all the reading."""
    folder = f"{procfs}/{pid}"
    try:
        program = _program(folder)
        if program is None:
            return None
        exe, cmdline = program
        comm = _read(f"{folder}/comm")
        uid = _EUID.search(_read(f"{folder}/status"))
    except OSError:
        return None
    if uid is None:
        return None
    return Texts(
        comm.removesuffix(b"\n"),
        exe.removesuffix(b" (deleted)"),
        cmdline.rstrip(b"\0").replace(b"\0", b" "),
        int(uid[1]),
    )


def _read(path: str, size: int = 16384) -> bytes:
    """Its beginning: /proc gives as much of a text as one page, or as is asked for."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def _program(folder: str) -> tuple[bytes, bytes] | None:
    """exe and cmdline. Where the first thread has ended, any other still has them."""
    with suppress(OSError):
        return _program_of(folder)
    with os.scandir(f"{folder}/task") as threads:
        for thread in threads:
            with suppress(OSError):
                return _program_of(thread.path)
    return None


def _program_of(folder: str) -> tuple[bytes, bytes]:
    exe = os.readlink(os.fsencode(f"{folder}/exe"))  # noqa: PTH115
    return exe, _read(f"{folder}/cmdline", CMDLINE_BYTES)[: CMDLINE_BYTES - 1]


def comm(procfs: Path, pid: int) -> str:
    """A process's name, as text; "" where it has ended."""
    try:
        return (procfs / str(pid) / "comm").read_text(errors="replace").removesuffix("\n")
    except OSError:
        return ""


def process_of(procfs: Path, number: int) -> int | None:
    """The process whose thread has this number; None where there is none."""
    status = _status(procfs, number)
    return int(status["Tgid"]) if status and "Tgid" in status else None

"""What we may do: what is there, what is needed to begin, and who forbids it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from exporter.errors import KernelError
from exporter.kernel import bpf
from exporter.kernel.procfs import parse_status

#: Those that matter here. include/uapi/linux/capability.h
NUMBERS = {
    "CAP_DAC_READ_SEARCH": 2,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_PERFMON": 38,
    "CAP_BPF": 39,
}
#: Without these nothing can be counted.
NEEDED_TO_START = ("CAP_BPF", "CAP_PERFMON")
#: To look into other processes, as long as we run.
KEPT = ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH")
#: What is lost without each.
WITHOUT = {
    "CAP_BPF": "nothing can be loaded",
    "CAP_PERFMON": "nothing can be attached",
    "CAP_SYS_PTRACE": "others' processes match no words before their next exec: no exe is told us",
    "CAP_DAC_READ_SEARCH": "files that only their owners may read are as if not there (pidfiles,"
    " container engines')",
    "CAP_SYS_ADMIN": "self_cost: true is refused",
}
_EVERY_UID = ["0", "0", "4294967295"]


class Privileges(NamedTuple):
    """Of a process: its effective capabilities, as bits; whether no exec can give it more; how
    many seccomp filters it is under."""

    capabilities: int
    no_new_privs: bool
    filters: int

    def __str__(self) -> str:
        words = [name for name in NUMBERS if self.capabilities & bits([name])]
        if others := self.capabilities.bit_count() - len(words):
            words.append(f"{others} other capabilities")
        words = words or ["no capability"]
        words += ["no_new_privs"] * self.no_new_privs
        return ", ".join([*words, f"seccomp filters: {self.filters}"])


def held(procfs: Path = Path("/proc")) -> Privileges:
    """Ours, now."""
    status = parse_status((procfs / "self/status").read_text())
    filtered = status.get("Seccomp", "0") != "0"  # their number is told since Linux 5.9
    return Privileges(
        int(status["CapEff"], 16),
        status.get("NoNewPrivs") == "1",
        int(status.get("Seccomp_filters", filtered)),
    )


def bits(names: Iterable[str]) -> int:
    """A set of capabilities."""
    return sum(1 << NUMBERS[name] for name in names)


def has(name: str, capabilities: int) -> bool:
    """CAP_SYS_ADMIN stands for the two that were split off it in Linux 5.8."""
    also = ["CAP_SYS_ADMIN"] if name in NEEDED_TO_START else []
    return bool(capabilities & bits([name, *also]))


def lacks() -> list[str]:
    """What we do without, a line for each."""
    capabilities = held().capabilities
    return [f"{name} missing: {WITHOUT[name]}" for name in KEPT if not has(name, capabilities)]


def require(procfs: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> None:
    """Raises KernelError that says what forbids us to begin, and what to do about it."""
    capabilities = held(procfs).capabilities
    missing = [name for name in NEEDED_TO_START if not has(name, capabilities)]
    if missing:
        raise KernelError(
            f"{' and '.join(missing)} missing: run as root, or grant CAP_BPF, CAP_PERFMON,"
            " CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
        )
    require_bpf(procfs, sysfs)


def require_bpf(procfs: Path, sysfs: Path) -> None:
    """Raises KernelError where the capability is there and does not help."""
    try:
        os.close(bpf.create_array())
    except OSError as error:
        raise KernelError(f"bpf(2) is refused ({error.strerror}): {_refuser(procfs)}") from error
    if "[confidentiality]" in _read(sysfs / "kernel/security/lockdown"):
        raise KernelError(
            "the kernel is locked down for confidentiality, so BPF programs may read nothing of it:"
            " boot it with lockdown=integrity, or without lockdown"
        )


def _refuser(procfs: Path) -> str:
    """Who refuses bpf(2) to somebody who has the capability."""
    if _read(procfs / "self/uid_map").split() != _EVERY_UID:
        return (
            "CAP_BPF is worth nothing in a user namespace, as of a rootless container: run it as"
            " the machine's own root"
        )
    if held(procfs).filters:
        return (
            "a seccomp filter forbids it in spite of CAP_BPF: give the container a profile that"
            " allows bpf with CAP_BPF, as Docker's of 23.0 and containerd's of 1.7 do"
        )
    return (
        "a security module (SELinux, AppArmor) forbids it in spite of CAP_BPF: allow it in its"
        " policy"
    )


def _read(path: Path) -> str:
    """ "" where there is no such file."""
    try:
        return path.read_text()
    except OSError:
        return ""

"""The machine that the figures belong to."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

_VULNERABILITIES = Path("/sys/devices/system/cpu/vulnerabilities")
#: Mitigations that tax what is measured here: system calls, and returns and calls in the kernel.
_THAT_MATTER = ("spec_rstack_overflow", "retbleed", "spectre_v2", "meltdown", "mds")


def parse_cpu_model(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return "not installed"
    return (done.stdout or done.stderr).strip().splitlines()[0]


def _debian_version(package: str) -> str:
    return _first_line(["dpkg-query", "-W", "-f", "${Version}", package])


def describe() -> str:
    """As a Markdown list, with the load at this moment: neighbours slow what is measured."""
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    lines = [
        f"- CPU: {parse_cpu_model(Path('/proc/cpuinfo').read_text())}, {os.cpu_count()} cores,"
        f" {memory_mib} MiB of memory",
        f"- kernel: {platform.release()} {platform.version()}, Python {platform.python_version()}",
        f"- load average before: {os.getloadavg()[0]:.1f}",
        "- tools: " + ", ".join(
            f"{package} {_debian_version(package)}"
            for package in ("python3-bpfcc", "libbpf-tools", "bpftrace", "strace")
        ),
    ]  # fmt: skip
    for name in _THAT_MATTER:
        path = _VULNERABILITIES / name
        if path.exists() and (state := path.read_text().strip()) != "Not affected":
            lines.append(f"- {name}: {state}")
    srso = _VULNERABILITIES / "spec_rstack_overflow"
    if srso.exists() and "Safe RET" in srso.read_text():
        lines.append(
            "- Safe RET sends each return in the kernel through a thunk, about 10 ns for each BPF"
            " helper call: ratios are higher here than on a CPU without it"
        )
    return "\n".join(lines) + "\n"

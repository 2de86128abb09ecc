"""`doctor`: what this machine lets us do, and what to do about the rest."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from exporter.config.load import parse
from exporter.errors import KernelError
from exporter.kernel import bcc_source, confinement, fields, privileges, procfs, sizes
from exporter.kernel.cgroupfs import Cgroups

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `ok`; `limited`, works with less; `missing`, does not work at all."""

    what: str
    state: str
    detail: str
    mend: str = ""


def _kernel() -> Iterator[Finding]:
    release = platform.release()
    found = re.match(r"(\d+)\.(\d+)", release)
    numbers = tuple(map(int, found.groups())) if found else fields.FLOOR
    floor = ".".join(map(str, fields.FLOOR))
    if numbers < fields.FLOOR:
        yield Finding("kernel", "missing", release, f"Linux {floor} or newer is needed")
    else:
        yield Finding("kernel", "ok", f"{release} {platform.machine()}")


def _btf(sysfs: Path) -> Iterator[Finding]:
    path = sysfs / "kernel/btf/vmlinux"
    try:
        found = fields.read(path, platform.machine())
    except KernelError as error:
        yield Finding("btf", "missing", str(path), str(error))
    else:
        yield Finding("btf", "ok", f"{path}: all {len(found.offsets)} fields, all tracepoints")
        if found.storage_lookup_may_fail:
            lost = "with preempt=full a look-up can fail: that call is counted without its duration"
            yield Finding("task storage", "limited", lost, "Linux 6.2 or newer does not")
        else:
            yield Finding("task storage", "ok", "look-ups do not fail")


def _bcc() -> Iterator[Finding]:
    version = bcc_source.bcc_version()
    if version is None:
        yield Finding("bcc", "missing", "not installed", bcc_source.missing_bcc())
    else:
        yield Finding("bcc", "ok", version)


def _capabilities(proc: Path) -> Iterator[Finding]:
    capabilities = privileges.held(proc).capabilities
    for name, lost in privileges.WITHOUT.items():
        if privileges.has(name, capabilities):
            yield Finding(name, "ok", "granted")
        else:
            state = "missing" if name in privileges.NEEDED_TO_START else "limited"
            yield Finding(name, state, f"without it {lost}", "run as root, or grant it")


def _bpf(proc: Path, sysfs: Path) -> Iterator[Finding]:
    try:
        privileges.require_bpf(proc, sysfs)
    except KernelError as error:
        detail, _, mend = str(error).partition(": ")
        yield Finding("bpf(2)", "missing", detail, mend)
    else:
        yield Finding("bpf(2)", "ok", "a map could be made")


def _privileges(proc: Path) -> Iterator[Finding]:
    """Before and after `serve` has attached its programs. What will be is tried, not claimed."""
    yield Finding("privileges before", "ok", str(privileges.held(proc)))
    what = "privileges after"
    try:
        left, lacks = confinement.rehearse()
    except KernelError as error:
        yield Finding(what, "limited", str(error), "see bpf(2)")
        return
    yield Finding(what, "limited" if lacks else "ok", str(left), "; ".join(lacks))


def _tracefs(sysfs: Path) -> Iterator[Finding]:
    mounted = (sysfs / "kernel/tracing/available_events").exists()
    yield Finding("tracefs", "ok", "mounted" if mounted else "not mounted, and not needed")


def _cgroups(cgroupfs: Path, proc: Path) -> Iterator[Finding]:
    found = Cgroups(cgroupfs, proc)
    if not found.hierarchies:
        mend = f"mount one at {cgroupfs}, or say where with --path.cgroupfs"
        yield Finding("cgroups", "limited", "none: cgroup targets stay down", mend)
        return
    names = ", ".join(h.name for h in found.hierarchies)
    yield Finding("cgroups", "ok", f"{found.version()}: {names}")


def _pids(proc: Path) -> Iterator[Finding]:
    if procfs.in_first_namespace(proc):
        yield Finding("pid namespace", "ok", "the machine's own")
    else:
        mend = "run it in the host's (hostPID: true, --pid=host)"
        yield Finding("pid namespace", "missing", "not the machine's: PIDs differ", mend)


def _memory(sysfs: Path) -> Iterator[Finding]:
    config = parse("[1]", "defaults")
    size = sizes.plan(
        config.limits.trees, config.limits.processes, config.histograms.scale,
        sizes.possible_cpus(sysfs),
    )  # fmt: skip
    yield Finding(
        "kernel memory", "ok",
        f"{size.total_bytes() / _MIB:.1f} MiB for the maps with the default limits"
        f" ({size.cpus} CPUs, {size.shards} shards)",
    )  # fmt: skip


def examine(proc: Path, sysfs: Path, cgroupfs: Path) -> list[Finding]:
    """All findings, most basic first."""
    return [
        *_kernel(), *_btf(sysfs), *_bcc(), *_capabilities(proc), *_bpf(proc, sysfs),
        *_privileges(proc), *_pids(proc), *_cgroups(cgroupfs, proc), *_tracefs(sysfs),
        *_memory(sysfs),
    ]  # fmt: skip


def as_text(findings: list[Finding]) -> str:
    """One line each: what, state, what to do."""
    width = max(len(finding.what) for finding in findings)
    return "\n".join(
        f"{f.what:<{width}}  {f.state:<8} {f.detail}" + (f"; {f.mend}" if f.mend else "")
        for f in findings
    )


def as_json(findings: list[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], indent=2)

"""`check`: is this config right, what will it cost, and whom does it follow? Loads nothing into the
kernel."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

from exporter.config.load import load
from exporter.config.model import Config, Otlp
from exporter.costs import costs_of, estimate, most_trees, reserved
from exporter.errors import ServiceError
from exporter.kernel import procfs, sizes
from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.procfs_source import ProcfsSource
from exporter.metadata.runtimes import Runtimes
from exporter.model import typical
from exporter.model.explain import Explainer
from exporter.model.labeller import Labeller
from exporter.model.metadata import ContainerRef, Facts
from exporter.model.rivals import rivals, unmeant
from exporter.model.tracker import Paths, Tracker

_MIB = 1 << 20
_NOBODY = -1  # as the exporter's own PID
_CAUTION = (
    "(As a start of the exporter would decide now. A running one also knows who was born to whom,\n"
    "what ran before, what the API server says of pods, and leaves itself out: /api/v1/targets.)"
)


def report(config_file: str, cgroupfs: Path, sysfs: Path, estimate_trees: int | None = None) -> str:
    """What a right config means. Raises ConfigError with all that is wrong, and UsageError for a
    variable OTEL_* that is.

    `estimate_trees`: say what so many trees would cost; 0 means as many as limits.trees allows.
    """
    config = load(config_file, str(cgroupfs))
    prices = costs_of(config)
    size = sizes.plan(
        config.limits.trees, config.limits.processes, config.histograms.scale,
        sizes.possible_cpus(sysfs), config.limits.comms, spans=config.tells_of_events,
    )  # fmt: skip
    lines = [f"{w.file}:{w.line}:{w.column}: warning: {w.message}" for w in config.warnings]
    lines.append(f"{config.file}: good: {len(config.targets)} targets")
    lines.append(
        f"kernel memory of the maps: {size.total_bytes() / _MIB:.1f} MiB"
        f" (limits.trees {config.limits.trees}, limits.processes {config.limits.processes},"
        f" {size.cpus} CPUs, {size.shards} shards)"
    )
    lines.append(
        f"series: at most {config.limits.series}; of these {len(config.targets)} targets take"
        f" {reserved(config, prices).most}, each with room for one tree"
    )
    if config.otlp:
        lines += _otlp(config.otlp)
    if estimate_trees is not None:
        lines += _estimate(config, estimate_trees or config.limits.trees)
    return "\n".join(lines)


def _otlp(otlp: Otlp) -> list[str]:
    """By the environment of this command, which a service may not share."""
    from exporter.publish.otlp.describe import describe
    from exporter.publish.otlp.settings import resolve

    settings = resolve(otlp, os.environ)
    return [*(f"warning: {warning}" for warning in settings.warnings), *describe(settings)]


def _estimate(config: Config, trees: int) -> list[str]:
    found = estimate(config, trees)
    limit = config.limits.series
    lines = [
        f"estimate: {found.trees} trees, each with {len(typical.CALLS)} different calls,"
        f" {len(typical.ERRORS)} different errors and {len(typical.IN_FLIGHT)} calls in flight,"
        f" take {found.used.text} of {limit} samples in text, and {found.used.native} of {limit}"
        " series where Prometheus takes native histograms"
    ]
    if found.trees < trees:
        lines.append(f"estimate: these targets are {found.trees} trees at most, not {trees}")
    if not found.folded:
        lines.append("estimate: nothing is folded into other")
    else:
        lines.append(
            f"estimate: {found.folded} samples are folded into other, {found.shared} trees have no"
            f" series of their own; nothing is folded up to {most_trees(config, found.trees)}"
            " trees: raise limits.series, or choose histograms that cost less"
        )
    return lines


def explain(config_file: str, paths: Paths, pid: int) -> str:
    """Says which target a process belongs to, and why.

    Raises ConfigError, and ServiceError where there is no such process.
    """
    config = load(config_file, str(paths.cgroupfs))
    logging.getLogger("exporter").addHandler(logging.NullHandler())  # what is down is no news here
    cgroups = Cgroups(paths.cgroupfs, paths.procfs)
    source = ProcfsSource(paths.procfs, cgroups, config.limits.trees)
    metadata = _Engines(Runtimes(paths.rootfs))
    labeller = Labeller(config.labels, 0, metadata)
    tracker = Tracker(source, cgroups, paths, _NOBODY, labeller, metadata)
    tracker.configure(config.targets, config.exclude)
    tracker.sync()

    lines = []
    keys = {process.key.tgid: process.key for process in source.list_processes()}
    fault = procfs.why_not(paths.procfs, pid)
    if fault:
        lines.append(fault)
        pid = procfs.process_of(paths.procfs, pid) or pid
    if pid not in keys:
        raise ServiceError(fault or f"there is no process {pid}")
    key = keys[pid]
    member = source.member(key)
    explainer, following = Explainer(tracker.following()), tracker.following()
    tree = explainer.tree_of(member)
    where = f"belongs to target {tree.target.name}" if tree and tree.target else "has no target"
    name = procfs.comm(paths.procfs, pid)
    lines.append(f"PID {pid} ({name}) {where}: {explainer.why(key, member)}")
    within = [place for chain in source.within(pid) for place in chain]
    others = [
        *rivals(explainer, following, key, member, within),
        *unmeant(following, within, labeller.facts),
    ]
    lines += [f"  not {line}" for line in dict.fromkeys(others)]
    return "\n".join([*lines, _CAUTION])


class _Engines:
    """What the files of container engines tell; of pods the API server may tell more."""

    def __init__(self, runtimes: Runtimes) -> None:
        self._runtimes = runtimes

    def facts(self, ref: ContainerRef) -> Facts | None:
        facts = self._runtimes.facts(ref)
        return replace(facts, complete=False) if facts and ref.pod_uid else facts

    def version(self) -> int:
        return 0

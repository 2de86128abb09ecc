"""`check`: is this config right, and what will it cost? Does not touch the kernel."""

from __future__ import annotations

from pathlib import Path

from exporter.config.load import load
from exporter.costs import costs_of
from exporter.kernel import sizes

_MIB = 1 << 20


def report(config_file: str, cgroupfs: Path, sysfs: Path) -> str:
    """What a right config means. Raises ConfigError with all that is wrong."""
    config = load(config_file, str(cgroupfs))
    costs = costs_of(config)
    size = sizes.plan(
        config.limits.trees, config.limits.processes, config.histograms.scale,
        sizes.possible_cpus(sysfs),
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
        f" {len(config.targets) * costs.per_target}, each different call of a target"
        f" {costs.call + costs.error} and each different error 1"
    )
    return "\n".join(lines)

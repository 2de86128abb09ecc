"""`check`: is this config right, and what will it cost? Does not touch the kernel."""

from __future__ import annotations

from pathlib import Path

from exporter.config.load import load
from exporter.config.model import Config
from exporter.costs import costs_of, estimate, most_trees, reserved
from exporter.kernel import sizes
from exporter.model import typical

_MIB = 1 << 20


def report(config_file: str, cgroupfs: Path, sysfs: Path, estimate_trees: int | None = None) -> str:
    """What a right config means. Raises ConfigError with all that is wrong.

    `estimate_trees`: say what so many trees would cost; 0 means as many as limits.trees allows.
    """
    config = load(config_file, str(cgroupfs))
    prices = costs_of(config)
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
        f" {reserved(config, prices).most}, each with room for one tree"
    )
    if estimate_trees is not None:
        lines += _estimate(config, estimate_trees or config.limits.trees)
    return "\n".join(lines)


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

"""The way in: a config file to a `Config`, or a `ConfigError` that holds all of its mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exporter.config.catalog import TOP
from exporter.config.cgroup_path import CGROUP_ROOT
from exporter.config.checks import check_count, check_doubles, warn_unreachable
from exporter.config.compose import compose
from exporter.config.kinds import TargetList
from exporter.config.model import Config, Histograms, Limits, Target
from exporter.config.nodes import At, Entries, Items, Node, Scalar
from exporter.config.report import Report
from exporter.config.section import defaults, read_section
from exporter.config.targets import read_targets
from exporter.errors import ConfigError, Problem

MAX_BYTES = 1 << 20
_EXPECTED = "a list of targets, or a mapping with the key 'targets'"


def load(path: str | Path, cgroup_root: str = CGROUP_ROOT) -> Config:
    """Read and check a config file.

    Raises:
        ConfigError: the file cannot be read, or holds mistakes.
    """
    return parse(_read(path), str(path), cgroup_root)


def parse(text: str, file: str, cgroup_root: str = CGROUP_ROOT) -> Config:
    """Check a config given as text; `file` is what its mistakes are reported under.

    Raises:
        ConfigError: it holds mistakes.
    """
    report = Report(file)
    root = compose(text, report)
    config = None if root is None and report.errors else _config(root, cgroup_root, report)
    if config is None or report.errors:
        raise ConfigError(report.errors)
    return config


def _read(path: str | Path) -> str:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            fault = f"expected a config of at most {MAX_BYTES} bytes, found a larger file"
        else:
            return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = f"expected UTF-8, found the byte 0x{raw[error.start]:02x} on line {line}"
    except OSError as error:
        fault = f"cannot read the config: {error.strerror or error}"
    except ValueError as error:  # a NUL in the path
        fault = f"cannot read the config: {error}"
    raise ConfigError([Problem(str(path), 1, 1, fault)])


def _config(root: Node | None, cgroup_root: str, report: Report) -> Config | None:
    match root:
        case None | Scalar(value=None):
            report.error(At(1, 1), f"the file is empty; expected {_EXPECTED}")
            return None
        case Items():
            values = defaults(TOP) | {"targets": TargetList().read("targets", root, report)}
        case Entries():
            read = read_section(TOP, root, report)
            values = read.values
            if "targets" not in read.given:
                report.error(root.at, "targets: missing; list what to follow under this key")
        case _:
            mend = "put '- ' before it" if isinstance(root, Scalar) else ""
            report.unexpected("config", root, _EXPECTED, mend)
            return None
    return _build(values, cgroup_root, report)


def _build(values: dict[str, Any], cgroup_root: str, report: Report) -> Config | None:
    # A section that is no mapping, or a value that is no such value, has been read as None.
    histograms, limits = values["histograms"] or {}, values["limits"] or {}
    listed = read_targets(values["targets"] or (), cgroup_root, histograms.get("scale"), report)
    if limits.get("trees") is not None:
        check_count(listed, limits["trees"], report)
    check_doubles(listed, report)
    if report.errors:
        return None
    warn_unreachable(listed, report)
    targets: tuple[Target, ...] = tuple(item.target for item in listed)
    return Config(
        file=report.file,
        targets=targets,
        histograms=Histograms(**histograms),
        limits=Limits(**limits),
        self_cost=values["self_cost"],
        warnings=tuple(sorted(report.warnings)),
    )

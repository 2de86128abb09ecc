"""The way in: a config file to a `Config`, or a `ConfigError` that holds all of its mistakes."""

from __future__ import annotations

from pathlib import Path

from exporter.config.assemble import assemble
from exporter.config.catalog import TOP
from exporter.config.cgroup_path import CGROUP_ROOT
from exporter.config.compose import compose
from exporter.config.model import Config
from exporter.config.nodes import At, Entries, Items, Node, Scalar
from exporter.config.report import Report
from exporter.config.section import read_section
from exporter.errors import ConfigError, Problem

MAX_BYTES = 1 << 20
_EXPECTED = "a list of targets, or a mapping with the key 'targets'"


def load(path: str | Path, cgroup_root: str = CGROUP_ROOT) -> Config:
    """Read and check a config file.

    Raises:
        ConfigError: the file cannot be read, or holds mistakes.
    """
    return parse(_read(path), str(path), cgroup_root, here=True)


def parse(text: str, file: str, cgroup_root: str = CGROUP_ROOT, *, here: bool = False) -> Config:
    """Check a config given as text; `file` is what its mistakes are reported under.

    `here`: the files of certificates that it names, and the package for its protocol, must be on
    this machine.

    Raises:
        ConfigError: it holds mistakes.
    """
    report = Report(file)
    root = compose(text, report)
    config = None if root is None and report.errors else _config(root, cgroup_root, report, here)
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


def _config(root: Node | None, cgroup_root: str, report: Report, here: bool) -> Config | None:
    match root:
        case None | Scalar(value=None):
            report.error(At(1, 1), f"the file is empty; expected {_EXPECTED}")
            return None
        case Items():
            listed = ((Scalar(root.at, "targets", True, "targets"), root),)
            read = read_section(TOP, Entries(root.at, listed), report)
        case Entries():
            read = read_section(TOP, root, report)
            if "targets" not in read.given:
                report.error(root.at, "targets: missing; list what to follow under this key")
        case _:
            mend = "put '- ' before it" if isinstance(root, Scalar) else ""
            report.unexpected("config", root, _EXPECTED, mend)
            return None
    return assemble(read.values, cgroup_root, report, here=here)

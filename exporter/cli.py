"""The command line, and the only place where exit statuses are given out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from exporter import __version__, logs
from exporter.errors import ConfigError, KernelError, ProctreeError, UsageError

if TYPE_CHECKING:
    from exporter.model.tracker import Paths

_MOST_TREES = 4096  # of an estimate
GOOD, FAILED, BAD_USAGE, FORBIDDEN = range(4)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="proctree-exporter",
        description="Counts and times the system calls of whole process trees, exactly.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    serve = commands.add_parser(
        "serve", help="follow the trees of a config and publish them", allow_abbrev=False
    )
    _add_config(serve)
    _add_paths(serve)
    _add_logging(serve)
    web = serve.add_argument_group("web")
    web.add_argument(
        "--web.listen-address", dest="listen_address", default=":9847", metavar="ADDRESS",
        help="where to listen, as host:port or :port (default %(default)s)",
    )  # fmt: skip
    web.add_argument(
        "--web.telemetry-path", dest="telemetry_path", default="/metrics", metavar="PATH",
        help="where the metrics are (default %(default)s)",
    )  # fmt: skip
    _add_web_config(web)
    web.add_argument(
        "--web.enable-lifecycle", dest="lifecycle", action="store_true",
        help="allow POST /-/reload",
    )  # fmt: skip
    web.add_argument(
        "--web.enable-api", dest="api", action="store_true",
        help="serve /api/*, and details at /",
    )  # fmt: skip

    check = commands.add_parser(
        "check", help="validate a config, say what it costs and whom it means", allow_abbrev=False
    )
    _add_config(check)
    _add_web_config(check)
    check.add_argument(
        "--estimate-series", dest="estimate_trees", type=_trees, nargs="?", const=0,
        metavar="TREES",
        help="say what so many trees would cost of limits.series (default limits.trees)",
    )  # fmt: skip
    check.add_argument(
        "--explain", dest="explain_pid", type=_pid, metavar="PID",
        help="say which target a process belongs to, and why",
    )  # fmt: skip
    _add_paths(check)

    doctor = commands.add_parser(
        "doctor", help="say what this machine lets us do", allow_abbrev=False
    )
    doctor.add_argument("--json", action="store_true", help="as JSON")
    _add_paths(doctor)
    return parser


def _pid(text: str) -> int:
    """A PID, as argparse reads it."""
    pid = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    if not pid:
        raise argparse.ArgumentTypeError(f"expected a PID, found {text!r}")
    return pid


def _trees(text: str) -> int:
    """A number of trees, as argparse reads it; no more than a node may have."""
    trees = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 0 < trees <= _MOST_TREES:
        expected = f"expected a number of trees from 1 to {_MOST_TREES}, found {text!r}"
        raise argparse.ArgumentTypeError(expected)
    return trees


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config.file", dest="config_file", required=True, metavar="FILE",
        help="the YAML list of what to follow",
    )  # fmt: skip


def _add_web_config(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--web.config.file", dest="web_config_file", default="", metavar="FILE",
        help="TLS and passwords, in the format of Prometheus' exporter-toolkit",
    )  # fmt: skip


def _add_paths(parser: argparse.ArgumentParser) -> None:
    paths = parser.add_argument_group("paths", "where the node's file systems are")
    for name, default in (
        ("procfs", "/proc"), ("sysfs", "/sys"), ("cgroupfs", "/sys/fs/cgroup"), ("rootfs", "/"),
    ):  # fmt: skip
        paths.add_argument(
            f"--path.{name}", dest=name, type=Path, default=Path(default), metavar="DIR",
            help="(default %(default)s)",
        )  # fmt: skip


def _add_logging(parser: argparse.ArgumentParser) -> None:
    log = parser.add_argument_group("log")
    log.add_argument(
        "--log.level", dest="log_level", choices=logs.LEVELS, default="info",
        help="(default %(default)s)",
    )  # fmt: skip
    log.add_argument(
        "--log.format", dest="log_format", choices=logs.FORMATS, default="logfmt",
        help="(default %(default)s)",
    )  # fmt: skip


def _serve(args: argparse.Namespace) -> int:
    from exporter.publish.flags import Flags
    from exporter.publish.listen import parse_address
    from exporter.service import Options, Service

    logs.configure(args.log_level, args.log_format)
    flags = Flags(args.telemetry_path, args.lifecycle, args.api)
    address = parse_address(args.listen_address)
    options = Options(args.config_file, address, flags, _paths(args), args.web_config_file)
    Service(options).run()
    return GOOD


def _paths(args: argparse.Namespace) -> Paths:
    from exporter.model.tracker import Paths

    return Paths(args.procfs, args.sysfs, args.cgroupfs, args.rootfs)


def _check(args: argparse.Namespace) -> int:
    from exporter.check import explain, report

    if args.explain_pid is not None:
        print(explain(args.config_file, _paths(args), args.explain_pid))
        return GOOD
    web = _check_web(args.web_config_file) if args.web_config_file else []
    told = report(args.config_file, args.cgroupfs, args.sysfs, args.estimate_trees)
    print("\n".join([told, *web]))
    return GOOD


def _check_web(file: str) -> list[str]:
    from exporter.config.web import describe, load

    web = load(file)
    return [
        *(f"{w.file}:{w.line}:{w.column}: warning: {w.message}" for w in web.warnings),
        describe(web),
    ]


def _doctor(args: argparse.Namespace) -> int:
    from exporter import doctor

    findings = doctor.examine(args.procfs, args.sysfs, args.cgroupfs)
    print(doctor.as_json(findings) if args.json else doctor.as_text(findings))
    return FORBIDDEN if any(finding.state == "missing" for finding in findings) else GOOD


_COMMANDS = {"serve": _serve, "check": _check, "doctor": _doctor}


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status. What went wrong is one line on stderr."""
    args = _parser().parse_args(arguments)
    try:
        return _COMMANDS[args.command](args)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_USAGE
    except UsageError as error:
        print(f"proctree-exporter: {error}", file=sys.stderr)
        return BAD_USAGE
    except KernelError as error:
        print(f"proctree-exporter: {error}", file=sys.stderr)
        return FORBIDDEN
    except ProctreeError as error:
        print(f"proctree-exporter: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python complains at exit
        return FAILED


def main() -> None:
    sys.exit(run())

"""The command line: measures all, prints the table and writes it to a file."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from bench import hot_path, machine, scrapes, size, spans, trees
from bench.goals import against_goals
from bench.table import Row, results
from bench.workloads import Binaries
from tests.harness import ROOT

PARTS = ("hot-path", "size", "scrapes", "trees", "spans")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="See bench/__init__.py.")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "build/bench.md",
        metavar="FILE",
        help="where the table is written (default %(default)s)",
    )
    parser.add_argument("--rounds", type=int, default=11, help="of the hot path (default 11)")
    parser.add_argument(
        "--settle",
        type=float,
        default=60,
        metavar="SECONDS",
        help="from ready to the measure of memory (default 60)",
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part")
    parser.add_argument("--quick", action="store_true", help="rough figures: 2 rounds, 5 s")
    args = parser.parse_args()  # fmt: skip
    if args.quick:
        args.rounds, args.settle = 2, 5
    return args


def _measure(args: argparse.Namespace) -> list[Row]:
    wanted = args.only or PARTS
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        binaries = Binaries(Path(folder))
        if "hot-path" in wanted:
            rows += hot_path.measure(binaries, args.rounds)
        if "size" in wanted:
            rows += size.measure(binaries, settle_s=args.settle, idle_s=5 if args.quick else 30)
        if "scrapes" in wanted:
            rows += scrapes.measure(binaries)
        if "trees" in wanted:
            rows += trees.measure()
        if "spans" in wanted:
            rows += spans.measure(binaries)
    return rows


def main() -> int:
    args = _parse()
    if os.geteuid() != 0:
        print("bench: needs root, as the exporter does", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # in the background, too: clean up, and let
        signal.signal(number, signal.default_int_handler)  # the tools have theirs back
    header = machine.describe()
    rows = _measure(args)
    text = "\n".join((
        "# What the exporter costs\n",
        header,
        results(rows),
        "## Against the goals\n",
        against_goals(rows),
    ))  # fmt: skip
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

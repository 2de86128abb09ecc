"""Writes docs/reference/: metrics, config and command line, from the catalogs that the code reads.

.venv/bin/python scripts/reference.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from exporter import cli
from exporter.config.catalog import SECTIONS, TARGET, TARGET_KINDS, TOP, Key, keys_of
from exporter.config.duration import Duration
from exporter.kernel.records import LOST_REASONS
from exporter.metadata.kubernetes import failure
from exporter.model import losses, pidfiles
from exporter.model.classes import CLASSES, MEMBERS
from exporter.publish.catalog import CATALOG, Metric
from exporter.publish.families import EXIT_OUTCOMES, THREAD_STATES
from exporter.publish.process import process_families, process_registry

PLACE = Path(__file__).resolve().parents[1] / "docs/reference"

#: What a label of one metric may say, where that is a closed list; a test compares with /metrics.
VALUES: dict[tuple[str, str], Sequence[str]] = {
    ("proctree_tree_threads", "state"): THREAD_STATES,
    ("proctree_process_exits_total", "outcome"): EXIT_OUTCOMES,
    ("proctree_exporter_lost_calls_total", "reason"): (*LOST_REASONS, "program_skipped"),
    ("proctree_exporter_lost_events_total", "reason"): losses.EVENTS,
    ("proctree_exporter_dropped_spans_total", "reason"): losses.SPANS,
    ("proctree_exporter_export_failures_total", "reason"): losses.EXPORTS,
    ("proctree_exporter_trees_folded_total", "reason"): (
        "tree_limit", "program_limit", "series_limit",
    ),
    ("proctree_exporter_refused_total", "reason"): (
        *pidfiles.REASONS, "container_unknown", "traceparent_invalid",
    ),
    ("proctree_exporter_pod_metadata_failures_total", "reason"): failure.REASONS,
}  # fmt: skip

_HEAD = "<!-- Written by scripts/reference.py: change what it reads, and run it. -->\n"
_METRICS = """
# Metrics

LABELS stands for a tree's label set: `target`, and what `labels`, `static_labels` and `group_by`
add; a tree of a pattern or of a container carries its `cgroup` where `labels` is not given. What
the numbers mean in detail is in the [README](../../README.md#metrics), their names over OTLP in
[opentelemetry.md](../opentelemetry.md#metrics).
"""
_CONFIG = """
# Config file

The file is a list of targets, or a mapping whose keys follow. A target is a root PID, the path of a
cgroup, or a mapping. What it all means together is in the [README](../../README.md#what-to-follow);
for editors there is a JSON Schema in `config/schema.json`.
"""
_COMMANDS = """
# Command line

Exit status: 0 good, 1 the job failed, 2 bad usage or config, 3 the kernel or the permissions do not
allow it.
"""
_HEADINGS = {
    TOP: "At the top of the file", TARGET: "A target", "match": "Words of `match` and `exclude`",
    "container": "`container` of a target", "pods": "`kubernetes` of a target",
    "api": "`kubernetes` at the top of the file", "spans": "`spans` of a target",
}  # fmt: skip


def pages() -> dict[str, str]:
    """The text of each file, by its name."""
    return {"metrics.md": _metrics(), "config.md": _config(), "command-line.md": _command_line()}


def _page(text: str, *parts: str) -> str:
    return _HEAD + "\n".join([text, *parts])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|\n")
    return "".join(lines).replace("|  |", "| |")


def _prose(text: str) -> str:
    """A star outside of code would be emphasis."""
    parts = text.split("`")
    return "`".join(
        part if code % 2 else part.replace("*", r"\*") for code, part in enumerate(parts)
    )


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))


def _metrics() -> str:
    ours = [family.metric for family in process_families(process_registry())]
    trees = [metric for metric in CATALOG if metric.about_targets]
    exporter = [metric for metric in CATALOG if not metric.about_targets]
    head = ("name", "type", "labels", "meaning")
    tables = [
        f"## {title}\n\n{_table(head, map(_metric, metrics))}"
        for title, metrics in (
            ("Of trees", trees),
            ("Of the exporter", exporter),
            ("Of its process, by the client library", ours),
        )
    ]
    values = _table(
        ("metric", "label", "values"),
        ((_code(name), _code(label), _codes(sorted(known)))
         for (name, label), known in VALUES.items()),
    )  # fmt: skip
    classes = _table(
        ("class", "holds", "calls"),
        ((_code(class_), text, _codes(MEMBERS.get(class_, "").split()))
         for class_, text in CLASSES.items()),
    )  # fmt: skip
    return _page(
        _METRICS,
        *tables,
        f"## Values of labels\n\nWith the metric all are there, from the start.\n\n{values}",
        f"## Classes of calls\n\n{classes}",
    )


def _metric(metric: Metric) -> tuple[str, ...]:
    own = [label for label in metric.labels if label != "target"]
    tree = [] if not metric.about_targets else ["`target`" if metric.per_target else "LABELS"]
    return _code(metric.name), metric.kind, ", ".join([*tree, *map(_code, own)]), metric.help


def _config() -> str:
    parts = []
    for section in SECTIONS:
        heading = _HEADINGS.get(section, f"`{section}`")
        kinds = f"\nEach target has one of {_codes(TARGET_KINDS)}.\n" if section == TARGET else ""
        rows = map(_key, keys_of(section).values())
        parts.append(
            f"## {heading}\n{kinds}\n{_table(('key', 'value', 'default', 'meaning'), rows)}"
        )
    return _page(_CONFIG, *parts)


def _key(key: Key) -> tuple[str, ...]:
    default = "" if key.default is None else _code(_yaml(key.default))
    return _code(key.name), _value(key.kind), default, _prose(key.doc)


def _value(kind: Any) -> str:
    if isinstance(kind, Duration):
        least = "" if kind.least == "0s" else f" from {_code(kind.least)}"
        return f"duration{least} up to {_code(kind.longest)}"
    return _form(kind.schema())


def _form(schema: dict[str, Any]) -> str:
    """What JSON Schema lets stand there, in words."""
    match schema:
        case {"$ref": ref}:
            return _reference(ref.removeprefix("#/$defs/"))
        case {"anyOf": [one, {"type": "array", "items": item}]} if one == item:
            return f"{_form(one)}, or a list of such"
        case {"anyOf": forms}:
            return " or ".join(dict.fromkeys(map(_form, forms)))
        case {"enum": values}:
            return ", ".join(_code(_yaml(value)) for value in values)
        case {"const": value}:
            return _code(_yaml(value))
        case {"type": "boolean"}:
            return "`true`, `false`"
        case {"type": "integer", "minimum": low, "maximum": high}:
            return f"whole number from {low:,} to {high:,}"
        case {"type": "number", "minimum": low, "maximum": high}:
            return f"number from {low:g} to {high:g}"
        case {"type": "number", "exclusiveMinimum": low}:
            return f"number above {low}"
        case {"type": "array", "items": item}:
            return f"list of: {_form(item)}"
        case {"type": "object"}:
            return "mapping of names to text"
        case {"type": "string", "pattern": pattern} if pattern.startswith("^/"):
            return "absolute path"
        case {"type": "string", "pattern": pattern} if pattern.startswith("^http"):
            return "URL"
        case {"type": "string"}:
            return "text"
    raise ValueError(f"expected a form that has words, found {schema}")


def _reference(name: str) -> str:
    match name:
        case "targets":
            return "list of PIDs, paths of cgroups, and [targets](#a-target)"
        case "errno":
            return "name of an error"
        case "syscall":
            return "name of a call"
    heading = _HEADINGS.get(name, name)
    anchor = "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")
    return f"[mapping](#{anchor})"


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _command_line() -> str:
    parser = cli._parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in commands._choices_actions}
    parts = [
        f"## {parser.prog} {name}\n\n{_sentence(helps[name])}\n\n{_table(_FLAGS, _flags(command))}"
        for name, command in commands.choices.items()
    ]
    return _page(_COMMANDS, *parts)


_FLAGS = ("flag", "default", "meaning")


def _flags(command: argparse.ArgumentParser) -> Iterable[tuple[str, ...]]:
    groups = {
        a: group.description or "" for group in command._action_groups for a in group._group_actions
    }
    for action in command._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        words = [*action.option_strings[-1:]]
        if action.nargs == "?":
            words.append(f"[{action.metavar}]")
        elif action.choices:
            words.append("{" + ",".join(map(str, action.choices)) + "}")
        elif action.metavar:
            words.append(str(action.metavar))
        told = (action.help or "").replace("(default %(default)s)", "").strip()
        default = "" if action.default in (None, False, "") else _code(str(action.default))
        if action.required:
            default = "required"
        yield _code(" ".join(words)), default, _prose(told or groups[action])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PLACE / name).write_text(text)

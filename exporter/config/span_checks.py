"""What is wrong, or cannot be meant, with the spans of all targets together."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.config.nodes import quote
from exporter.config.report import Report
from exporter.config.section import Read
from exporter.config.targets import Listed
from exporter.kernel.records import MAX_SPAN_RULES
from exporter.model.target import SpanWords

#: The first rule of the kernel is none.
MAX_TARGETS = MAX_SPAN_RULES - 1


def check_span_targets(listed: Sequence[Listed], report: Report) -> None:
    """No more targets with spans of processes or calls than the kernel has rules."""
    asking = [item for item in listed if item.target.spans.from_events]
    if len(asking) > MAX_TARGETS:
        report.error(
            asking[MAX_TARGETS].spans_at,
            f"spans: expected at most {MAX_TARGETS} targets with spans of processes or calls, "
            f"found {len(asking)}; a target with a pattern follows many cgroups",
        )


def warn_of_what_is_not_sent(listed: Sequence[Listed], otlp: Read | None, report: Report) -> None:
    """Spans that are asked for and not sent, or the other way round."""
    traces = bool(otlp and otlp.values["traces"])
    asking = [item for item in listed if _asks(item.target.spans)]
    if asking and not traces:
        more = f" and {len(asking) - 1} more" if len(asking) > 1 else ""
        report.warn(
            asking[0].spans_at,
            f"spans: nothing sends those of target {quote(asking[0].target.name)}{more}; add "
            "'otlp: {traces: true}' at the top of the file",
        )
    if traces and not asking and otlp:
        at, _ = otlp.given["traces"]
        report.warn(
            at, "otlp.traces: no target asks for spans; add 'spans: {processes: true}' to one"
        )


def _asks(words: SpanWords) -> bool:
    return words.intervals or words.from_events

"""What was written under `spans` of a target, as the model has it, and what of it says nothing."""

from __future__ import annotations

from exporter.config.report import Report
from exporter.config.section import Read
from exporter.model.target import SpanWords

_CALLS = ("slower_than", "errors", "syscalls", "sample")
#: What returns from these is not theirs, or nothing does.
_WITHOUT_END = ("exit", "exit_group", "rt_sigreturn", "sigreturn")


def span_words(read: Read, report: Report) -> SpanWords:
    """The words of a mapping; of what could not be read, the defaults."""
    values = read.values
    words = SpanWords(
        intervals=bool(values["intervals"]),
        processes=bool(values["processes"]),
        slower_than_ns=values["slower_than"],
        errors=tuple(dict.fromkeys(values["errors"] or ())),
        syscalls=tuple(dict.fromkeys(values["syscalls"] or ())),
        sample=values["sample"] or 0.0,
        max_per_second=values["max_per_second"] or SpanWords().max_per_second,
        command_args=bool(values["command_args"]),
        traceparent=bool(values["traceparent"]),
    )
    _warn_of_nothing_said(read, words, report)
    _warn_of_calls(read, words, report)
    return words


def _warn_of_nothing_said(read: Read, words: SpanWords, report: Report) -> None:
    if not set(read.given) & {"intervals", "processes", *_CALLS}:
        kinds = f"intervals, processes, {', '.join(_CALLS)}"
        report.warn(read.at, f"spans: nothing asks for a span; add one of {kinds}, or remove it")
        return
    needs = (
        ("max_per_second", words.calls, f"{', '.join(_CALLS[:-1])} or {_CALLS[-1]}"),
        ("command_args", words.processes, "'processes: true'"),
        ("traceparent", words.processes, "'processes: true'"),
    )
    for name, has_effect, other in needs:
        if name in read.given and read.values[name] and not has_effect:
            at, _ = read.given[name]
            report.warn(at, f"spans.{name}: it says nothing without {other}; add that or remove it")


def _warn_of_calls(read: Read, words: SpanWords, report: Report) -> None:
    if not words.syscalls:
        return
    _, at = read.given["syscalls"]
    for name in words.syscalls:
        if name in _WITHOUT_END:
            report.warn(at, f"spans.syscalls: {name} has no end, and so no span; remove it")
    # Who says how many there may be has thought of it.
    if not {"slower_than", "errors", "sample", "max_per_second"} & set(read.given):
        report.warn(
            at,
            f"spans.syscalls: every call of these becomes a span, {words.max_per_second} a second "
            "at most; choose among them by slower_than, errors or sample, or write max_per_second",
        )

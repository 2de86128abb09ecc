"""Which program a process runs: name, arguments, and the trace that its environment names."""

from __future__ import annotations

from collections.abc import Callable

from exporter.kernel.span_events import Argued, Environed, Execed
from exporter.model.spans.parts import LiveProcess
from exporter.model.spans.placing import Placing
from exporter.model.spans.span import Attributes
from exporter.model.spans.text import program_name, program_path
from exporter.model.spans.traces import Joined

_TEXT_BYTES = 64  # about what a text takes beside its characters


class Execs:
    """`redact` makes arguments fit to be seen. `parse_traceparent` reads the variable's value; None
    where that is not valid, which `invalid` is told of."""

    def __init__(
        self, placing: Placing, redact: Callable[[bytes], tuple[str, ...]],
        parse_traceparent: Callable[[bytes], Joined | None], invalid: Callable[[], None],
    ) -> None:  # fmt: skip
        self._placing, self._limits, self._budget = placing, placing.limits, placing.budget
        self._redact, self._parse, self._invalid = redact, parse_traceparent, invalid

    def runs(self, process: LiveProcess, name: str, path: str) -> None:
        """A program without arguments; without its path, where there is no room for that."""
        self._budget.give_back(process.kept)
        fits = self._budget.take(len(path))
        process.kept, process.path = (len(path), path) if fits else (0, "")
        process.name, process.arguments = name, ()

    def execed(self, process: LiveProcess, record: Execed) -> None:
        self.runs(process, program_name(record.path), program_path(record.path))
        path, part = process.path, process.part
        attributes: Attributes = (("process.executable.path", path),) if path else ()
        kept = part.happened(
            "exec", record.time_ns, attributes, len(path), self._budget, self._limits
        )
        part.exec_at = len(part.events) - 1 if kept else None

    def argued(self, process: LiveProcess, record: Argued) -> None:
        """The arguments of what it has just begun to run, if the target asks for them."""
        target, part = self._placing.target_of(record.slot), process.part
        if target is None or not target.spans.command_args:
            return
        arguments = self._redact(record.text)
        size = sum(len(argument) + _TEXT_BYTES for argument in arguments)
        if self._budget.take(size):
            process.kept += size
            process.arguments = arguments
        if part.exec_at is not None and part.keep(size, self._budget, self._limits):
            event = part.events[part.exec_at]
            told = (*event.attributes, ("process.command_args", arguments))
            part.events[part.exec_at] = event._replace(attributes=told)

    def environed(self, process: LiveProcess, record: Environed) -> None:
        """The trace that its environment names, if the target asks for it."""
        target = self._placing.target_of(record.slot)
        if target is None or not target.spans.traceparent:
            return
        joined = self._parse(record.text)
        if joined is None:
            self._invalid()
        elif joined != process.joined:  # else it is its parent's: it stays below that
            self._placing.join(process, joined, record.time_ns)

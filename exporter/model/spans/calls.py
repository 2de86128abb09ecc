"""Spans of calls: made in great numbers, and so as cheaply as may be."""

from __future__ import annotations

from exporter.kernel.span_events import Called
from exporter.kernel.syscalls import RESTART_CODES
from exporter.model.names import Names
from exporter.model.spans.ids import Ids
from exporter.model.spans.placing import Placing
from exporter.model.spans.span import NO_PARENT, CallSpan
from exporter.model.spans.text import readable

_MOST_ERROR = 4095  # MAX_ERRNO, include/linux/err.h: what is below is an address
#: Their "return value" is whatever they restored.
_RETURNS = ("rt_sigreturn", "sigreturn")


class CallSpans:
    """A call's span is below that of its process, where that has one, else in the tree's trace."""

    def __init__(self, placing: Placing, ids: Ids, names: Names) -> None:
        self._placing, self._live = placing, placing.live
        self._id, self._names, self._wall_ns = ids.span, names, placing.clock.wall_ns

    def span(self, record: Called) -> CallSpan | None:
        """None where whoever began the trace wants no spans. A target that asks for none any more
        did when the kernel told of this."""
        slot, key, ended_ns, began_ns, ret, tid, code, path = record
        process = self._live.get(key)
        target = self._placing.target_of(process.slot if process else slot)
        if target is None:
            return None
        if process is None:
            parent_id = NO_PARENT
            trace = self._placing.chains.of(slot).at(ended_ns)
        else:
            chain, part = process.chain, process.part
            if chain.muted:
                return None
            trace, slot = part.trace, process.slot
            if not chain.takes(trace, ended_ns):
                trace = self._placing.go_on(process, ended_ns, more=1)
                part = process.part
            part.referenced = True
            parent_id = part.span_id
        span_id = self._id()
        trace.take(span_id)
        start_ns = self._wall_ns(began_ns)
        name = self._names.call(code)
        return CallSpan(
            slot, trace.id, span_id, parent_id, key.tgid, tid, name,
            self._error(name, ret) if ret < 0 else "",
            start_ns, start_ns + max(ended_ns - began_ns, 0),
            readable(path) if path else "", target.name, record.slot,
        )  # fmt: skip

    def _error(self, name: str, ret: int) -> str:
        """As the kernel's part counts errors: bpf/aggregate.c, is_error."""
        if ret < -_MOST_ERROR or -ret in RESTART_CODES or name in _RETURNS:
            return ""
        return self._names.error(-ret)

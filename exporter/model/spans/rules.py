"""Which of the kernel's rules for spans a target has."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.kernel.records import MAX_SPAN_RULES
from exporter.kernel.span_rules import SpanRule, SpanRules
from exporter.kernel.syscalls import load_errnos
from exporter.model.target import SpanWords, Target

#: Targets that may have spans from events; rule 0 is none.
MAX_TARGETS = MAX_SPAN_RULES - 1


class SpanTargets:
    """`rules` are None where spans were not asked for at start: then no target has any."""

    def __init__(self, rules: SpanRules | None) -> None:
        self._rules = rules
        self._index: dict[str, int] = {}  # by the target's name

    def configure(self, targets: Iterable[Target]) -> None:
        """Those that stay keep their rule, and what their token bucket holds."""
        if self._rules is None:
            return
        wanted = {target.name: target.spans for target in targets if target.spans.from_events}
        self._index = {name: index for name, index in self._index.items() if name in wanted}
        free = iter(sorted(set(range(1, MAX_SPAN_RULES)) - set(self._index.values())))
        for name, words in wanted.items():
            if name not in self._index:
                index = next(free, 0)
                if not index:
                    continue  # `check` has said so
                self._index[name] = index
            self._rules.set(self._index[name], rule_of(words))

    def index_of(self, target: Target) -> int:
        """0 where it has no spans from events."""
        return self._index.get(target.name, 0)


def rule_of(words: SpanWords) -> SpanRule:
    """As the kernel wants it."""
    numbers = {name: number for number, name in load_errnos().items()}
    return SpanRule(
        processes=words.processes,
        command_args=words.command_args,
        environ=words.traceparent,
        calls=frozenset(words.syscalls) if words.calls else None,
        slower_than_ns=words.slower_than_ns,
        errors=frozenset(numbers[name] for name in words.errors),
        sample=words.sample,
        max_per_second=words.max_per_second,
    )

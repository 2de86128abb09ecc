"""What the kernel must know of a target's spans, and the marks by which calls find it.

The mark stands in each aggregate: the kernel sets it where it makes one, and user space again where
a rule came later than the aggregate. A mark that comes late costs a span, and never a count.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exporter.kernel import bcc_source, records
from exporter.kernel.bpf import Map
from exporter.kernel.file_arguments import DESCRIPTORS, PATHS
from exporter.kernel.sizes import Sizes
from exporter.kernel.syscalls import load_names, native_abis

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SECOND_NS = 1_000_000_000
_NEVER = (1 << 64) - 1
#: Of setsid and setpgid: bpf/arch.h, changes_session.
_SESSION = ("setsid", "setpgid")


@dataclass(frozen=True, slots=True)
class SpanRule:
    """Which events of a target's trees are told. `calls` None: none; empty: all."""

    processes: bool = False
    command_args: bool = False
    environ: bool = False
    calls: frozenset[str] | None = None
    slower_than_ns: int | None = None
    errors: frozenset[int] = frozenset()
    sample: float = 0.0
    max_per_second: int = 1000

    @property
    def flags(self) -> int:
        return (
            records.SPANS_PROCESSES * self.processes
            | records.SPANS_ARGS * self.command_args
            | records.SPANS_ENVIRON * self.environ
        )


class SpanRules:
    """The maps `span_rules` and `span_arguments`. `maps` by the names in bpf/."""

    def __init__(self, maps: Mapping[str, Map], sizes: Sizes, machine: str) -> None:
        self._maps, self._sizes = maps, sizes
        self._words = bcc_source.known_words()
        self._layout = records.span_rule_struct(self._words)
        self._mapped = mmap.mmap(maps["span_rules"].fd, records.MAX_SPAN_RULES * self._layout.size)
        self._names = {
            bcc_source.call_bit(abi, number): name
            for abi in native_abis(machine)
            for number, name in load_names(abi).items()
        }
        self._rules: dict[int, SpanRule] = {}
        self._of: dict[int, int] = {}  # slot -> rule
        self._written: dict[int, int] = {}  # slot -> the mark of its `other`

    def set(self, index: int, rule: SpanRule) -> None:
        """From now on; `remark` brings it to the calls that were seen already."""
        if self._rules.get(index) == rule:
            return
        self._rules[index] = rule
        bits = 0
        for bit, name in self._names.items():
            bits |= (self._looked_at(rule, name)) << bit
        errors = sum(1 << number for number in rule.errors if number < 64 * records.ERROR_WORDS)
        slower = _NEVER if rule.slower_than_ns is None else rule.slower_than_ns
        named_only = rule.slower_than_ns is None and not rule.errors and not rule.sample
        every = named_only or rule.sample >= 1
        begin = index * self._layout.size
        _, _, _, next_ns, refused, *_ = self._layout.unpack_from(self._mapped, begin)
        self._layout.pack_into(
            self._mapped, begin,
            0 if every else slower,
            _SECOND_NS // rule.max_per_second, _SECOND_NS, next_ns, refused,
            min(round(rule.sample * 2**32), 2**32 - 1), rule.flags,
            *_split(errors, records.ERROR_WORDS), *_split(bits, self._words),
        )  # fmt: skip

    def refused(self) -> int:
        """How many calls found no token, so far."""
        size = self._layout.size
        return sum(
            int(_U64.unpack_from(self._mapped, index * size + 32)[0])
            for index in range(records.MAX_SPAN_RULES)
        )

    def assign(self, slot: int, other_id: int, index: int) -> None:
        """This slot's calls are looked at by this rule; 0: by none."""
        self._of[slot] = index
        mark = self._mark(index, None)
        if self._written.get(slot, 0) != mark:
            self._written[slot] = mark
            self._write({other_id: mark})

    def forget(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self._of.pop(slot, None)
            self._written.pop(slot, None)

    def remark(self, others: Mapping[int, int]) -> None:
        """Marks all aggregates anew. `others` are those of each slot's `other`, by slot."""
        marks = {id_: self._mark(self._of.get(slot, 0), None) for slot, id_ in others.items()}
        for key, value in self._maps["call_ids"].items():
            slot, code = records.CALL_KEY.unpack(key)
            marks[int.from_bytes(value, "little")] = self._mark(self._of.get(slot, 0), code)
        self._write(marks)

    def _mark(self, index: int, code: int | None) -> int:
        """`code` None: of calls that have no aggregate of their own."""
        rule = self._rules.get(index)
        if rule is None:
            return 0
        if code is None:
            mark = records.MARK_CALLS * (rule.calls is not None)
        else:
            bit = (code >> records.CODE_ABI_SHIFT) * records.NUMBERS + (code & records.CODE_NUMBER)
            name = self._names.get(bit, "")
            mark = records.MARK_CALLS * (bool(name) and self._looked_at(rule, name))
            mark |= records.MARK_SESSION * (rule.processes and name in _SESSION)
        return mark | index if mark else 0

    @staticmethod
    def _looked_at(rule: SpanRule, name: str) -> bool:
        # What rt_sigreturn returns is what the interrupted call had: it tells nothing.
        return (
            rule.calls is not None
            and (not rule.calls or name in rule.calls)
            and name not in ("rt_sigreturn", "sigreturn")
        )

    def _write(self, marks: Mapping[int, int]) -> None:
        if not marks:
            return
        size, shards = self._sizes.aggregate_bytes, self._sizes.shards
        whole = (max(marks) + 1) * shards * size
        with mmap.mmap(self._maps["syscall_aggregate"].fd, whole) as mapped:
            for id_, mark in marks.items():
                begin = id_ * shards * size + records.AGGREGATE_MARK
                for at in range(begin, begin + shards * size, size):
                    _U64.pack_into(mapped, at, mark)


def _split(bits: int, words: int) -> list[int]:
    return [bits >> 64 * word & (1 << 64) - 1 for word in range(words)]


def write_arguments(arguments: Map, machine: str) -> None:
    """Tells the kernel which calls name a file, and how."""
    for abi in native_abis(machine):
        for number, name in load_names(abi).items():
            how = 0
            if name in PATHS:
                how = records.ARGUMENT_PATH | PATHS[name]
                how |= records.ARGUMENT_EXEC * name.startswith("execve")
            elif name in DESCRIPTORS:
                how = records.ARGUMENT_FD
            if how:
                arguments.set(_U32.pack(bcc_source.call_bit(abi, number)), _U32.pack(how))

"""The real `Source`: maps, programs and iterators in the kernel, by their descriptors."""

from __future__ import annotations

import errno
import mmap
import os
import platform
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from exporter.errors import KernelError
from exporter.kernel import aggregates, bcc_source, bpf, records
from exporter.kernel.bcc_source import Loaded
from exporter.kernel.fields import KernelFields
from exporter.kernel.named_cgroups import Place, hash_of
from exporter.kernel.records import (
    CgroupKey,
    Membership,
    Process,
    ProcessKey,
    Thread,
)
from exporter.kernel.rules import Rules, RuleSet
from exporter.kernel.sizes import Sizes
from exporter.kernel.slots import Slots, wait_for_programs
from exporter.kernel.source import Pass, ProgramReading, RawCall, Reading
from exporter.kernel.span_rules import SpanRules, write_arguments

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
#: Words of struct control.
_CHANGES, _SETTLED, _HIERARCHIES, _SYNCING, _EDGES_LOST, _GENERATION = range(6)
_EVENTS_LOST, _FOLDED_PROGRAMS, _LOST_PROCESSES, _SPAN_EVENTS_LOST = range(6, 10)


class Tracing:
    """Programs and maps in the kernel. Ends with the process: nothing is pinned."""

    def __init__(self, sizes: Sizes, fields: KernelFields, self_cost: bool) -> None:
        self.sizes = sizes
        self._loaded: Loaded = bcc_source.load(sizes, fields)
        self._maps = {
            name: bpf.Map(fd)
            for name, fd in self._loaded.maps.items()
            if name not in ("doorbell", "events")
        }
        self._links: list[int] = []
        self._unplaced = self._syncs = 0
        self._statistics = self._enable_statistics() if self_cost else None
        for index, word in enumerate(bcc_source.known_call_words()):
            self._maps["known_calls"].set(_U32.pack(index), _U64.pack(word))
        self.span_rules = self._open_spans() if sizes.spans else None
        self.slots = Slots(self._maps, sizes, self.span_rules)
        self._rules = Rules(self._maps["rules"], self._maps["states"], self._maps["users"])
        self._iterators = {
            name: bpf.link_iterator(self._loaded.programs[name]) for name in bcc_source.ITERATORS
        }
        mapped = mmap.mmap(self._maps["control"].fd, mmap.PAGESIZE)
        self._control = memoryview(mapped).cast("Q")
        self.announce_change()
        self.keep_edges(True)  # before the hooks are there, so that none is missed

    @property
    def doorbell_fd(self) -> int:
        return self._loaded.maps["doorbell"]

    def _open_spans(self) -> SpanRules:
        machine = platform.machine()
        write_arguments(self._maps["span_arguments"], machine)
        self._maps["tails"].set(
            _U32.pack(0), _U32.pack(self._loaded.programs[bcc_source.CALL_SPAN])
        )
        return SpanRules(self._maps, self.sizes, machine)

    @property
    def events_fd(self) -> int:
        """The ring of what is told for spans; only where they were asked for at start."""
        return self._loaded.maps["events"]

    def span_events_lost(self) -> int:
        """How many, so far, found the ring full."""
        return self._control[_SPAN_EVENTS_LOST]

    @staticmethod
    def _enable_statistics() -> int:
        try:
            return bpf.enable_run_statistics()
        except OSError as error:
            raise KernelError(
                f"self_cost: the kernel refuses run statistics ({error.strerror}): they need"
                " CAP_SYS_ADMIN at start; grant it, or set self_cost: false"
            ) from error

    def attach(self) -> None:
        """Attaches all hooks. Ends first, then beginnings, so that no call is seen half."""
        programs = self._loaded.programs
        order = (
            "on_exit", "on_cgroup_rmdir", "on_cgroup_mkdir", "on_cgroup_attach", "on_exec",
            *(bcc_source.ONLY_FOR_SPANS if self.sizes.spans else ()),
            "on_sys_exit", "on_sys_enter", "on_fork",
        )  # fmt: skip
        for name in order:
            tracepoint = bcc_source.RAW_TRACEPOINTS.get(name)
            try:
                self._links.append(bpf.attach_raw_tracepoint(programs[name], tracepoint))
            except OSError as error:
                raise KernelError(f"cannot attach {name}: {error.strerror}") from error

    def close(self) -> None:
        """Detaches everything now, rather than when the process is gone."""
        for fd in (*self._links, *self._iterators.values()):
            os.close(fd)
        self._links.clear()
        self._iterators.clear()

    def list_processes(self) -> list[Process]:
        return Process.unpack_all(bpf.read_iterator(self._iterators["list_processes"]))

    def members(self) -> dict[ProcessKey, Membership]:
        return {
            ProcessKey.unpack(key): Membership.unpack(value)
            for key, value in self._maps["traced_tgids"].items()
        }

    def member(self, key: ProcessKey) -> Membership:
        value = self._maps["traced_tgids"].get(key.pack())
        return Membership.unpack(value) if value else Membership()

    def set_member(self, key: ProcessKey, member: Membership) -> bool:
        packed = member.pack(self._syncs)
        try:
            self._maps["traced_tgids"].set(key.pack(), packed)
        except OSError as error:
            if error.errno not in (errno.E2BIG, errno.ENOMEM):
                raise
        else:
            return True
        try:
            self._maps["waiting"].set(key.pack(), packed)
        except OSError:  # no room to wait, either
            self.count_incomplete(1)
        return False

    def remove_member(self, key: ProcessKey) -> None:
        self._maps["traced_tgids"].delete(key.pack())

    def set_rules(self, rules: RuleSet) -> None:
        self._control[_GENERATION] = self._rules.write(rules)

    def cgroups(self) -> dict[CgroupKey, int]:
        return {
            CgroupKey.unpack(key): int(_U32.unpack(value)[0])
            for key, value in self._maps["traced_cgroups"].items()
        }

    def list_cgroup(self, key: CgroupKey, slot: int) -> bool:
        try:
            self._maps["traced_cgroups"].set(key.pack(), _U32.pack(slot))
        except OSError as error:
            if error.errno not in (errno.E2BIG, errno.ENOMEM):
                raise
            self.count_incomplete(1)
            return False
        self._control[_HIERARCHIES] |= 1 << (key.hierarchy & 63)
        return True

    def unlist_cgroup(self, key: CgroupKey) -> None:
        self._maps["traced_cgroups"].delete(key.pack())

    def name_cgroup(self, place: Place, slot: int | None) -> None:
        key = _U64.pack(hash_of(place))
        if slot is None:
            self._maps["named_cgroups"].delete(key)
        else:
            self._maps["named_cgroups"].set(key, _U32.pack(slot))

    def watch_hierarchies(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._control[_HIERARCHIES] |= 1 << (number & 63)

    def release(self, slots: Collection[int]) -> tuple[set[int], Reading]:
        members = {slot for m in self.members().values() for slot in m[:8]}
        threads = {thread.slot for thread in self.list_threads()}
        listed = set(self.cgroups().values())
        free = set(slots) - members - threads - listed
        wait_for_programs()
        reading = self.read(sorted(free))
        if free:
            self.slots.release(free)
        return free, reading

    def events_lost(self) -> int:
        return self._control[_EVENTS_LOST]

    def folded_programs(self) -> int:
        return self._control[_FOLDED_PROGRAMS]

    def keep_edges(self, on: bool) -> None:
        self._syncs += on
        self._control[_SYNCING] = self._syncs if on else 0
        if not on:
            self._clear("edges")

    def _clear(self, name: str) -> None:
        for key, _ in list(self._maps[name].items()):
            self._maps[name].delete(key)

    def edges(self) -> dict[ProcessKey, ProcessKey]:
        return {
            ProcessKey.unpack(child): ProcessKey.unpack(parent)
            for child, parent in self._maps["edges"].items()
        }

    def edges_lost(self) -> int:
        return self._control[_EDGES_LOST]

    def count_incomplete(self, processes: int) -> None:
        self._unplaced += processes

    def sync_pass(self) -> Pass:
        results = [r for (r,) in _U32.iter_unpack(bpf.read_iterator(self._iterators["sync_tasks"]))]
        kinds = (records.SYNC_CHANGED, records.SYNC_NO_ROOM, records.SYNC_NO_STORAGE)
        return Pass(*map(results.count, kinds))

    def lost_processes(self) -> int:
        return self._control[_LOST_PROCESSES]

    def changes(self) -> int:
        return self._control[_CHANGES]

    def announce_change(self) -> None:
        self._control[_SETTLED] = 2**64 - 1

    def settle(self, changes: int) -> None:
        self._clear("waiting")
        self._control[_SETTLED] = changes

    def list_threads(self) -> list[Thread]:
        return Thread.unpack_all(bpf.read_iterator(self._iterators["scan_threads"]))

    def read(self, slots: Sequence[int]) -> Reading:
        errors: dict[int, dict[int, int]] = defaultdict(dict)
        error_entries = 0
        for key, value in self._maps["call_errors"].items():
            id_, error = records.ERROR_KEY.unpack(key)
            errors[id_][error] = _U64.unpack(value)[0]
            error_entries += 1
        wanted = set(slots)
        calls = {
            id_: (slot, records.NUMBER_OTHER) for id_, slot in self.slots.other_ids(slots).items()
        }
        call_entries = 0
        for key, value in self._maps["call_ids"].items():
            call_entries += 1
            slot, code = records.CALL_KEY.unpack(key)
            if slot in wanted:
                calls[_U32.unpack(value)[0]] = (slot, code)
        sums = aggregates.read(self._maps["syscall_aggregate"].fd, self.sizes, list(calls))
        raw = [
            RawCall(slot, code, added, errors.get(id_, {}))
            for (id_, (slot, code)), added in zip(calls.items(), sums, strict=True)
        ]
        entries = {
            "call_errors": error_entries,
            "call_ids": call_entries,
            "traced_cgroups": sum(1 for _ in self._maps["traced_cgroups"].items()),
            "traced_tgids": sum(1 for _ in self._maps["traced_tgids"].items()),
        }
        programs = [
            ProgramReading(name, info.run_ns, info.runs, info.skipped)
            for name, fd in self._loaded.programs.items()
            if (info := bpf.program_info(fd))
        ]
        lost = {
            records.LOST_REASONS[_U32.unpack(key)[0]]: _U64.unpack(value)[0]
            for key, value in self._maps["lost_calls"].items()
        }
        lost["incomplete_tree"] += self._unplaced
        lost["program_skipped"] = sum(program.skipped for program in programs)
        return Reading(
            calls=raw,
            threads=self.list_threads(),
            slots=self.slots.states(slots),
            lost_calls=lost,
            programs=programs,
            map_entries={name: (entries[name], self._maps[name].max_entries) for name in entries},
            monotonic_ns=time.monotonic_ns(),
        )

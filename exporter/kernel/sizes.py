"""How large each map is, worked out at start from the limits and the number of CPUs.

The bound is known before anything is loaded: `doctor` and `check` print it, the C program gets it
as -D constants. What the kernel adds to entries is counted in, after kernel/bpf/hashtab.c,
arraymap.c and bpf_local_storage.c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from exporter.kernel import records

CALLS_PER_TREE = 64  # on average; what finds no room is counted in the tree's `other`
CALLS_PER_SLOT = 512  # at most, so that one tree cannot take the room of all
ERRORS_PER_SLOT = 1024
AGGREGATE_BUDGET = 46 << 20  # bytes for all shards, unless one alone needs more
MAX_SHARDS = 8
MAX_EDGES = 32768
MAX_WAITING = 32768
MAX_CHILDREN = 512  # of one process that dies while a sync goes on
MAX_DYING = 8  # ancestors that end at the same time
MAX_CLIMB = 1024  # edges from a newborn to an ancestor that is known
CGROUPS_PER_TREE = 16  # hierarchies of v1
EXTRA_SLOTS = 64  # beyond limits.trees: what finds no slot of its own shares one for each target
MAX_STATES = 2048  # of the automata of one generation of rules
PATTERN_STATES = MAX_STATES - 64  # of these, for patterns; the rest stands for ends of texts
MAX_USERS = 1024
DOORBELL_PAGES = 64
EVENT_PAGES = 2048  # of the ring for spans: 8 MiB
MAX_CGROUP_STEPS = 256  # hierarchies, and levels above a process in those with listed cgroups
_PAGE = 4096
_CALL_WORDS = 80  # a bit for each number of the five ABIs
SCRATCH_BYTES = 8 * 7344  # struct texts, for each place that uses one
SPAN_SCRATCH_BYTES = (  # struct span_text and struct span_called
    records.SPAN_TEXT.size
    + records.SPAN_TEXT_BYTES
    + records.SPAN_CALL.size
    + records.SPAN_PATH_BYTES
)


def possible_cpus(sysfs: Path) -> int:
    """How many CPUs the kernel may ever have."""
    text = (sysfs / "devices/system/cpu/possible").read_text()
    return int(text.strip().replace(",", "-").split("-")[-1]) + 1


def _hash_bytes(entries: int, key: int, value: int, cpus: int) -> int:
    """Preallocated: struct htab_elem (48), key and value rounded to 8; a bucket (16) for each."""
    element = 48 + -(-key // 8) * 8 + -(-value // 8) * 8
    return (entries + cpus) * element + (1 << (entries - 1).bit_length()) * 16


@dataclass(frozen=True, slots=True)
class Sizes:
    """Entries of the maps. See `plan`."""

    scale: int
    cpus: int
    trees: int
    processes: int
    comms: int
    aggregates: int
    shards: int
    spans: bool = False  # whether the kernel tells of events

    @property
    def slots(self) -> int:
        return self.trees + EXTRA_SLOTS

    @property
    def cgroups(self) -> int:
        return max(4096, CGROUPS_PER_TREE * self.trees)

    @property
    def errors(self) -> int:
        return 2 * self.aggregates

    @property
    def aggregate_bytes(self) -> int:
        """Of one aggregate in one shard."""
        return records.aggregate_struct(self.scale).size

    def map_bytes(self) -> dict[str, int]:
        """Bytes of kernel memory by map, when full. Task storage is per followed thread."""
        size, cpus = self.aggregates, self.cpus
        elements = self.aggregate_bytes * size * self.shards
        sizes = {
            "syscall_aggregate": -(-elements // _PAGE) * _PAGE,
            "call_ids": _hash_bytes(size, records.CALL_KEY.size, 4, cpus),
            "free_ids": 4 * (size + 1),
            "call_errors": _hash_bytes(self.errors, records.ERROR_KEY.size, 8, cpus),
            "traced_tgids": _hash_bytes(
                self.processes, records.PROCESS_KEY.size, records.MEMBERSHIP.size, cpus
            ),
            "traced_cgroups": _hash_bytes(self.cgroups, records.CGROUP_KEY.size, 4, 0),
            "slots": _hash_bytes(self.slots, 4, records.SLOT_STATE.size, cpus),
            "trees": _hash_bytes(self.slots, 4, records.TREE.size, cpus),
            "groups": _hash_bytes(self.slots, records.GROUP_KEY.size, 4, 0),
            "named_cgroups": _hash_bytes(self.slots, 8, 4, 0),
            "rules": 2 * records.RULES.size,
            "states": 2 * MAX_STATES * records.ROW.size,
            "users": _hash_bytes(2 * MAX_USERS, records.USER_KEY.size, 8, 0),
            "scratch": SCRATCH_BYTES * cpus,
            "doorbell": (DOORBELL_PAGES + 4) * _PAGE,
            "waiting": _hash_bytes(
                MAX_WAITING, records.PROCESS_KEY.size, records.MEMBERSHIP.size, 0
            ),
            "edges": _hash_bytes(MAX_EDGES, records.PROCESS_KEY.size, records.PROCESS_KEY.size, 0),
        }
        return sizes | self._span_bytes() if self.spans else sizes

    def _span_bytes(self) -> dict[str, int]:
        return {
            "events": (EVENT_PAGES + 4) * _PAGE,
            "span_texts": SPAN_SCRATCH_BYTES * self.cpus,
            "span_rules": records.MAX_SPAN_RULES * records.span_rule_struct(_CALL_WORDS).size,
        }

    def total_bytes(self) -> int:
        return sum(self.map_bytes().values())

    def defines(self) -> list[str]:
        constants = {
            "SCALE": self.scale,
            "SHARDS": self.shards,
            "MAX_SLOTS": self.slots,
            "MAX_PROCESSES": self.processes,
            "MAX_AGGREGATES": self.aggregates,
            "MAX_ERRORS": self.errors,
            "MAX_EDGES": MAX_EDGES,
            "MAX_WAITING": MAX_WAITING,
            "MAX_CHILDREN": MAX_CHILDREN,
            "MAX_CLIMB": MAX_CLIMB,
            "MAX_DYING": MAX_DYING,
            "MAX_CGROUPS": self.cgroups,
            "MAX_GROUPS": self.comms,
            "MAX_STATES": 2 * MAX_STATES,
            "MAX_USERS": 2 * MAX_USERS,
            "DOORBELL_PAGES": DOORBELL_PAGES,
            "MAX_CGROUP_STEPS": MAX_CGROUP_STEPS,
            "CALLS_PER_SLOT": CALLS_PER_SLOT,
            "ERRORS_PER_SLOT": ERRORS_PER_SLOT,
        }
        if self.spans:
            constants |= {"SPANS": 1, "EVENT_PAGES": EVENT_PAGES}
        return [f"-D{name}={value}" for name, value in constants.items()]


def plan(
    trees: int, processes: int, scale: int, cpus: int, comms: int = 32, *, spans: bool = False
) -> Sizes:
    """Sizes for so many trees and followed processes on a machine with so many CPUs.

    Shards keep CPUs out of each other's cache lines; there are as many as the budget allows, a
    power of two, one at least.
    """
    aggregates = (CALLS_PER_TREE + 1) * trees + EXTRA_SLOTS + 1  # each slot's `other`; id 0: none
    one = Sizes(scale, cpus, trees, processes, comms, aggregates, 1, spans)
    fits = max(1, AGGREGATE_BUDGET // (one.aggregate_bytes * aggregates))
    shards = 1 << (min(fits, cpus, MAX_SHARDS).bit_length() - 1)
    return replace(one, shards=shards)

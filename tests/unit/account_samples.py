"""Accounts and readings made by hand, for tests of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.kernel.records import SlotState, Thread
from exporter.kernel.source import RawCall, Reading, Sums
from exporter.model.account import TreeInfo
from exporter.model.accounts import Accounts, Exposed
from exporter.model.admission import Costs, Price
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call
from exporter.model.target import Target

BUCKETS = 4
_ONE = Price(1, 1)
COSTS = Costs(
    target=_ONE * 2, own=_ONE * 11, call=Price(1, 2), call_bound=Price(0, 0), class_=Price(3, 1),
    class_bound=Price(1, 0), error=_ONE, in_flight=_ONE * 2, bounds=6,
)  # fmt: skip
GETPPID, GETPID, READ, WRITE, OPEN = 110, 39, 0, 1, 2  # of x86-64
POD = Target("pods", "kubernetes")
PRICES = COSTS.of(POD)


def accounts(limit: int = 10**6, *targets: Target, **settings: Any) -> Accounts:
    """With these targets listed at 1."""
    made = Accounts(limit, COSTS, **{"scale": 2, "keep_gone_ns": 300, **settings})
    assert made.room_for(targets)
    made.configure(targets, 1)
    return made


def plain(limit: int, *names: str) -> Accounts:
    """Each with one tree and no more labels, in the slots from 1 on."""
    targets = [Target(name, "pid", pid=41) for name in names]
    made = accounts(limit, *targets)
    for slot, target in enumerate(targets, start=1):
        made.open(slot, target, only(target.name), TreeInfo(), 1)
    return made


def only(name: str) -> LabelSet:
    return (("target", name),)


def pod(name: str, **labels: str) -> LabelSet:
    return (("target", "pods"), ("pod", name), *labels.items())


def reading(
    calls: list[RawCall] | None = None,
    threads: list[Thread] | None = None,
    slots: Mapping[int, SlotState] | None = None,
    now: int = 0,
) -> Reading:
    return Reading(calls or [], threads or [], slots or {}, {}, [], {}, now)


def raw(
    slot: int,
    code: int,
    untimed: int,
    buckets: tuple[int, ...] = (0,) * BUCKETS,
    errors: Mapping[int, int] | None = None,
    other_errors: int = 0,
) -> RawCall:
    return RawCall(slot, code, Sums(untimed, sum(buckets), other_errors, [*buckets]), errors or {})


def thread(tgid: int, slot: int, state: int, entry: int = 0, code: int = 0) -> Thread:
    return Thread(tgid, 1, entry, tgid * 10, slot, code, state)


def life(slot: int, *numbers: int) -> dict[int, SlotState]:
    """forks, execs, exits: ok, error, signal."""
    return {slot: SlotState(*numbers, *(0,) * (len(SlotState._fields) - len(numbers)))}


def by_name(exposed: Exposed) -> dict[tuple[LabelSet, str], Call]:
    named = {(call.labels, call.syscall): call for call in exposed.calls}
    assert len(named) == len(exposed.calls), "a label set is exposed twice"
    return named


def counts(exposed: Exposed) -> dict[tuple[str, str], int]:
    """(last label's value, call) -> count."""
    return {(call.labels[-1][1], call.syscall): call.count for call in exposed.calls}

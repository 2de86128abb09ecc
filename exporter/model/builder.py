"""From a reading of the kernel to a snapshot: numbers become names, slots become targets.

Trees with equal label sets are summed, calls of different ABIs with one name too. What the limit
does not admit goes into `other`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from exporter.kernel.records import Thread
from exporter.kernel.source import RawCall, Reading
from exporter.kernel.syscalls import OTHER
from exporter.model.account import Account, Life, Tree
from exporter.model.ledger import Kept, Total
from exporter.model.names import THREAD_STATES, Names, thread_state
from exporter.model.snapshot import Call, Exemplar, InFlight, TreeState
from exporter.model.spans.exemplars import Recent, keep_newest


def add_call(totals: dict[str, Total], tree: Tree, raw: RawCall, names: Names) -> None:
    """Adds one call of a tree to what its label set exposes, if there were any."""
    _, code, sums, errors = raw
    if not (sums.untimed or sums.sum_ns or any(sums.buckets)):
        return
    places = tree.account.places
    syscall = places.call(names.call(code), tree.since_ns)
    total = totals.get(syscall)
    if total is None:
        total = totals[syscall] = Total()
    total.parts.append(sums)
    for number, count in errors.items():
        if count:
            total.fail(places.error(syscall, names.error(number)), count)
    if sums.other_errors:
        total.fail(places.error(syscall, OTHER), sums.other_errors)


def build_calls(
    reading: Reading, names: Names, trees: Mapping[int, Tree], accounts: Iterable[Account],
    recent: Mapping[int, Recent] | None = None,
) -> list[Call]:  # fmt: skip
    """Every call of every label set, named, limited and summed with those of trees gone.

    `recent` are calls that may be exemplars, by slot.
    """
    found: dict[int, dict[str, Total]] = defaultdict(dict)
    for raw in reading.calls:
        tree = trees.get(raw.slot)
        if tree is not None:
            add_call(found[id(tree.account)], tree, raw, names)
    calls = []
    for account in accounts:
        totals = found.get(id(account), {})
        for syscall, kept in account.kept.items():
            totals.setdefault(syscall, Total()).add(kept)
        calls += _calls(account, totals, _exemplars(account, recent) if recent else {})
    return calls


def _exemplars(account: Account, recent: Mapping[int, Recent]) -> dict[str, dict[int, Exemplar]]:
    """The newest of each call exposed and bucket, of trees that ended lately too."""
    found: dict[str, dict[int, Exemplar]] = defaultdict(dict)
    for slot in (*account.trees.keys() & recent.keys(), *account.ended):
        for (syscall, bucket), exemplar in recent.get(slot, {}).items():
            shown = account.places.shown(syscall)
            if shown is not None:
                keep_newest(found[shown], {bucket: exemplar})
    return found


def _calls(
    account: Account, totals: dict[str, Total], exemplars: Mapping[str, Mapping[int, Exemplar]]
) -> list[Call]:
    places = account.places
    moved = {
        syscall: places.move(syscall, total.count, total.homeless)
        for syscall, total in totals.items()
        if total.homeless
    }
    if into_other := sum(moved.values()):
        other = totals.setdefault(OTHER, Total())
        other.add(Kept.without_duration(into_other, len(next(iter(totals.values())).buckets)))
        other.fail(OTHER, into_other)
    calls = [
        Call(
            labels=account.labels,
            syscall=syscall,
            untimed=total.untimed - moved.get(syscall, 0),
            sum_ns=total.sum_ns,
            buckets=total.buckets,
            errors=tuple(sorted(total.errors.items())),
            created_ns=places.calls[syscall],
            exemplars=_counted(exemplars[syscall], total.buckets) if syscall in exemplars else {},
        )
        for syscall, total in totals.items()
    ]
    places.remember({call.syscall: call.count for call in calls} if places.tight else {})
    return calls


def _counted(exemplars: Mapping[int, Exemplar], buckets: Sequence[int]) -> dict[int, Exemplar]:
    """Without those that were queued after the kernel was read."""
    return {bucket: one for bucket, one in sorted(exemplars.items()) if buckets[bucket]}


def build_in_flight(
    reading: Reading, names: Names, trees: Mapping[int, Tree], room: int
) -> list[InFlight]:
    """The calls that are in the kernel now, and the age of the oldest of each.

    So many as there is `room` for beside one of each label set, the oldest first: what is stuck
    is what people look for. The others are `other`, for now; a gauge may come and go.
    """
    begun: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    accounts: dict[int, Account] = {}
    for thread in reading.threads:
        tree = trees.get(thread.slot)
        if tree is not None and thread.entry_ns:
            account = tree.account
            accounts[id(account)] = account
            begun[id(account)][names.call(thread.code)].append(thread.entry_ns)
    left = {key: len(calls) for key, calls in begun.items()}  # those without a name yet
    shown: dict[tuple[int, str], list[int]] = defaultdict(list)
    by_age = sorted(
        (min(times), key, name) for key, calls in begun.items() for name, times in calls.items()
    )
    for _, key, name in by_age:
        times = begun[key][name]
        if left[key] == 1 or room > 0:  # the last one takes the place of its `other`
            room -= left[key] > 1
            left[key] -= 1
            shown[key, name] += times
        else:
            shown[key, OTHER] += times
    return [
        InFlight(accounts[key].labels, name, len(times), max(0, reading.monotonic_ns - min(times)))
        for (key, name), times in shown.items()
    ]


def build_trees(
    reading: Reading, trees: Mapping[int, Tree], accounts: Iterable[Account],
    born_ns: Callable[[int], int],
) -> list[TreeState]:  # fmt: skip
    """The life of each label set's processes, those of trees that are gone included.

    `born_ns` makes the time of day of a process' start, which is since boot.
    """
    threads: dict[int, list[Thread]] = defaultdict(list)
    for thread in reading.threads:
        tree = trees.get(thread.slot)
        if tree is not None:
            threads[id(tree.account)].append(thread)
    states = []
    for account in accounts:
        life = account.life
        for slot in account.trees.keys() & reading.slots.keys():
            life = life.plus(Life.of(reading.slots[slot]))
        states.append(_tree_state(account, threads.get(id(account), []), life, born_ns))
    return states


def _tree_state(
    account: Account, threads: list[Thread], life: Life, born_ns: Callable[[int], int]
) -> TreeState:
    states = Counter(thread_state(thread.state) for thread in threads)
    return TreeState(
        labels=account.labels,
        processes=len({thread.tgid for thread in threads}),
        threads={state: states[state] for state in THREAD_STATES},
        forks=life.forks,
        execs=life.execs,
        exits={"ok": life.exits_ok, "error": life.exits_error, "signal": life.exits_signal},
        created_ns=account.created_ns,
        began_ns=born_ns(min(thread.start_ns for thread in threads)) if threads else None,
        info=account.info,
    )

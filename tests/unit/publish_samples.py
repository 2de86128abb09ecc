"""A small snapshot with a bit of everything, names that hurt included."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.model.histogram import bucket_count, index_of
from exporter.model.labels import LabelSet
from exporter.model.resource import Resource
from exporter.model.snapshot import (
    Call,
    InFlight,
    MapFill,
    ProgramCost,
    Snapshot,
    TargetState,
    TreeState,
)

SCALE = 2
CREATED_NS = 1_700_000_000_123_456_789
HOSTILE = 'cgroup:/a"b\\c\nd\udcff'


def buckets(*durations_ns: int, scale: int = SCALE) -> list[int]:
    found = [0] * bucket_count(scale)
    for duration_ns in durations_ns:
        found[index_of(duration_ns, scale)] += 1
    return found


def only(target: str) -> LabelSet:
    """The label set of a target that has no other labels."""
    return (("target", target),)


def call(
    target: str | LabelSet,
    syscall: str,
    *durations_ns: int,
    untimed: int = 0,
    errors: tuple[tuple[str, int], ...] = (),
) -> Call:
    labels = only(target) if isinstance(target, str) else target
    return Call(
        labels, syscall, untimed, sum(durations_ns), buckets(*durations_ns), errors, CREATED_NS
    )


#: A tree of the target whose name hurts, with labels that hurt.
POD: LabelSet = (
    ("target", HOSTILE), ("pod", 'web-"0"'), ("workload", "w\\eb\n"), ("team", "a\udcff"),
)  # fmt: skip

#: Whose the series of either label set are.
RESOURCES: dict[LabelSet, Resource] = {
    only("ci"): (
        ("host.id", "0123"), ("process.pid", 4711), ("service.instance.id", "0123:ci"),
        ("service.name", "ci"),
    ),
    POD: (
        ("container.id", "ab" * 32), ("container.image.tags", ("1.25", "x\udcff")),
        ("k8s.pod.name", 'web-"0"'), ("service.instance.id", "ab" * 32),
        ("service.name", "w\\eb\n"), ("team", "a\udcff"),
    ),
}  # fmt: skip


def snapshot() -> Snapshot:
    return Snapshot(
        time_ns=CREATED_NS + 10**10,
        started_ns=CREATED_NS - 10**9,
        scale=SCALE,
        label_names=("target", "pod", "container", "workload", "team"),
        calls=[
            call("ci", "write", 1, 999, 1_000, 1_001, 5_000_000_000, 40_000_000_000),
            call("ci", "openat", 700, 701, 90_000, errors=(("EACCES", 1), ("ENOENT", 2))),
            call("ci", "exit_group", untimed=7),
            call(POD, "futex", 250_000_000, 1_000_000_000, 1_000_000_001, untimed=2),
        ],
        in_flight=[InFlight(POD, "futex", 3, 61_500_000_000)],
        trees=[
            TreeState(
                only("ci"), 2, {"running": 1, "sleeping": 4}, 7, 5, {"ok": 6, "signal": 1},
                CREATED_NS, {"kind": "pid", "root": "4711"}, CREATED_NS - 3_500_000_000,
            ),
            TreeState(
                POD, 0, {}, 0, 0, {}, CREATED_NS,
                {"kind": "cgroup", "root": '/a"b\\c\nd\udcff', "workload": "not shown twice",
                 "label_app": "x\udcff"},
            ),
        ],
        targets=[
            TargetState("ci", (), True, 1),
            TargetState(HOSTILE, (("team", "a\udcff"),), False, 0, bounds=(111, 119)),
        ],
        lost_calls={"map_full": 0, "storage_refused": 3},
        lost_events={"ring_full": 0},
        maps=[MapFill("traced_tgids", 2, 65536), MapFill("errors", 3, 4096)],
        programs=[ProgramCost("sys_enter", 1_234_567_891, 987654)],
        series_limit=20000,
        tree_slots=2,
        tree_limit=512,
        trees_held_back=1,
        trees_folded={"series_limit": 0, "tree_limit": 3},
        metadata_age_ns=1_500_000_000,
        metadata_failures={"refused": 2, "timeout": 0},
        metadata_pods=110,
        refused={"pidfile_invalid": 1},
        reload_success_time_ns=CREATED_NS,
        build_info={"version": "0.1.0", "kernel": "6.1.0-40-amd64"},
        resources=RESOURCES,
    )  # fmt: skip


def text_series(text: str) -> Iterator[str]:
    """Name and labels of each line: what must not be there twice."""
    for line in text.splitlines():
        if not line.startswith("#"):
            yield line.rpartition(" ")[0]

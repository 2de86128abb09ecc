"""Every key of the config, one entry each. The loader, the JSON Schema and the tests read it here.

To add a key: take it out of `PLANNED` if it stands there, give it an entry in `KEYS`, and a field
of the same name in model.py (a test compares the two).
"""

from __future__ import annotations

from dataclasses import dataclass

from exporter.config.buckets import BoundList
from exporter.config.cgroup_path import CgroupPath
from exporter.config.kinds import Always, Choice, Flag, Kind, Name, Section, TargetList, Whole
from exporter.model.histogram import MAX_SCALE

#: PID_MAX_LIMIT, include/linux/threads.h.
PID_MAX = 4 * 1024 * 1024

#: The names of the sections: the file itself and one target; the others are keys of the file.
TOP, TARGET = "config", "target"

#: The keys that say what a target is; each has exactly one of them.
TARGET_KINDS = ("pid", "cgroup", "all")


@dataclass(frozen=True, slots=True)
class Key:
    """One key: where it may stand, what it may hold, what holds without it, what it means."""

    section: str
    name: str
    kind: Kind
    default: bool | int | str | None
    doc: str

    @property
    def path(self) -> str:
        return self.name if self.section in (TOP, TARGET) else f"{self.section}.{self.name}"


# fmt: off
KEYS = (
    Key(TOP, "targets", TargetList(), None,
        "What to follow: PIDs, cgroups, or mappings that say more."),
    Key(TOP, "histograms", Section("histograms"), None,
        "What is kept of the durations, and how it goes out."),
    Key(TOP, "limits", Section("limits"), None,
        "Ceilings. Reaching one is a metric, not a crash."),
    Key(TOP, "self_cost", Flag(), False,
        "Publish the kernel's own statistics of our BPF programs."),
    Key(TARGET, "name", Name(), None,
        "The label `target`; by default pid:4711, cgroup:/a/path or all."),
    Key(TARGET, "pid", Whole(1, PID_MAX, "a PID"), None,
        "A root PID; looked up once, when the config is read."),
    Key(TARGET, "cgroup", CgroupPath(), None,
        "A cgroup and all below it: relative to the cgroup root, or absolute beneath it."),
    Key(TARGET, "all", Always(), None,
        "Every process that no other target holds."),
    Key(TARGET, "follow_forks", Flag(), True,
        "With `pid`: follow its descendants, too."),
    Key(TARGET, "buckets", BoundList(), None,
        "Classic `le` bounds in seconds, each one of the kernel's; by default 2^-20 to 2^4 by 4."),
    Key("histograms", "by", Choice(("syscall", "class", "both")), "syscall",
        "One histogram per call, per class of calls, or both."),
    Key("histograms", "classic", Flag(), True,
        "Publish classic buckets (`le`)."),
    Key("histograms", "native", Flag(), True,
        "Publish native histograms to those who ask for protobuf."),
    Key("histograms", "scale", Whole(0, MAX_SCALE), 2,
        "The kernel keeps 2^scale buckets to the octave."),
    Key("limits", "series", Whole(1_000, 10_000_000), 20_000,
        "Exposed samples, buckets included."),
    Key("limits", "trees", Whole(1, 4_096), 64,
        "Trees followed at once."),
    Key("limits", "processes", Whole(16, PID_MAX), 32_768,
        "Processes followed at once."),
)
# fmt: on

#: Keys of later versions, refused by name: who copies from newer docs shall not be sent to a
#: key that only looks alike.
PLANNED = {
    TOP: ("exclude", "group_by", "keep_gone", "kubernetes", "labels", "metadata_timeout", "otlp",
          "static_labels"),
    TARGET: ("container", "exclude", "group_by", "keep_gone", "kubernetes", "labels", "match",
             "pidfile", "spans", "static_labels", "systemd"),
}  # fmt: skip

#: The sections there are, in the order of the file.
SECTIONS = tuple(dict.fromkeys(key.section for key in KEYS))


def keys_of(section: str) -> dict[str, Key]:
    """The keys of one section by name, in the order of the docs."""
    return {key.name: key for key in KEYS if key.section == section}

"""What a person listed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["pid", "pidfile", "cgroup", "systemd", "container", "kubernetes", "match", "all"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text to compare with: a glob, or a regular expression, both of the whole text."""

    text: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """Which processes are meant: each of these that is given must hold, by one of its entries.

    Of all programs' bytes: `exe` as /proc/PID/exe names it, `comm`, `cmdline` with blanks between
    the arguments, and the effective user, by name or UID.
    """

    exe: tuple[Pattern, ...] = ()
    comm: tuple[Pattern, ...] = ()
    cmdline: tuple[Pattern, ...] = ()
    user: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerWords:
    """Which containers are meant, whatever runs them."""

    name: tuple[Pattern, ...] = ()
    image: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class PodWords:
    """Which containers of which pods are meant; without any words, all."""

    namespace: tuple[Pattern, ...] = ()
    pod: tuple[Pattern, ...] = ()
    container: tuple[Pattern, ...] = ()
    labels: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()  # of the pod, by key


@dataclass(frozen=True, slots=True)
class SpanWords:
    """Which spans a target has: of intervals, of processes, and of which of its calls.

    Of the calls named by `syscalls` (none: of all) those become spans that took `slower_than_ns`,
    failed with one of `errors`, or were sampled; all of those named if nothing else is asked.
    """

    intervals: bool = False
    processes: bool = False
    slower_than_ns: int | None = None
    errors: tuple[str, ...] = ()
    syscalls: tuple[str, ...] = ()
    sample: float = 0.0
    max_per_second: int = 1000
    command_args: bool = False
    traceparent: bool = False

    @property
    def calls(self) -> bool:
        """Whether single calls become spans."""
        asked = self.slower_than_ns is not None or self.sample > 0
        return asked or bool(self.errors or self.syscalls)

    @property
    def from_events(self) -> bool:
        """Whether the kernel has to tell of events."""
        return self.processes or self.calls


@dataclass(frozen=True, slots=True)
class Target:
    """What to follow: one tree, or as many as there are cgroups that match.

    `cgroup` begins with "/" and has no trailing slash (but for "/" itself); with `pattern` it is a
    glob. If `absolute`, it was given beneath the cgroup root, which was taken off: on v1 and hybrid
    machines its first component then names the hierarchy; which one that is, the kernel's floor
    decides. `buckets` are classic bounds in seconds, of the kernel's, exactly; None means the
    default ones.
    """

    name: str
    kind: Kind
    pid: int | None = None
    cgroup: str | None = None
    follow_forks: bool = True
    buckets: tuple[float, ...] | None = None
    line: int = 0
    absolute: bool = False
    pattern: bool = False
    pidfile: str | None = None
    systemd: str | None = None  # a unit, with its suffix
    match: Words | None = None
    container: ContainerWords | None = None
    kubernetes: PodWords | None = None
    exclude: tuple[Words, ...] = field(default=())
    static_labels: tuple[tuple[str, str], ...] = ()
    group_by: Literal["", "comm", "exe"] = ""
    spans: SpanWords = SpanWords()

    @property
    def many(self) -> bool:
        """Whether each cgroup that matches is a tree of its own."""
        return self.pattern or self.kind in ("container", "kubernetes")

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes it the same target after a reload: what it follows, and its labels."""
        return (
            self.name, self.kind, self.pid, self.cgroup, self.absolute, self.pattern, self.pidfile,
            self.systemd, self.match, self.container, self.kubernetes, self.static_labels,
            self.group_by,
        )  # fmt: skip

    @property
    def root(self) -> str:
        """What was listed, as text; "" where words say it."""
        listed = self.cgroup or self.pidfile or self.systemd
        return listed or ("" if self.pid is None else str(self.pid))

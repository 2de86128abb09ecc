"""What a person listed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One tree to follow.

    `cgroup` begins with "/" and has no trailing slash (but for "/" itself). If `absolute`, it was
    given beneath the cgroup root, which was taken off: on v1 and hybrid machines its first
    component then names the hierarchy; which one that is, the kernel's floor decides.
    `buckets` are classic bounds in seconds, of the kernel's, exactly; None means the default ones.
    """

    name: str
    kind: str  # "pid", "cgroup", "all"
    pid: int | None
    cgroup: str | None
    follow_forks: bool
    buckets: tuple[float, ...] | None
    line: int
    absolute: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes it the same target after a reload."""
        return (self.name, self.kind, self.pid, self.cgroup, self.absolute)

    @property
    def root(self) -> str:
        """What was listed, as text."""
        return self.cgroup or ("" if self.pid is None else str(self.pid))

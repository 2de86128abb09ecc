"""Files of the node beneath --path.rootfs, opened without trusting who made them.

Links are followed inside the root, as after chroot(2): an absolute link of the node leads to the
node's file, and none leads out. Each step is opened from the folder before it, and `..` goes back
to that, so that nothing that is moved meanwhile leads out, either. openat2(2) could do it in one
go; but whether it opens for writing no seccomp filter can see. What is found is looked at before
it is opened: to open a FIFO may block, and to open a device may do anything.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAX_LINKS, _MAX_DEPTH = 40, 64  # the former as the kernel: include/linux/namei.h


def open_in_root(root: int, path: str) -> int:
    """A descriptor for reading a regular file or a folder; `root` is one of the root folder.

    Raises OSError, also for what is neither.
    """
    place = _find(root, path)
    try:
        kind = os.fstat(place).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise OSError(errno.EINVAL, "it is neither a file nor a folder", path)
        return os.open(f"/proc/self/fd/{place}", _FLAGS)
    finally:
        os.close(place)


def _find(root: int, path: str) -> int:
    """A descriptor that only names what is there."""
    if "\0" in path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    steps = [os.dup(root)]  # from the root to where we are
    links, words = 0, deque(path.split("/"))
    try:
        while words:
            word = words.popleft()
            if word == "..":
                _go_back(steps, max(1, len(steps) - 1))
            elif word not in ("", "."):
                steps.append(os.open(word, _PLACE, dir_fd=steps[-1]))
                if stat.S_ISLNK(os.fstat(steps[-1]).st_mode):
                    target = os.readlink("", dir_fd=steps[-1])
                    words.extendleft(reversed(target.split("/")))
                    _go_back(steps, 1 if target.startswith("/") else len(steps) - 1)
                    links += 1
            if links > _MAX_LINKS or len(steps) > _MAX_DEPTH:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return steps.pop()
    finally:
        _go_back(steps, 0)


def _go_back(steps: list[int], number: int) -> None:
    while len(steps) > number:
        os.close(steps.pop())

"""Files of the node beneath --path.rootfs, opened without trusting who made them.

openat2(2) resolves every link inside the root, as after chroot(2): an absolute link of the node
leads to the node's file, and none leads out. What is found is looked at before it is opened: to
open a FIFO may block, and to open a device may do anything.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat

_NR_OPENAT2 = 437  # on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_IN_ROOT = 0x02, 0x10  # include/uapi/linux/openat2.h
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAX_TRIES = 8  # with `..` in the way openat2 fails where something was renamed meanwhile

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_MAGICLINKS | _RESOLVE_IN_ROOT)


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
    for _ in range(_MAX_TRIES):
        found = int(
            _libc.syscall(
                ctypes.c_long(_NR_OPENAT2), ctypes.c_int(root), os.fsencode(path),
                ctypes.byref(_HOW), ctypes.c_size_t(ctypes.sizeof(_HOW)),
            )
        )  # fmt: skip
        if found >= 0:
            return found
        error = ctypes.get_errno()
        if error != errno.EAGAIN:
            break
    raise OSError(error, os.strerror(error), path)

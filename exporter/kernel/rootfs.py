"""Files of the node beneath --path.rootfs, opened without trusting who made them.

openat2(2) resolves every link inside the root, as after chroot(2): an absolute link of the node
leads to the node's file, and none leads out. A FIFO does not block.
"""

from __future__ import annotations

import ctypes
import os

_NR_OPENAT2 = 437  # on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_IN_ROOT = 0x02, 0x10  # include/uapi/linux/openat2.h
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW = _OpenHow(_FLAGS, 0, _RESOLVE_NO_MAGICLINKS | _RESOLVE_IN_ROOT)


def open_in_root(root: int, path: str) -> int:
    """A descriptor for reading; `root` is one of the root folder. Raises OSError."""
    result = int(
        _libc.syscall(
            ctypes.c_long(_NR_OPENAT2), ctypes.c_int(root), os.fsencode(path),
            ctypes.byref(_HOW), ctypes.c_size_t(ctypes.sizeof(_HOW)),
        )
    )  # fmt: skip
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), path)
    return result

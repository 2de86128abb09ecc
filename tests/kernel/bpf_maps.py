"""What is in the maps of a running exporter, read from outside."""

from __future__ import annotations

import ctypes
import os

from bench.processes import fdinfo
from exporter.kernel import bpf

_GET_FD_BY_ID, _GET_INFO = 14, 15
_HASH = 1
_INFO_BYTES, _NAME_AT, _NAME_BYTES = 88, 24, 16  # include/uapi/linux/bpf.h: struct bpf_map_info


def entries(pid: int) -> dict[str, int]:
    """How many each of its hash maps has, by the map's name, as far as the kernel keeps it."""
    ids = {int(info["map_id"]) for info in fdinfo(pid) if info.get("map_type") == str(_HASH)}
    found = {}
    for id_ in ids:
        fd = bpf._bpf(_GET_FD_BY_ID, bpf._attr("<III", id_, 0, 0))
        try:
            found[_name(fd)] = sum(1 for _ in bpf.Map(fd).items())
        finally:
            os.close(fd)
    return found


def _name(fd: int) -> str:
    info = bpf._buffer(_INFO_BYTES)
    bpf._bpf(_GET_INFO, bpf._attr("<IIQ", fd, len(info), ctypes.addressof(info)))
    return info.raw[_NAME_AT : _NAME_AT + _NAME_BYTES].rstrip(b"\0").decode()

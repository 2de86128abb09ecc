"""The hash by which the kernel knows a cgroup's path: the same path is one tree in all hierarchies,
or, where a target is about one hierarchy alone, in that one."""

from __future__ import annotations

import os
from typing import NamedTuple

_CHUNK = 32  # bpf/texts.c
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


class Place(NamedTuple):
    """A path in one hierarchy, by its number; None: in any."""

    hierarchy: int | None
    path: str


def hash_of(place: Place) -> int:
    """FNV-1a of 64 bits over the text and the zeros up to the end of its last chunk; then the
    hierarchy's number, plus 1."""
    text = os.fsencode(place.path)
    value = _OFFSET
    for byte in text.ljust((len(text) // _CHUNK + 1) * _CHUNK, b"\0"):
        value = (value ^ byte) * _PRIME & _MASK
    if place.hierarchy is None:
        return value
    return (value ^ place.hierarchy + 1) * _PRIME & _MASK

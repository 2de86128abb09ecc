"""The hash by which the kernel knows a cgroup's path: the same path is one tree in all hierarchies."""

from __future__ import annotations

_CHUNK = 32  # bpf/texts.c
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def hash_of(text: bytes) -> int:
    """FNV-1a of 64 bits over the text and the zeros up to the end of its last chunk."""
    value = _OFFSET
    for byte in text.ljust((len(text) // _CHUNK + 1) * _CHUNK, b"\0"):
        value = (value ^ byte) * _PRIME & _MASK
    return value

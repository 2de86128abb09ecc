"""The bpf(2) system call, as far as we need it, on file descriptors.

bcc compiles and loads in a child process; what the exporter itself holds are descriptors, so it
needs neither bcc nor LLVM in its memory. Layouts: include/uapi/linux/bpf.h, union bpf_attr.
All functions raise OSError.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_NR_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]

_MAP_CREATE, _MAP_LOOKUP_ELEM, _MAP_UPDATE_ELEM, _MAP_DELETE_ELEM = range(4)
_PROG_LOAD, _OBJ_GET_INFO_BY_FD, _RAW_TRACEPOINT_OPEN = 5, 15, 17
_MAP_LOOKUP_AND_DELETE_ELEM = 21
_MAP_LOOKUP_BATCH, _LINK_CREATE, _ENABLE_STATS, _ITER_CREATE = 24, 28, 32, 33
#: All that is needed once everything is attached.
LATE_COMMANDS = (
    _MAP_LOOKUP_ELEM, _MAP_UPDATE_ELEM, _MAP_DELETE_ELEM, _OBJ_GET_INFO_BY_FD,
    _MAP_LOOKUP_AND_DELETE_ELEM, _MAP_LOOKUP_BATCH, _ITER_CREATE,
)  # fmt: skip

_LOG_BYTES = 1 << 24
_MAP_TYPE_ARRAY = 2
PROG_TYPE_RAW_TRACEPOINT, PROG_TYPE_TRACING = 17, 26
ATTACH_RAW_TP, ATTACH_ITER = 23, 28  # BPF_TRACE_RAW_TP, BPF_TRACE_ITER

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _bpf(command: int, attr: ctypes.Array[ctypes.c_char]) -> int:
    result = int(
        _libc.syscall(ctypes.c_long(_NR_BPF), ctypes.c_int(command), attr, ctypes.c_uint(len(attr)))
    )
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _attr(layout: str, *values: int | bytes) -> ctypes.Array[ctypes.c_char]:
    data = struct.pack(layout, *values)
    return ctypes.create_string_buffer(data, len(data))


def _buffer(data: bytes | int) -> ctypes.Array[ctypes.c_char]:
    if isinstance(data, int):
        return ctypes.create_string_buffer(data)
    return ctypes.create_string_buffer(data, len(data))


def create_array() -> int:
    """The smallest map that there is, to see whether we may make one. Returns its descriptor."""
    return _bpf(_MAP_CREATE, _attr("<IIII", _MAP_TYPE_ARRAY, 4, 4, 1))


def load_program(
    program_type: int, name: str, code: bytes, attach_type: int = 0, btf_id: int = 0
) -> int:
    """Loads bytecode and returns the program's descriptor. The verifier's log is in the error."""
    instructions, license_ = _buffer(code), _buffer(b"GPL\0")
    for log_level in (0, 1):  # the log costs time and memory: only where it has something to say
        log = _buffer(_LOG_BYTES * log_level)
        attr = _attr(
            "<IIQQIIQII16sIIIIQIIQII",
            program_type, len(code) // 8,
            ctypes.addressof(instructions), ctypes.addressof(license_), log_level,
            len(log), ctypes.addressof(log) if log_level else 0,
            0, 0, name.encode()[:15], 0, attach_type, 0, 0, 0, 0, 0, 0, 0, btf_id,
        )  # fmt: skip
        try:
            return _bpf(_PROG_LOAD, attr)
        except OSError as error:
            if log_level:
                text = log.value.decode(errors="replace")
                lines = [line for line in text.splitlines() if line and line[0] not in ";p"]
                raise OSError(
                    error.errno, f"{error.strerror}: {' / '.join(lines[-3:])}", name
                ) from None
    raise AssertionError("not reached")


def attach_raw_tracepoint(program: int, name: str | None) -> int:
    """Attaches a raw tracepoint by name, a BTF tracepoint by none. Returns the link."""
    text = _buffer(name.encode() + b"\0") if name else None
    return _bpf(
        _RAW_TRACEPOINT_OPEN, _attr("<QII", ctypes.addressof(text) if text else 0, program, 0)
    )


def link_iterator(program: int) -> int:
    return _bpf(_LINK_CREATE, _attr("<IIIIQII", program, 0, ATTACH_ITER, 0, 0, 0, 0))


def read_iterator(link: int) -> bytes:
    """One whole pass: all that the program wrote."""
    fd = _bpf(_ITER_CREATE, _attr("<II", link, 0))
    chunks = []
    try:
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    finally:
        os.close(fd)
    return b"".join(chunks)


def enable_run_statistics() -> int:
    """Run times of all programs of the machine, as long as the descriptor is open."""
    return _bpf(_ENABLE_STATS, _attr("<I", 0))


@dataclass(frozen=True, slots=True)
class ProgramInfo:
    """The kernel's own view of a program."""

    id: int
    run_ns: int
    runs: int
    skipped: int  # recursion_misses: events at which the kernel did not run it


def program_info(fd: int) -> ProgramInfo:
    info = _buffer(256)
    _bpf(_OBJ_GET_INFO_BY_FD, _attr("<IIQ", fd, len(info), ctypes.addressof(info)))
    raw = info.raw
    run_ns, runs, skipped = struct.unpack_from("<QQQ", raw, 192)
    return ProgramInfo(struct.unpack_from("<I", raw, 4)[0], run_ns, runs, skipped)


def map_info(fd: int) -> tuple[int, int, int]:
    """(key size, value size, max entries) in bytes, bytes and entries."""
    info = _buffer(96)
    _bpf(_OBJ_GET_INFO_BY_FD, _attr("<IIQ", fd, len(info), ctypes.addressof(info)))
    key, value, entries = struct.unpack_from("<III", info.raw, 8)
    return key, value, entries


class Map:
    """A map by its descriptor. Keys and values are bytes, laid out as records.py says."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.key_size, self.value_size, self.max_entries = map_info(fd)
        self._value = _buffer(max(self.value_size, 8))

    def get(self, key: bytes) -> bytes | None:
        try:
            self._element(_MAP_LOOKUP_ELEM, key, self._value, 0)
        except FileNotFoundError:
            return None
        return self._value.raw[: self.value_size]

    def set(self, key: bytes, value: bytes) -> None:
        self._element(_MAP_UPDATE_ELEM, key, _buffer(value), 0)

    def push(self, value: bytes) -> None:
        """Of a queue."""
        self._element(_MAP_UPDATE_ELEM, b"", _buffer(value), 0)

    def pop(self) -> bytes | None:
        """Of a queue; None where it is empty."""
        try:
            self._element(_MAP_LOOKUP_AND_DELETE_ELEM, b"", self._value, 0)
        except FileNotFoundError:
            return None
        return self._value.raw[: self.value_size]

    def delete(self, key: bytes) -> bool:
        try:
            self._element(_MAP_DELETE_ELEM, key, None, 0)
        except FileNotFoundError:
            return False
        return True

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries, in chunks by BPF_MAP_LOOKUP_BATCH. What changes meanwhile may be missed."""
        count = min(self.max_entries, 4096)
        keys, values = _buffer(self.key_size * count), _buffer(self.value_size * count)
        token = _buffer(max(self.key_size, 8))
        first, done = True, False
        while not done:
            attr = _attr(
                "<QQQQIIQQ",
                0 if first else ctypes.addressof(token), ctypes.addressof(token),
                ctypes.addressof(keys), ctypes.addressof(values), count, self.fd, 0, 0,
            )  # fmt: skip
            first = False
            try:
                _bpf(_MAP_LOOKUP_BATCH, attr)
            except FileNotFoundError:
                done = True  # the last chunk
            found = struct.unpack_from("<I", attr.raw, 32)[0]
            all_keys, all_values = keys.raw, values.raw
            for i in range(found):
                yield (
                    all_keys[i * self.key_size : (i + 1) * self.key_size],
                    all_values[i * self.value_size : (i + 1) * self.value_size],
                )

    def _element(
        self, command: int, key: bytes, value: ctypes.Array[ctypes.c_char] | None, flags: int
    ) -> None:
        raw_key = _buffer(key) if key else None
        _bpf(
            command,
            _attr(
                "<IIQQQ", self.fd, 0,
                ctypes.addressof(raw_key) if raw_key else 0,
                ctypes.addressof(value) if value else 0, flags,
            ),
        )  # fmt: skip

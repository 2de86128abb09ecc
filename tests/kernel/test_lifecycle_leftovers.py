"""After any end nothing of ours is left in the kernel: asked from the kernel, by id."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from exporter.kernel.procfs import parse_status
from tests.caller import alive, caller, children, until
from tests.harness import exporter

_NR_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
_PROG_GET_FD_BY_ID, _MAP_GET_FD_BY_ID, _LINK_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD = 13, 14, 30, 15
_KINDS = {"prog_id": _PROG_GET_FD_BY_ID, "map_id": _MAP_GET_FD_BY_ID, "link_id": _LINK_GET_FD_BY_ID}
_libc = ctypes.CDLL(None, use_errno=True)


class Object(NamedTuple):
    """A program, map or link; ids go up and are not given out again soon."""

    kind: str
    id: int


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = int(_libc.syscall(_NR_BPF, command, buffer, len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _maps_of_program(fd: int) -> list[int]:
    """struct bpf_prog_info: nr_map_ids at 52, map_ids at 56."""
    ids = (ctypes.c_uint32 * 64)()
    info = ctypes.create_string_buffer(64)
    struct.pack_into("<IQ", info, 52, len(ids), ctypes.addressof(ids))
    _bpf(_OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", fd, len(info), ctypes.addressof(info)))
    return list(ids[: struct.unpack_from("<I", info, 52)[0]])


def held_by(pid: int) -> set[Object]:
    """What a process has descriptors of, and the maps that its programs use besides."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            fields = parse_status(descriptor.read_text())
        except FileNotFoundError:  # a connection that is closed by now
            continue
        found |= {Object(kind, int(fields[kind])) for kind in _KINDS if kind in fields}
    for program in [o for o in found if o.kind == "prog_id"]:
        fd = _bpf(_PROG_GET_FD_BY_ID, struct.pack("<III", program.id, 0, 0))
        found |= {Object("map_id", id_) for id_ in _maps_of_program(fd)}
        os.close(fd)
    return found


def in_kernel(objects: Iterable[Object]) -> set[Object]:
    """Those that are there still. Looking keeps none of them."""
    left = set()
    for thing in objects:
        try:
            os.close(_bpf(_KINDS[thing.kind], struct.pack("<III", thing.id, 0, 0)))
            left.add(thing)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
    return left


def test_nothing_is_left_after_kill_9() -> None:
    """The kernel frees asynchronously: we wait until all is gone, by id."""
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]") as running:
        it.call(1009)
        assert running.scrape().calls("it", "getppid") == 1009
        objects = held_by(running.pid)
        kinds = [thing.kind for thing in objects]
        assert kinds.count("prog_id") >= 9
        assert kinds.count("map_id") >= 13
        assert kinds.count("link_id") >= 6
        assert in_kernel(objects) == objects
        running.process.kill()
        running.process.wait()
        until(lambda: not in_kernel(objects), "the kernel has freed all of it")


def test_nothing_is_left_after_sigterm() -> None:
    """Nor after a clean end, while what was followed lives on."""
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]") as running:
        it.call(1009)
        objects = held_by(running.pid)
        assert running.stop() == 0
        until(lambda: not in_kernel(objects), "the kernel has freed all of it")


def test_kill_9_while_it_compiles_leaves_no_compiler() -> None:
    """The child that compiles does not outlive the exporter, at whatever moment that is killed."""
    with exporter("[1]", ready=False) as running:
        compiler = until(lambda: children(running.pid), "it compiles")
        for pid in compiler:
            os.kill(pid, signal.SIGSTOP)  # it cannot end by itself any more
        running.process.kill()
        running.process.wait()
        until(lambda: not any(map(alive, compiler)), "the compiler is gone")


def test_after_kill_9_another_one_starts_from_zero() -> None:
    """The task storage of the dead one is in nobody's way."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config) as first:
            it.call(1013)
            os.kill(first.pid, signal.SIGKILL)
            first.process.wait()
        with exporter(config) as second:
            it.call(2003)
            scrape = second.scrape()
            assert scrape.calls("it", "getppid") == 2003
            assert scrape.lost() == 0

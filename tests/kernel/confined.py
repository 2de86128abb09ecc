"""Gives up what the exporter gives up, then tries things; says as JSON what became of each.

    python -m tests.kernel.confined PID ADDRESS SOCKET FOLDER [free]

PID has 8 bytes at ADDRESS, SOCKET is a listening one of AF_UNIX, FOLDER is empty; `free` gives
nothing up. Only ever a process of its own.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import mmap
import os
import platform
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporter.kernel import bpf, privileges
from exporter.kernel.confinement import confine
from exporter.kernel.syscalls import load_names, native_abis

NUMBERS = {name: n for n, name in load_names(native_abis(platform.machine())[0]).items()}
_RETURN_0 = bytes.fromhex("b7000000000000009500000000000000")
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int) -> int:
    result = _libc.syscall(*map(ctypes.c_long, (NUMBERS[name], *arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return int(result)


def memory(pid: int) -> int:
    return os.open(f"/proc/{pid}/mem", os.O_RDONLY)


def child() -> None:
    if not os.fork():
        os._exit(0)


def thread() -> None:
    it = threading.Thread(target=lambda: None)
    it.start()
    it.join()


def of_a_buffer(size: int) -> int:
    buffer = ctypes.create_string_buffer(size)
    _kept.append(buffer)
    return ctypes.addressof(buffer)


_kept: list[Any] = []


def seek_and_read(fd: int, where: int) -> bytes:
    os.lseek(fd, where, os.SEEK_SET)
    return os.read(fd, 8)


def refused(pid: int, address: int, path: str, folder: Path) -> dict[str, Callable[[], Any]]:
    """What nobody may do who took the exporter over."""
    file = folder / "file"
    return {
        "fork": child,
        "vfork and exec": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "a new namespace": lambda: call("unshare", 0x04000000),  # CLONE_NEWUTS
        "another's namespace": lambda: call(
            "setns", os.open(f"/proc/{pid}/ns/uts", os.O_RDONLY), 0
        ),
        "ptrace": lambda: call("ptrace", 0x4206, pid, 0, 0),  # PTRACE_SEIZE
        "process_vm_readv": lambda: call("process_vm_readv", pid, 0, 0, 0, 0, 0),
        "pidfd_open": lambda: call("pidfd_open", pid, 0),
        "memory by pread": lambda: os.pread(memory(pid), 8, address),
        "memory by preadv": lambda: os.preadv(memory(pid), [bytearray(8)], address),
        "memory by lseek": lambda: seek_and_read(memory(pid), address),
        "memory by steps": lambda: os.lseek(memory(pid), 4096, os.SEEK_CUR),
        "a signal": lambda: os.kill(pid, 0),
        "a signal to a thread": lambda: call("tgkill", pid, pid, 0),
        "another's limits": lambda: call("prlimit64", pid, 7, 0, of_a_buffer(16)),
        "a new file": lambda: os.open(file, os.O_RDONLY | os.O_CREAT),
        "to write a file": lambda: os.open(file, os.O_WRONLY),
        "to read and write a file": lambda: os.open(file, os.O_RDWR),
        "to cut a file": lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
        "to open by a pointer": lambda: call("openat2", -100, of_a_buffer(1), of_a_buffer(24), 24),
        "to rename a file": lambda: file.rename(file),
        "to remove a file": lambda: file.unlink(),
        "a file without a name": lambda: call("memfd_create", of_a_buffer(8), 0),
        "a folder": lambda: (folder / "folder").mkdir(),
        "a map": bpf.create_array,
        "a program": lambda: bpf.load_program(1, "none", _RETURN_0),
        "a tracepoint": lambda: bpf.attach_raw_tracepoint(0, "sys_enter"),
        "run statistics": bpf.enable_run_statistics,
        "perf_event_open": lambda: call("perf_event_open", 0, 0, 0, 0, 0),
        "a socket of an engine": lambda: socket.socket(socket.AF_UNIX).connect(path),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "raw packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
        "to listen": lambda: socket.socket().listen(),
        "to bind": lambda: socket.socket().bind(("127.0.0.1", 0)),
        "to push into a terminal": lambda: call("ioctl", 0, 0x5412, of_a_buffer(1)),  # TIOCSTI
        "code that can be written": lambda: mmap.mmap(-1, 4096, prot=7),
        "to make code of data": lambda: call("mprotect", page(), 4096, 5),
        "io_uring": lambda: call("io_uring_setup", 1, of_a_buffer(120)),
        "userfaultfd": lambda: call("userfaultfd", 0),
        "another filter": lambda: call("seccomp", 2, 0, of_a_buffer(4)),
        "other capabilities": lambda: call("capset", of_a_buffer(8), of_a_buffer(24)),
        "another user": lambda: os.setresuid(-1, -1, -1),
        "dumps of ourselves": lambda: call("prctl", 4, 1),  # PR_SET_DUMPABLE
    }  # fmt: skip


def page() -> int:
    it = mmap.mmap(-1, 4096)
    _kept.append(it)
    return ctypes.addressof(ctypes.c_char.from_buffer(it))


def allowed(pid: int, array: int, port: int) -> dict[str, Callable[[], Any]]:
    """What it goes on to need."""
    return {
        "a thread": thread,
        "exe": lambda: Path(f"/proc/{pid}/exe").readlink(),
        "environ": lambda: Path(f"/proc/{pid}/environ").read_bytes(),
        "a file": lambda: Path("/etc/passwd").read_text(),
        "a folder": lambda: list(Path("/proc").iterdir()),
        "to begin a file anew": lambda: seek_and_read(os.open("/etc/passwd", os.O_RDONLY), 4),
        "a map": lambda: bpf.Map(array).set(bytes(4), bytes(4)),
        "to ask the kernel about a map": lambda: bpf.map_info(array),
        "a connection": lambda: socket.create_connection(("127.0.0.1", port)).close(),
        "a name": lambda: socket.getaddrinfo("localhost", 80),
        "a module with a library": lambda: importlib.import_module("ssl"),
        "a signal to itself": lambda: call("tgkill", os.getpid(), threading.get_native_id(), 0),
        "time": lambda: threading.Event().wait(0.001),
        "random": lambda: os.urandom(8),
        "ours again": lambda: privileges.held(),
    }  # fmt: skip


def outcome(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "ok"


def main(pid: str, address: str, path: str, folder: str, *free: str) -> None:
    array = bpf.create_array()
    listener = socket.create_server(("127.0.0.1", 0))
    Path(folder, "file").touch()
    lacks = [] if free else confine(array)
    attempts = {
        "refused": refused(int(pid), int(address), path, Path(folder)),
        "allowed": allowed(int(pid), array, listener.getsockname()[1]),
    }
    said = {kind: {what: outcome(f) for what, f in of.items()} for kind, of in attempts.items()}
    print(json.dumps({**said, "lacks": lacks}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A container as one finds it in a cluster, for estimates: a service that runs a few programs.

It makes 60 different calls of eleven classes; a dozen of them fail in the ways that are no fault;
four threads wait.
"""

from __future__ import annotations

from exporter.kernel.records import CODE_ABI_SHIFT, Thread
from exporter.kernel.source import RawCall, Reading, Sums
from exporter.kernel.syscalls import Abi, load_errnos, load_names

_CALLS = """
read write openat close newfstatat fstat lseek pread64 pwrite64 readv writev fcntl ioctl
getdents64 readlink faccessat2 getcwd mkdir unlink rename fsync dup2 epoll_ctl epoll_create1
socket connect bind listen getsockname getpeername setsockopt getsockopt sendto recvfrom
shutdown epoll_wait poll accept4 wait4 futex set_robust_list clock_nanosleep mmap munmap
mprotect madvise brk clone3 execve exit_group getpid prlimit64 rt_sigaction rt_sigprocmask
tgkill pipe2 eventfd2 getuid getrandom uname
"""
CALLS = tuple(_CALLS.split())
ERRORS = (
    ("openat", "ENOENT"), ("newfstatat", "ENOENT"), ("faccessat2", "ENOENT"), ("mkdir", "EEXIST"),
    ("readlink", "EINVAL"), ("ioctl", "ENOTTY"), ("read", "EAGAIN"), ("recvfrom", "EAGAIN"),
    ("accept4", "EAGAIN"), ("connect", "EINPROGRESS"), ("futex", "EAGAIN"), ("wait4", "ECHILD"),
)  # fmt: skip
IN_FLIGHT = ("futex", "epoll_wait", "clock_nanosleep", "wait4")


def reading(trees: int) -> Reading:
    """What the kernel would say of so many trees of this kind, in the slots from 1 on."""
    codes = {name: Abi.X86_64 << CODE_ABI_SHIFT | number
             for number, name in load_names(Abi.X86_64).items()}  # fmt: skip
    errnos = {name: number for number, name in load_errnos().items()}
    failed = {call: {errnos[errno]: 1 for c, errno in ERRORS if c == call} for call in CALLS}
    once = Sums(untimed=1, sum_ns=0, other_errors=0, buckets=[0])
    slots = range(1, trees + 1)
    calls = [RawCall(slot, codes[name], once, failed[name]) for slot in slots for name in CALLS]
    threads = [
        Thread(slot, 1, 1, slot, slot, codes[name], 1) for slot in slots for name in IN_FLIGHT
    ]
    return Reading(calls, threads, {}, {}, [], {}, 1)

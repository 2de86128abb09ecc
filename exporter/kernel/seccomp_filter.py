"""The system calls that we make once all is attached, and no others. The only file that imports
seccomp, libseccomp's own binding (Debian: python3-seccomp).

What is not on the list does not exist (ENOSYS): the C library then takes an older way, as on an
older kernel, and nothing is killed. No process can be started, followed by ptrace or signalled, no
file opened for writing, no program loaded into the kernel, no socket of a container engine reached.
Structures behind pointers cannot be looked at: so neither clone3 nor openat2 is there.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

from exporter.kernel import bpf

MISSING = (
    "libseccomp's binding is not there for this Python: apt-get install python3-seccomp, and make"
    " the virtual environment from /usr/bin/python3 with --system-site-packages"
)

#: Whatever their arguments. A name that a machine does not have is left out by libseccomp.
CALLS = """
    read readv write writev close fstat newfstatat statx statfs fstatfs stat lstat getdents64
    access faccessat faccessat2 readlink readlinkat getcwd fcntl dup dup2 dup3 fadvise64

    poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd2 pipe2 timerfd_create timerfd_settime timerfd_gettime

    connect accept accept4 getsockname getpeername getsockopt setsockopt shutdown
    sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg

    brk munmap mremap madvise membarrier

    futex sched_yield sched_getaffinity sched_getparam sched_getscheduler getcpu
    set_robust_list set_tid_address rseq gettid exit exit_group restart_syscall
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack

    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time
    getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups capget
    getrandom getrusage getrlimit sysinfo times uname
"""

# include/uapi/linux/sched.h: a thread of ours, and no new namespace
_CLONE_THREAD, _CLONE_NEW = 0x10000, 0x7E020080
# include/uapi/asm-generic/mman-common.h
_PROT_WRITE, _PROT_EXEC = 2, 4
# include/uapi/linux/prctl.h: names of threads and of memory
_PRCTLS = (15, 16, 0x53564D41)
# include/uapi/asm-generic/ioctls.h, sockios.h: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX,
# FIOCLEX, SIOCGIFINDEX; others reach into any driver
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x8933)
# Of an offset. Nobody has memory below 64 KiB: none is read by /proc/PID/mem.
_ALL, _HIGH = 0xFFFFFFFF_FFFFFFFF, 0xFFFFFFFF_FFFF0000


class When(NamedTuple):
    """An argument of a call, as far as the mask shows it, is a value."""

    argument: int
    value: int = 0
    mask: int = 0xFFFFFFFF


def conditions() -> Iterator[tuple[str, tuple[When, ...]]]:
    """Calls that may be made where all of the conditions hold; as often as named, where any do."""
    for command in bpf.LATE_COMMANDS:
        yield "bpf", (When(0, command),)
    for family in (socket.AF_INET, socket.AF_INET6):
        yield "socket", (When(0, family),)
    for call, flags in (("open", 1), ("openat", 2)):
        yield call, (When(flags, os.O_RDONLY, os.O_ACCMODE | os.O_CREAT | os.O_TRUNC),)
    yield "clone", (When(0, _CLONE_THREAD, _CLONE_THREAD | _CLONE_NEW),)
    # What is writable is never executed. The C library loads its name services late.
    for prot in (0, _PROT_WRITE, _PROT_EXEC):
        yield "mmap", (When(2, prot, _PROT_WRITE | _PROT_EXEC),)
    yield "mprotect", (When(2, 0, _PROT_EXEC),)
    yield "lseek", (When(1, 0, _ALL),)  # "where am I"
    yield "lseek", (When(1, 0, _HIGH), When(2, os.SEEK_SET))
    yield "pread64", (When(3, 0, _HIGH),)
    for option in _PRCTLS:
        yield "prctl", (When(0, option),)
    for request in _IOCTLS:
        yield "ioctl", (When(1, request),)
    for call, pid in (("prlimit64", 0), ("tgkill", os.getpid())):
        yield call, (When(0, pid),)


def load() -> str:
    """For all threads, those that are there included. Returns why not; "" if it is loaded."""
    try:
        build().load()
    except (ImportError, AttributeError):  # the latter: something else of that name
        return MISSING
    except (OSError, RuntimeError) as error:  # the latter is the binding's for any other errno
        return f"the kernel refuses it: {error}"
    return ""


def build() -> Any:
    """libseccomp's filter, not loaded yet. Raises ImportError without its binding."""
    import seccomp  # type: ignore[import-not-found]

    denied = seccomp.ERRNO(errno.ENOSYS)
    found = seccomp.SyscallFilter(denied)
    found.set_attr(seccomp.Attr.ACT_BADARCH, denied)  # calls of another ABI
    found.set_attr(seccomp.Attr.CTL_TSYNC, 1)
    for name in CALLS.split():
        found.add_rule(seccomp.ALLOW, name)
    for name, all_of in conditions():
        arguments = [seccomp.Arg(w.argument, seccomp.MASKED_EQ, w.mask, w.value) for w in all_of]
        found.add_rule(seccomp.ALLOW, name, *arguments)
    return found

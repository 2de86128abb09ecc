"""Compiles and loads the C program. The only file that imports bcc.

bcc brings clang and LLVM, over 100 MiB. So a forked child compiles, loads, hands the descriptors
of maps and programs over a socket and ends: the exporter itself stays small, and nothing of ours
is in the kernel once both are gone.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import platform
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import KernelError
from exporter.kernel import bpf, records
from exporter.kernel.buckets import shifted_bounds
from exporter.kernel.fields import KernelFields
from exporter.kernel.sizes import Sizes
from exporter.kernel.syscalls import load_errnos, load_names, native_abis

SOURCES = (
    "maps.c", "spans.c", "aggregate.c", "texts.c", "membership.c", "syscalls.c", "events.c",
    "lifecycle.c", "naming.c", "iterators.c",
)  # fmt: skip
MAPS = (
    "tasks", "traced_tgids", "traced_cgroups", "control", "slots", "trees", "spare_slots", "groups",
    "rules", "states", "users", "named_cgroups", "lost_calls", "edges", "waiting",
    "syscall_aggregate", "call_ids", "free_ids", "known_calls", "call_errors", "doorbell",
)  # fmt: skip
SPAN_MAPS = ("span_rules", "span_arguments", "tails", "events")  # where spans are asked for
RAW_TRACEPOINTS = {"on_sys_enter": "sys_enter", "on_sys_exit": "sys_exit"}
CALL_SPAN = "on_call_span"  # on_sys_exit goes on with it
ONLY_FOR_SPANS = ("on_exec_span",)
ITERATORS = ("list_processes", "sync_tasks", "scan_threads")
_X32_GETPID = 0x40000000 + 39
_MISSING_BCC = (
    "bcc is not installed for {python}: apt-get install python3-bpfcc, and make the virtual"
    " environment from /usr/bin/python3 with --system-site-packages"
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Descriptors of what is in the kernel, by the names in bpf/."""

    maps: dict[str, int]
    programs: dict[str, int]


def source_folder() -> Path:
    """bpf/: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "bpf", package.parent / "bpf"):
        if (folder / "maps.c").is_file():
            return folder
    raise KernelError(f"the C program is not there: expected {package / 'bpf' / 'maps.c'}")


def missing_bcc() -> str:
    """What to do where bcc is not there."""
    return _MISSING_BCC.format(python=sys.executable)


def bcc_version() -> str | None:
    """The version of bcc, or None where it is not installed. Costs what importing bcc costs."""
    try:
        import bcc
    except ImportError:
        return None
    return str(bcc.__version__)


def _defines(sizes: Sizes, fields: KernelFields) -> list[str]:
    return [
        *sizes.defines(),
        *fields.defines(),
        *(f"-DBOUND_{k}={bound}ULL" for k, bound in enumerate(shifted_bounds(sizes.scale))),
        f"-DKNOWN_WORDS={known_words()}",
        f"-DMAX_ERRNO={max(number for number in load_errnos() if number < 512)}",
        f"-DPAGE_SIZE={os.sysconf('SC_PAGE_SIZE')}",
        *(["-DHAVE_X32"] if _has_x32() else []),
    ]


def _has_x32() -> bool:
    """Whether this kernel runs x32 calls: only then does bit 30 of a number mean an ABI."""
    if platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(ctypes.c_long(_X32_GETPID)) == os.getpid())


def program_text(folder: Path) -> str:
    """All of the program as one text: bcc rewrites only the main file."""
    parts = (f'#line 1 "{name}"\n{(folder / name).read_text()}' for name in SOURCES)
    return "\n".join(parts)


def _compile(sizes: Sizes, fields: KernelFields) -> Loaded:
    """In the child: compile with bcc, load all programs."""
    folder = source_folder()
    os.environ["BCC_KERNEL_SOURCE"] = str(folder / "kernel_headers")
    try:
        import bcc
    except ImportError as error:
        raise KernelError(missing_bcc()) from error
    flags = [f"-I{folder}", "-Wno-macro-redefined", *_defines(sizes, fields)]
    module = bcc.BPF(text=program_text(folder), cflags=flags)
    names = (*MAPS, *SPAN_MAPS) if sizes.spans else MAPS
    maps = {name: bcc.lib.bpf_table_fd(module.module, name.encode()) for name in names}

    programs = {}
    for name in (*RAW_TRACEPOINTS, CALL_SPAN) if sizes.spans else RAW_TRACEPOINTS:
        programs[name] = bpf.load_program(
            bpf.PROG_TYPE_RAW_TRACEPOINT, name, module.dump_func(name.encode())
        )
    for name, btf_id in fields.tracepoints.items():
        if name in ONLY_FOR_SPANS and not sizes.spans:
            continue
        programs[name] = bpf.load_program(
            bpf.PROG_TYPE_TRACING, name, module.dump_func(name.encode()),
            bpf.ATTACH_RAW_TP, btf_id,
        )  # fmt: skip
    for name in ITERATORS:
        programs[name] = bpf.load_program(
            bpf.PROG_TYPE_TRACING, name, module.dump_func(name.encode()),
            bpf.ATTACH_ITER, fields.iterator,
        )  # fmt: skip
    return Loaded(maps, programs)


def _child(channel: socket.socket, sizes: Sizes, fields: KernelFields, parent: int) -> None:
    """Compiles and sends; what bcc prints goes with the error, not to the terminal."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: do not outlive the exporter
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # A terminal or an engine signals both; the exporter decides, and PDEATHSIG ends us with it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    log = os.memfd_create("bcc")
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        loaded = _compile(sizes, fields)
    except KernelError as error:
        channel.send(json.dumps({"error": str(error)}).encode())
    except Exception as error:
        os.lseek(log, 0, os.SEEK_SET)
        said = os.read(log, 1 << 16).decode(errors="replace").splitlines()
        detail = next((line for line in said if "error:" in line), said[0] if said else "")
        text = f"{getattr(error, 'strerror', None) or error}"
        name = getattr(error, "filename", None)
        what = f"{name or 'bcc'}: {text} {detail}".strip()
        channel.send(json.dumps({"error": what[:2000]}).encode())
    else:
        names = {"maps": list(loaded.maps), "programs": list(loaded.programs)}
        descriptors = [*loaded.maps.values(), *loaded.programs.values()]
        socket.send_fds(channel, [json.dumps(names).encode()], descriptors)


def load(sizes: Sizes, fields: KernelFields) -> Loaded:
    """Compiles and loads in a child, and takes over the descriptors.

    Must run before any thread starts. Raises KernelError with what bcc or the verifier said.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            _child(theirs, sizes, fields, parent)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        data, ancillary, _, _ = ours.recvmsg(1 << 16, socket.CMSG_SPACE(64 * 4))
    _, status = os.waitpid(pid, 0)
    if not data and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
        raise KernelError(
            "a seccomp filter killed the compiler: let it make calls of x32, too, which asks"
            " whether the kernel runs such programs (systemd: SystemCallArchitectures=native x32)"
        )
    if not data:
        raise KernelError("the compiler ended without a word: is there enough memory (150 MiB)?")
    message = json.loads(data)
    if "error" in message:
        raise KernelError(f"the kernel program could not be loaded: {message['error']}")
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[: len(content) - len(content) % 4])
    names = message["maps"] + message["programs"]
    by_name = dict(zip(names, descriptors, strict=True))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return Loaded(
        {name: by_name[name] for name in message["maps"]},
        {name: by_name[name] for name in message["programs"]},
    )


def known_words() -> int:
    """How many words of 64 bits hold a bit for each number of each ABI of this machine."""
    return (max(native_abis(platform.machine())) + 1) * records.NUMBERS // 64


def known_call_words() -> list[int]:
    """For known_calls: bit `number % 64` of word `abi * 16 + number // 64` for each known call."""
    words = [0] * known_words()
    for abi in native_abis(platform.machine()):
        for number in load_names(abi):
            bit = call_bit(abi, number)
            words[bit // 64] |= 1 << bit % 64
    return words


def call_bit(abi: int, number: int) -> int:
    """Where a known call stands among all. ARM's private calls (0xf0000…) are at the end of its
    table, see bpf/arch.h."""
    place = number if number < records.NUMBERS - 16 else records.NUMBERS - 16 + number % 16
    return abi * records.NUMBERS + place

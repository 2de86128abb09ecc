"""What differs between kernels, decided from BTF at start and never assumed.

Offsets of struct fields and the types of tracepoints go to the C program as -D constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import KernelError
from exporter.kernel import btf

#: Linux 5.15: bpf_task_pt_regs, task_struct.__state, task storage in tracing programs.
FLOOR = (5, 15)

_COMMON = (
    "task_struct.__state",
    "task_struct.bpf_storage",
    "task_struct.cgroups",
    "task_struct.children",
    "task_struct.comm",
    "task_struct.cred",
    "task_struct.exit_code",
    "task_struct.exit_state",
    "task_struct.flags",
    "task_struct.group_leader",
    "task_struct.mm",
    "task_struct.pid",
    "task_struct.real_parent",
    "task_struct.sibling",
    "task_struct.signal",
    "task_struct.start_boottime",
    "task_struct.tgid",
    "signal_struct.flags",
    "signal_struct.group_exit_code",
    "signal_struct.live",
    "task_struct.files",
    "css_set.cgrp_links",
    "cgrp_cset_link.cgrp",
    "cgrp_cset_link.cgrp_link",
    "cgroup.kn",
    "cgroup.level",
    "cgroup.root",
    "cgroup.self.parent",
    "cgroup_root.hierarchy_id",
    "kernfs_node.id",
    "cred.euid",
    "mm_struct.arg_end",
    "mm_struct.arg_start",
    "mm_struct.env_end",
    "mm_struct.env_start",
    "mm_struct.exe_file",
    "files_struct.fdt",
    "inode.i_mode",
    "fdtable.fd",
    "fdtable.max_fds",
    "file.f_inode",
    "file.f_path.dentry",
    "file.f_path.mnt",
    "dentry.d_name.len",
    "dentry.d_name.name",
    "dentry.d_parent",
    "mount.mnt",
    "mount.mnt_mountpoint",
    "mount.mnt_parent",
    "vfsmount.mnt_root",
)
_ARCH = {
    "x86_64": (
        "task_struct.thread_info.status",
        "pt_regs.orig_ax",
        "pt_regs.bx",
        "pt_regs.cx",
        "pt_regs.di",
        "pt_regs.si",
    ),
    "aarch64": (
        "task_struct.thread_info.flags",
        "pt_regs.syscallno",
        "pt_regs.orig_x0",
        "pt_regs.regs",
    ),
}
#: Program -> tracepoint, and what it needs among the arguments.
TRACEPOINTS = {
    "on_fork": ("sched_process_fork", {"task_struct": 2}),
    "on_exec": ("sched_process_exec", {"task_struct": 1}),
    "on_exec_span": ("sched_process_exec", {"task_struct": 1}),
    "on_exit": ("sched_process_exit", {"task_struct": 1}),
    "on_cgroup_attach": ("cgroup_attach_task", {"task_struct": 1, "cgroup": 1}),
    "on_cgroup_mkdir": ("cgroup_mkdir", {"cgroup": 1}),
    "on_cgroup_rmdir": ("cgroup_rmdir", {"cgroup": 1}),
}
ITERATOR = "bpf_iter_task"
STORAGE_GET = "bpf_task_storage_get_recur"


@dataclass(frozen=True, slots=True)
class KernelFields:
    """Offsets in bytes by path, and BTF ids of what programs attach to."""

    offsets: dict[str, int]
    tracepoints: dict[str, int]  # program -> id of typedef btf_trace_*
    arguments: dict[str, int]  # "on_fork_task_1" -> which argument is the second task_struct
    iterator: int  # id of function bpf_iter_task
    storage_lookup_may_fail: bool  # Linux 5.15 to 6.1

    def defines(self) -> list[str]:
        """As the compiler wants them: -DOFF_task_struct_tgid=1234."""
        return [
            *(f"-DOFF_{path.replace('.', '_')}={at}" for path, at in self.offsets.items()),
            *(f"-DARG_{name}={index}" for name, index in self.arguments.items()),
            *(["-DSTORAGE_LOOKUP_MAY_FAIL"] if self.storage_lookup_may_fail else []),
        ]


def read(path: Path, machine: str) -> KernelFields:
    """What this kernel has. Raises KernelError naming all that is missing."""
    if machine not in _ARCH:
        raise KernelError(f"processor {machine} is not supported: x86_64 and aarch64 are")
    paths = _COMMON + _ARCH[machine]
    structs = {p.partition(".")[0] for p in paths}
    typedefs = {f"btf_trace_{name}" for name, _ in TRACEPOINTS.values()}
    types = btf.read(path, structs | typedefs | {ITERATOR, STORAGE_GET})

    missing = []
    offsets = {}
    for member in paths:
        offset = types.offset(member)
        if offset is None:
            missing.append(member)
        else:
            offsets[member] = offset
    points: dict[str, int] = {}
    arguments: dict[str, int] = {}
    for program, (name, needed) in TRACEPOINTS.items():
        typedef = types.typedef_id(f"btf_trace_{name}")
        # The first argument of the type is the tracepoint's private data: programs do not see it.
        found = types.pointed_structs(typedef)[1:] if typedef else []
        if typedef is None or any(found.count(kind) < count for kind, count in needed.items()):
            missing.append(f"tracepoint {name}")
            continue
        points[program] = typedef
        for kind in needed:
            at = [index for index, struct in enumerate(found) if struct == kind]
            short = kind.removesuffix("_struct")
            arguments |= {f"{program}_{short}_{nth}": index for nth, index in enumerate(at)}
    iterator = types.func_id(ITERATOR)
    if iterator is None:
        missing.append("task iterators")
    if missing or iterator is None:
        raise KernelError(
            f"this kernel's BTF lacks {', '.join(missing)}: Linux {FLOOR[0]}.{FLOOR[1]} or newer,"
            " with task storage and iterators, is needed"
        )
    # Up to 6.1 the helper gives up where it finds its per-CPU counter taken. Since 6.2 the variant
    # that programs like ours get does not. (The newest kernels have lost both name and counter:
    # there the check is made in vain, which costs little.)
    may_fail = types.func_id(STORAGE_GET) is None
    return KernelFields(offsets, points, arguments, iterator, may_fail)

"""Fields and tracepoints by name, from BTF built by hand and from this kernel's own."""

from __future__ import annotations

import platform
import re
import struct
import subprocess
from pathlib import Path
from shutil import which

import pytest

from exporter.errors import KernelError
from exporter.kernel import btf, fields
from exporter.kernel.btf import Btf

VMLINUX = Path("/sys/kernel/btf/vmlinux")
INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, CONST = 1, 2, 3, 4, 5, 6, 8, 10
FUNC, FUNC_PROTO, VAR, ENUM64 = 12, 13, 14, 19
Words = tuple[int, ...]


class Blob:
    """Builds BTF, type by type: https://docs.kernel.org/bpf/btf.html"""

    def __init__(self) -> None:
        self._strings = b"\0"
        self._types = b""
        self._count = 0

    def _string(self, text: str) -> int:
        if not text:
            return 0
        at = len(self._strings)
        self._strings += text.encode() + b"\0"
        return at

    def add(
        self, kind: int, name: str = "", last: int = 0, more: Words = (), vlen: int = 0,
        flag: int = 0,
    ) -> int:  # fmt: skip
        info = flag << 31 | kind << 24 | vlen
        words = (self._string(name), info, last, *more)
        self._types += struct.pack(f"<{len(words)}I", *words)
        self._count += 1
        return self._count

    def compound(
        self, kind: int, name: str, members: list[tuple[str, int, int]], flag: int = 0
    ) -> int:
        """Of members (name, type, offset in bits)."""
        more = [word for n, type_, bits in members for word in (self._string(n), type_, bits)]
        return self.add(kind, name, 64, tuple(more), len(members), flag)

    def data(self) -> bytes:
        sizes = (0, len(self._types), len(self._types), len(self._strings))
        return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, *sizes) + self._types + self._strings


def tiny() -> tuple[bytes, dict[str, int]]:
    """Every kind of type that must be stepped over, and what is looked for behind them."""
    blob = Blob()
    ids = {"int": blob.add(INT, "int", 4, (0x20,))}
    blob.add(ARRAY, "", 0, (ids["int"], ids["int"], 3))
    blob.add(ENUM, "e", 4, (0, 1, 0, 2), 2)
    blob.add(ENUM64, "e64", 8, (0, 1, 0, 0, 2, 0), 2)
    blob.add(VAR, "v", ids["int"], (1,))
    info = blob.compound(STRUCT, "thread_info", [("flags", 1, 0), ("status", 1, 64)])
    constant = blob.add(CONST, "", info)
    alias = blob.add(TYPEDEF, "info_t", constant)
    inner = blob.compound(STRUCT, "", [("deep", 1, 32), ("deeper", 1, 96)])
    union = blob.compound(UNION, "", [("left", 1, 0), ("", inner, 0)])
    task = blob.compound(
        STRUCT, "task_struct", [("thread_info", alias, 0), ("pid", 1, 128), ("", union, 256)]
    )
    # With the kind flag, the upper 8 bits of an offset are the width of a bit field.
    blob.compound(STRUCT, "packed", [("bit", 1, 3 << 24 | 40), ("whole", 1, 64)], flag=1)
    pointer = blob.add(PTR, "", task)
    void = blob.add(PTR, "", 0)
    proto = blob.add(FUNC_PROTO, "", 0, (0, void, 0, pointer, 0, ids["int"], 0, pointer), 4)
    ids["typedef"] = blob.add(TYPEDEF, "btf_trace_fork", blob.add(PTR, "", proto))
    ids["func"] = blob.add(FUNC, "bpf_iter_task", proto)
    blob.add(STRUCT, "btf_trace_fork", 0)  # the same name, another kind
    return blob.data(), ids


NAMES = ("task_struct", "packed", "btf_trace_fork", "bpf_iter_task", "thread_info")


def test_offsets() -> None:
    """Through typedefs, const and anonymous members, as C finds them; None for the rest."""
    found = Btf.parse(tiny()[0], NAMES)
    expected = {
        "task_struct.pid": 16,
        "task_struct.thread_info.status": 8,
        "task_struct.thread_info": 0,
        "task_struct.left": 32,
        "task_struct.deep": 36,
        "task_struct.deeper": 44,
        "packed.bit": 5,
        "packed.whole": 8,
        "task_struct.nothing": None,
        "task_struct.pid.more": None,
        "nothing.at_all": None,
    }
    assert {path: found.offset(path) for path in expected} == expected


def test_only_what_was_asked_for_is_known() -> None:
    """A name that is there but was not asked for is not found, nor one that is in no string."""
    found = Btf.parse(tiny()[0], ("packed", "no_such_name"))
    assert found.offset("task_struct.pid") is None
    assert found.offset("packed.whole") == 8
    assert found.typedef_id("no_such_name") is None


def test_ids_by_kind() -> None:
    """A typedef, a function and a struct may share a name."""
    data, ids = tiny()
    found = Btf.parse(data, NAMES)
    assert found.typedef_id("btf_trace_fork") == ids["typedef"]
    assert found.func_id("bpf_iter_task") == ids["func"]
    assert found.func_id("btf_trace_fork") is None


def test_arguments_of_a_tracepoint() -> None:
    """Which of them point to which struct: what differs between kernels."""
    data, ids = tiny()
    found = Btf.parse(data, NAMES)
    assert found.pointed_structs(ids["typedef"]) == [None, "task_struct", None, "task_struct"]


@pytest.mark.parametrize("data", [b"", b"\x9f\xeb", b"\x7fELF" + b"\0" * 100, b"\xeb\x9f" * 50])
def test_what_is_no_btf(data: bytes) -> None:
    """One clear error, not a traceback."""
    with pytest.raises(KernelError, match="BTF"):
        Btf.parse(data, NAMES)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The message names the path and the kernel's setting."""
    with pytest.raises(KernelError, match="CONFIG_DEBUG_INFO_BTF"):
        btf.read(tmp_path / "vmlinux", NAMES)


def test_what_a_kernel_lacks_is_named_all_at_once(tmp_path: Path) -> None:
    """Fields, tracepoints and iterators: one message for all that is missing."""
    path = tmp_path / "vmlinux"
    path.write_bytes(tiny()[0])
    with pytest.raises(KernelError) as caught:
        fields.read(path, "x86_64")
    text = str(caught.value)
    for missing in ("task_struct.tgid", "kernfs_node.id", "tracepoint sched_process_fork"):
        assert missing in text
    assert "task_struct.pid," not in text
    assert "task iterators" not in text
    assert "5.15" in text


def test_another_processor_is_refused(tmp_path: Path) -> None:
    """Before the file is even looked at."""
    with pytest.raises(KernelError, match="riscv64"):
        fields.read(tmp_path / "none", "riscv64")


@pytest.mark.skipif(not VMLINUX.exists(), reason="this kernel has no BTF")
def test_this_kernels_own() -> None:
    """All that we need is there, and goes to the compiler as numbers."""
    found = fields.read(VMLINUX, platform.machine())
    assert set(found.tracepoints) == set(fields.TRACEPOINTS)
    assert found.iterator > 0
    assert found.arguments["on_fork_task_0"] < found.arguments["on_fork_task_1"]
    for define in found.defines():
        assert re.fullmatch(r"-D(OFF|ARG)_\w+=\d+", define)


@pytest.mark.skipif(
    not (VMLINUX.exists() and which("bpftool")), reason="needs this kernel's BTF and bpftool"
)
def test_this_kernels_own_as_bpftool_reads_it() -> None:
    """Offsets of plain members agree with those that bpftool prints."""
    dump = subprocess.run(
        ["bpftool", "btf", "dump", "file", str(VMLINUX)], capture_output=True, text=True
    ).stdout
    body = re.search(r"^\[\d+\] STRUCT 'task_struct'.*\n((?:\t.*\n)+)", dump, re.MULTILINE)
    assert body
    plain = dict(re.findall(r"\t'(\w+)' type_id=\d+ bits_offset=(\d+)\n", body[1]))
    found = btf.read(VMLINUX, ["task_struct"])
    for name in ("tgid", "pid", "signal", "group_leader", "real_parent", "start_boottime"):
        assert found.offset(f"task_struct.{name}") == int(plain[name]) // 8

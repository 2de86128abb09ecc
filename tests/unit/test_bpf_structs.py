"""bpf/types.h, compiled on this machine, is what exporter/kernel/records.py says it is."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from exporter.kernel import records, sizes
from exporter.kernel.bcc_source import known_words, source_folder
from exporter.kernel.buckets import MAX_SCALE
from exporter.kernel.syscalls import Abi

BPF = source_folder()
CONSTANTS = {
    "SLOT_EXCLUDED": records.SLOT_EXCLUDED,
    "CODE_ABI_SHIFT": records.CODE_ABI_SHIFT,
    "CODE_NUMBER": records.CODE_NUMBER,
    "NUMBER_UNKNOWN": records.NUMBER_UNKNOWN,
    "NUMBER_OTHER": records.NUMBER_OTHER,
    "NUMBERS": records.NUMBERS,
    "ERRNO_UNKNOWN": records.ERRNO_UNKNOWN,
    "PROCESS_ALIVE": records.PROCESS_ALIVE,
    "PROCESS_KERNEL": records.PROCESS_KERNEL,
    "PROCESS_KNOWN": records.PROCESS_KNOWN,
    "SYNC_CHANGED": records.SYNC_CHANGED,
    "SYNC_NO_ROOM": records.SYNC_NO_ROOM,
    "SYNC_NO_STORAGE": records.SYNC_NO_STORAGE,
    "LOST_REASONS": len(records.LOST_REASONS),
    **{f"LOST_{reason.upper()}": i for i, reason in enumerate(records.LOST_REASONS)},
    **{f"ABI_{abi.name}": abi.value for abi in Abi},
    "EVENT_CHANGED": records.EVENT_CHANGED,
    "EVENT_CGROUP": records.EVENT_CGROUP,
    "EVENT_CGROUP_GONE": records.EVENT_CGROUP_GONE,
    "EVENT_GROUP": records.EVENT_GROUP,
    "MAX_RULES": records.MAX_RULES,
    "TEXT_BYTES": records.TEXT_BYTES,
    "FIELDS": len(records.FIELD_NAMES),
    **{f"FIELD_{name.upper()}": i for i, name in enumerate(records.FIELD_NAMES)},
    **{f"GROUP_BY_{name.upper() or 'NOTHING'}": i for i, name in enumerate(records.GROUP_BY)},
    **{
        name: value
        for name, value in vars(records).items()
        if re.match(r"(SPANS?|MARK)_[A-Z_]+$", name) and isinstance(value, int)
    },
    "ARGUMENT_PATH": records.ARGUMENT_PATH,
    "ARGUMENT_FD": records.ARGUMENT_FD,
    "ARGUMENT_EXEC": records.ARGUMENT_EXEC,
    "ERROR_WORDS": records.ERROR_WORDS,
    "MAX_SPAN_RULES": records.MAX_SPAN_RULES,
}
SPAN_EVENT = ("kind", "slot", "key.tgid", "key.reserved", "key.start_ns", "time_ns")
TOLD = tuple(f"event.{name}" for name in SPAN_EVENT)
PARENT = ("parent.tgid", "parent.reserved", "parent.start_ns")
#: As Python unpacks them, with the C names of what Python's tuples hold.
STRUCTS: dict[str, tuple[struct.Struct, tuple[str, ...]]] = {
    "process_key": (records.PROCESS_KEY, ("tgid", "reserved", "start_ns")),
    "cgroup_key": (records.CGROUP_KEY, ("hierarchy", "reserved", "id")),
    "call_key": (records.CALL_KEY, ("slot", "code")),
    "error_key": (records.ERROR_KEY, ("id", "error")),
    "membership": (records.MEMBERSHIP, (*records.Membership._fields, "sync")),
    "slot_state": (records.SLOT_STATE, records.SlotState._fields),
    "tree": (records.TREE, records.TreeSettings._fields),
    "group_key": (records.GROUP_KEY, ("slot", "reserved", "hash")),
    "user_key": (records.USER_KEY, ("generation", "uid")),
    "control": (
        records.CONTROL,
        (
            "changes", "settled", "hierarchies", "syncing", "edges_lost", "generation",
            "events_lost", "folded_groups", "lost_processes", "span_events_lost",
        ),
    ),
    "process_record": (
        records.PROCESS_RECORD,
        (
            "key.tgid", "key.reserved", "key.start_ns",
            "parent.tgid", "parent.reserved", "parent.start_ns",
            *(f"member.{name}" for name in (*records.Membership._fields, "sync")),
            "flags", "reserved",
        ),
    ),
    "thread_record": (
        records.THREAD_RECORD,
        ("key.tgid", "key.reserved", "key.start_ns", *records.Thread._fields[2:]),
    ),
    "span_event": (records.SPAN_EVENT, SPAN_EVENT),
    "span_forked": (records.SPAN_FORK, (*TOLD, *PARENT)),
}  # fmt: skip
#: With members that are arrays.
ARRAYS: dict[str, tuple[struct.Struct, tuple[str, ...]]] = {
    "row": (records.ROW, ("passes", "next")),
    "rules": (
        records.RULES,
        (
            "unasked",
            "any",
            "alone",
            "excludes",
            "excluded",
            "slot",
            "start",
            "cgroup_start",
            "container_start",
            "cgroup_slot",
            "cgroup_other",
            "cgroup_hierarchy",
        ),
    ),
    "event": (
        records.EVENT,
        ("kind", "slot", "cgroup.hierarchy", "cgroup.reserved", "cgroup.id", "tree", "length"),
    ),
    "span_exited": (records.SPAN_EXIT, (*TOLD, *PARENT, "status", "reserved", "comm")),
    "span_text": (records.SPAN_TEXT, (*TOLD, "length", "reserved")),
    "span_called": (
        records.SPAN_CALL,
        (*TOLD, "began_ns", "ret", "args", "tid", "code", "length", "reserved"),
    ),
    "span_rule": (
        records.span_rule_struct(known_words()),
        (
            "slower_than_ns",
            "interval_ns",
            "burst_ns",
            "next_ns",
            "refused",
            "sample",
            "flags",
            "errors",
            "calls",
        ),
    ),
}
#: What follows what is unpacked.
TEXTS = {
    "event": records.TEXT_BYTES,
    "span_text": records.SPAN_TEXT_BYTES,
    "span_called": records.SPAN_PATH_BYTES,
}  # fmt: skip
HEAD = f"""
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#define KNOWN_WORDS {known_words()}
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "types.h"
#include "arch.h"
"""


class View(NamedTuple):
    """What C says."""

    sizes: dict[str, int]
    members: dict[str, tuple[int, int]]  # offset, size
    constants: dict[str, int]


@pytest.fixture(scope="module")
def c_view(tmp_path_factory: pytest.TempPathFactory) -> View:
    lines = [f'printf("size {name} %zu\\n", sizeof(struct {name}));' for name in c_structs()]
    lines += [
        f'printf("member {name}.{member} %zu %zu\\n", offsetof(struct {name}, {member}),'
        f" sizeof(((struct {name} *)0)->{member}));"
        for name, (_, members) in (STRUCTS | ARRAYS).items()
        for member in members
    ]
    lines += [f'printf("constant {n} %llu\\n", (unsigned long long){n});' for n in CONSTANTS]
    folder = tmp_path_factory.mktemp("structs")
    source = folder / "view.c"
    source.write_text(HEAD + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
    binary = compiled(source)
    view = View({}, {}, {})
    for line in subprocess.run(
        [binary], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        kind, name, *numbers = line.split()
        if kind == "member":
            view.members[name] = (int(numbers[0]), int(numbers[1]))
        else:
            (view.sizes if kind == "size" else view.constants)[name] = int(numbers[0])
    return view


def compiled(source: Path) -> Path:
    binary = source.with_suffix("")
    command = ["gcc", "-Wall", "-Wno-unused-function", f"-I{BPF}", str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    return binary


def c_structs() -> list[str]:
    return re.findall(r"^struct (\w+) \{", (BPF / "types.h").read_text(), re.MULTILINE)


def places(format_: struct.Struct) -> list[tuple[int, int]]:
    """Offset and size of each value of a format that pads by no rule of its own."""
    assert format_.format.startswith("<"), "native formats pad by themselves"
    found, at = [], 0
    for count, letter in re.findall(r"(\d*)([A-Za-z])", format_.format):
        for _ in range(int(count or 1)):
            size = struct.calcsize(f"<{letter}")
            found += [(at, size)] if letter != "x" else []  # padding, at the end
            at += size
    return found


def test_every_struct_is_compared() -> None:
    """A struct that is new in types.h is noticed here. A task's state Python never sees."""
    assert set(c_structs()) == {*STRUCTS, *ARRAYS, "task_state"}


@pytest.mark.parametrize("name", STRUCTS)
def test_size_and_offsets(name: str, c_view: View) -> None:
    """Every member is where Python unpacks it, and there is nothing between them."""
    format_, members = STRUCTS[name]
    assert c_view.sizes[name] == format_.size
    found = [c_view.members[f"{name}.{member}"] for member in members]
    assert found == places(format_)


@pytest.mark.parametrize("name", ARRAYS)
def test_members_of_structs_with_arrays(name: str, c_view: View) -> None:
    """Each begins where Python unpacks a value, right behind the one before, up to the end, or up
    to its text."""
    format_, members = ARRAYS[name]
    begins, end = {at for at, _ in places(format_)}, 0
    for member in members:
        at, size = c_view.members[f"{name}.{member}"]
        assert at == end
        assert at in begins
        end = at + size
    assert end == format_.size
    assert c_view.sizes[name] == end + TEXTS.get(name, 0)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name: str, c_view: View) -> None:
    """Flags, codes, reasons and ABIs are the same numbers."""
    assert c_view.constants[name] == CONSTANTS[name]


@pytest.mark.parametrize(
    "enum",
    ["lost_reason", "sync_result", "abi", "event_kind", "field", "group_by", "span_event_kind"],
)
def test_every_word_of_an_enum_is_compared(enum: str) -> None:
    """A word that is new in C is noticed here."""
    text = (BPF / "types.h").read_text() + (BPF / "arch.h").read_text()
    body = re.search(rf"enum {enum} \{{(.*?)\}}", text, re.DOTALL)
    assert body
    plain = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    assert set(re.findall(r"\w+", plain)) <= set(CONSTANTS)


@pytest.mark.parametrize("scale", range(MAX_SCALE + 1))
def test_an_aggregate(scale: int, tmp_path: Path) -> None:
    """other_errors, untimed, mark, sum_ns and the buckets, for each scale."""
    declared = re.search(r"^struct aggregate \{.*?^\};", (BPF / "maps.c").read_text(), re.M | re.S)
    assert declared
    bounds = "".join(f"#define BOUND_{k} 0\n" for k in range(1 << scale))
    source = tmp_path / "aggregate.c"
    source.write_text(
        f'#define SCALE {scale}\n{bounds}{HEAD}#include "duration.h"\n{declared[0]}\n'
        'int main(void) { printf("%zu %zu %zu %zu %zu %zu", sizeof(struct aggregate),'
        " offsetof(struct aggregate, other_errors), offsetof(struct aggregate, untimed),"
        " offsetof(struct aggregate, mark),"
        " offsetof(struct aggregate, sum_ns), offsetof(struct aggregate, buckets)); }"
    )
    said = subprocess.run([compiled(source)], check=True, capture_output=True, text=True).stdout
    size = records.aggregate_struct(scale).size
    assert [int(word) for word in said.split()] == [size, 0, 8, records.AGGREGATE_MARK, 24, 32]
    assert sizes.plan(1, 1, scale, 1).aggregate_bytes == size


def test_the_memory_for_texts(tmp_path: Path) -> None:
    """struct texts, once for each place that uses one: what sizes.py plans with."""
    text = (BPF / "texts.c").read_text()
    begin, end = text.index("#define PATH_BYTES"), text.index("BPF_PERCPU_ARRAY")
    source = tmp_path / "texts.c"
    source.write_text(
        f'{HEAD}{text[begin:end]}int main(void) {{ printf("%zu", sizeof(struct texts) * PLACES); }}'
    )
    said = subprocess.run([compiled(source)], check=True, capture_output=True, text=True).stdout
    assert int(said) == sizes.SCRATCH_BYTES


def test_tuples_survive_packing() -> None:
    """What Python packs it unpacks; numbers at their limits too."""
    top = 2**32 - 1
    key = records.ProcessKey(top, 2**64 - 1)
    assert records.ProcessKey.unpack(key.pack()) == key
    member = records.Membership(1, 2, 3, 4, 5, 6, 7, top, 2**64 - 1)
    parent = records.ProcessKey(3, 5)
    values: tuple[Any, ...] = (key.tgid, 0, key.start_ns, 3, 0, 5, *member, 8, 7, 0)
    packed = records.PROCESS_RECORD.pack(*values)
    assert records.Process.unpack_all(packed * 2) == [records.Process(key, parent, member, 7)] * 2
    thread = records.Thread(top, 2**64 - 1, 11, 13, 17, 19, 23)
    packed = records.THREAD_RECORD.pack(thread.tgid, 0, *thread[1:])
    assert records.Thread.unpack_all(packed) == [thread]

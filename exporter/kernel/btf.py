"""The kernel's own description of its types: offsets of fields, ids of types.

bcc does no CO-RE relocation, so what differs between kernels is looked up here, at start, in
/sys/kernel/btf/vmlinux. Format: https://docs.kernel.org/bpf/btf.html
"""

from __future__ import annotations

import array
import struct
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from exporter.errors import KernelError

_HEADER = struct.Struct("<HBBIIIII")
_MAGIC = 0xEB9F
_PTR, _ARRAY, _STRUCT, _UNION, _ENUM, _TYPEDEF, _FUNC, _FUNC_PROTO = 2, 3, 4, 5, 6, 8, 12, 13
_ALIASES = (_TYPEDEF, 9, 10, 11, 18)  # volatile, const, restrict, type tag
# Words that follow the three of each type: fixed, or for each of its `vlen` members.
_FIXED = {1: 1, _ARRAY: 3, 14: 1, 17: 1}  # int, array, var, decl_tag
_PER_MEMBER = {_STRUCT: 3, _UNION: 3, _ENUM: 2, _FUNC_PROTO: 2, 15: 3, 19: 3}  # datasec, enum64


@dataclass(slots=True)
class Btf:
    """The types that were asked for, and what is needed to look into them."""

    _words: array.array[int]
    _strings: bytes
    _at: list[int]  # word index of each type, by type id
    _ids: dict[tuple[int, str], int] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: bytes, names: Collection[str]) -> Btf:
        """Reads `data`, remembering structs, typedefs and functions called one of `names`."""
        if len(data) < _HEADER.size or _HEADER.unpack_from(data)[0] != _MAGIC:
            raise KernelError("the kernel's BTF is not in a format that we know")
        _, _, _, length, type_off, type_len, str_off, str_len = _HEADER.unpack_from(data)
        strings = data[length + str_off : length + str_off + str_len]
        words = array.array("I")
        words.frombytes(data[length + type_off : length + type_off + type_len])
        wanted = {strings.find(b"\0" + name.encode() + b"\0") + 1: name for name in names}
        wanted.pop(0, None)
        btf = cls(words, strings, [0])  # id 0 is void; what it says is not looked at
        append = btf._at.append
        at, end = 0, len(words)
        while at < end:
            append(at)
            info = words[at + 1]
            kind = info >> 24 & 0x1F
            if words[at] in wanted and kind in (_STRUCT, _TYPEDEF, _FUNC):
                btf._ids.setdefault((kind, wanted[words[at]]), len(btf._at) - 1)
            at += 3 + _FIXED.get(kind, 0) + _PER_MEMBER.get(kind, 0) * (info & 0xFFFF)
        return btf

    def typedef_id(self, name: str) -> int | None:
        return self._ids.get((_TYPEDEF, name))

    def func_id(self, name: str) -> int | None:
        return self._ids.get((_FUNC, name))

    def pointed_structs(self, typedef: int) -> list[str | None]:
        """Of a typedef of a function pointer: what each argument points to, if it is a struct."""
        proto = self._at[self._resolve(self._words[self._at[self._resolve(typedef)] + 2])]
        names: list[str | None] = []
        for index in range(self._words[proto + 1] & 0xFFFF):
            argument = self._at[self._resolve(self._words[proto + 4 + 2 * index])]
            target = self._at[self._resolve(self._words[argument + 2])]
            is_struct = (
                self._words[argument + 1] >> 24 & 0x1F == _PTR
                and self._words[target + 1] >> 24 & 0x1F == _STRUCT
            )
            names.append(self._name(self._words[target]) if is_struct else None)
        return names

    def offset(self, path: str) -> int | None:
        """Bytes from the begin of a struct to a member: "task_struct.thread_info.status".

        None where this kernel has no such struct or member. Members of anonymous structs and
        unions are found as C finds them.
        """
        owner, *members = path.split(".")
        type_id = self._ids.get((_STRUCT, owner))
        total = 0
        for member in members:
            found = self._member(type_id, member) if type_id else None
            if found is None:
                return None
            offset, type_id = found
            total += offset
        return total

    def _member(self, type_id: int, name: str) -> tuple[int, int] | None:
        at = self._at[self._resolve(type_id)]
        info = self._words[at + 1]
        if info >> 24 & 0x1F not in (_STRUCT, _UNION):
            return None
        for index in range(info & 0xFFFF):
            name_off, member_type, bits = self._words[at + 3 + 3 * index : at + 6 + 3 * index]
            offset = (bits & 0xFFFFFF if info >> 31 else bits) // 8
            if name_off and self._name(name_off) == name:
                return offset, member_type
            inner = None if name_off else self._member(member_type, name)
            if inner:
                return offset + inner[0], inner[1]
        return None

    def _resolve(self, type_id: int) -> int:
        """Through typedef, const, volatile and type tags to the type itself."""
        while type_id and self._words[self._at[type_id] + 1] >> 24 & 0x1F in _ALIASES:
            type_id = self._words[self._at[type_id] + 2]
        return type_id

    def _name(self, offset: int) -> str:
        return self._strings[offset : self._strings.index(b"\0", offset)].decode()


def read(path: Path, names: Collection[str]) -> Btf:
    """Reads BTF from a file. Raises KernelError where there is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KernelError(
            f"no BTF at {path} ({error.strerror}): this needs a kernel built with"
            " CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are"
        ) from error
    return Btf.parse(data, names)

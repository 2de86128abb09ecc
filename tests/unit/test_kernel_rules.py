"""The kernel's tables of rules: what bpf/texts.c finds with them is what the automata find."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import KernelError
from exporter.kernel import records
from exporter.kernel.records import FIELD_NAMES, MAX_RULES, ROW, RULES, TEXT_END, USER_KEY
from exporter.kernel.rules import (
    CGROUP,
    CONTAINER,
    CgroupRule,
    ProcessRule,
    Rules,
    RuleSet,
    pack,
)
from exporter.kernel.sizes import MAX_STATES, MAX_USERS
from exporter.model.patterns import Automaton, build
from exporter.model.target import Pattern

CHUNK = 32
_PIECES = ["a", "b", "/", " ", "é", "*", "**", "?", "[ab]", "[!a]"]
_GLOBS = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)
_BYTES = [b"a", b"b", b"/", b" ", b"\0", "é".encode(), b"\xc3", b"\xff", b"\x80", b"ab" * 17]
_TEXTS = st.lists(st.sampled_from(_BYTES), max_size=8).map(b"".join)


def run(rows: list[bytes], base: int, start: int, text: bytes, rubbish: bytes) -> int:
    """bpf/texts.c, run(): in chunks, with TEXT_END behind the text, and after that anything."""
    memory = (text + bytes([TEXT_END]) + rubbish * 2 * CHUNK)[: len(text) + 2 * CHUNK]
    row = ROW.unpack(rows[start - base])
    bits: int = row[0]
    at = 0
    while at <= len(text):
        for byte in memory[at : at + CHUNK]:
            row = ROW.unpack(rows[memoryview(row[1]).cast("H")[byte] - base])
            bits |= row[0]
        at += CHUNK
    return bits


def automata(globs: Mapping[str, list[str]]) -> dict[str, Automaton]:
    return {
        name: build(
            [(Pattern(glob), bit) for bit, glob in enumerate(of_field)], 2000, name == "exe"
        )
        for name, of_field in globs.items()
    }


@given(
    st.lists(_GLOBS, max_size=4), st.lists(_GLOBS, max_size=4), _TEXTS,
    st.sampled_from([b"\0", b"a", b"/", b"\xff"]), st.sampled_from([0, MAX_STATES]),
)  # fmt: skip
def test_the_kernel_finds_what_the_automata_find(
    comms: list[str], exes: list[str], text: bytes, rubbish: bytes, base: int
) -> None:
    """For every text: up to a byte that ends it there, with NULs as blanks; in both generations,
    and whatever is left in memory behind it."""
    built = automata({"comm": comms, "exe": exes})
    rows, starts = pack({name: one.rows for name, one in built.items()}, base)
    as_read = text.partition(bytes([TEXT_END]))[0].replace(b"\0", b" ")
    for name, one in built.items():
        assert (name in starts) is bool(one.rows)
        if name in starts:
            assert run(rows, base, starts[name], text, rubbish) == one.run(as_read)


def test_a_text_ends_with_its_last_byte() -> None:
    """At each length, also where a chunk of the kernel ends; one byte more or less is no match."""
    for length in (1, 30, 31, 32, 33, 63, 64, 65, 200):
        rows, starts = pack({"comm": build([(Pattern("a" * length), 5)], 2000).rows})
        for more in (-1, 0, 1):
            found = run(rows, 0, starts["comm"], b"a" * (length + more), b"a")
            assert found == (1 << 5 if more == 0 else 0)


def test_blanks_stand_between_arguments() -> None:
    """A NUL is a blank, which a `?` and a `*` are, too."""
    for glob, length in (("a b", 3), ("a?b", 3), ("a*b", 3), ("a ", 2), (" ", 1)):
        rows, starts = pack({"cmdline": build([(Pattern(glob), 0)], 2000).rows})
        for text in (b"a b"[:length], b"a\0b"[:length]) if length > 1 else (b" ", b"\0"):
            assert run(rows, 0, starts["cmdline"], text, b"\0") == 1
        assert run(rows, 0, starts["cmdline"], b"ab", b"\0") == (glob == "a*b")


def test_rows_of_a_generation_lead_into_it() -> None:
    """Every number in a table that begins at MAX_STATES is one of its rows."""
    built = automata({"comm": ["a*", "b"], "exe": ["/**/x"], "cmdline": []})
    rows, starts = pack({name: one.rows for name, one in built.items()}, MAX_STATES)
    inside = range(MAX_STATES, MAX_STATES + len(rows))
    assert set(starts) == {"comm", "exe"}
    assert all(start in inside for start in starts.values())
    assert all(to in inside for row in rows for to in memoryview(ROW.unpack(row)[1]).cast("H"))


class FakeMap(dict[bytes, bytes]):
    """A hash in memory, or a table in a file, as the kernel's maps are used."""

    fd = -1

    def set(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def delete(self, key: bytes) -> None:
        del self[key]


@dataclass
class Tables:
    rules: FakeMap
    states: FakeMap
    users: FakeMap

    def of(self, generation: int) -> tuple[int, ...]:
        return RULES.unpack(self.rules[generation.to_bytes(4, "little")])

    def row(self, number: int) -> bytes:
        return os.pread(self.states.fd, ROW.size, number * ROW.size)

    def uids(self) -> dict[tuple[int, ...], int]:
        return {
            USER_KEY.unpack(key): int.from_bytes(value, "little")
            for key, value in self.users.items()
        }


@pytest.fixture
def tables() -> Iterator[Tables]:
    states = FakeMap()
    states.fd = os.memfd_create("states")
    os.truncate(states.fd, 2 * MAX_STATES * ROW.size)
    yield Tables(FakeMap(), states, FakeMap())
    os.close(states.fd)


def writer(tables: Tables) -> Rules:
    return Rules(tables.rules, tables.states, tables.users)  # type: ignore[arg-type]


def test_the_generation_in_use_is_not_touched(tables: Tables) -> None:
    """Each write goes to the other one: rules, rows and users of the last are what they were."""
    rules = writer(tables)
    one = {"comm": build([(Pattern("one"), 0)], 100).rows}
    two = {"comm": build([(Pattern("longer than one"), 1)], 100).rows}
    first = rules.write(RuleSet([ProcessRule(7)], automata=one, users={5: 1, 6: 1}))
    before = tables.of(first)
    row = tables.row(before[RULES_START])
    assert row in pack(one, first * MAX_STATES)[0][1:]
    second = rules.write(RuleSet([ProcessRule(8)], automata=two, users={6: 1, 9: 1}))
    assert {first, second} == {0, 1}
    assert tables.of(first) == before
    assert tables.row(before[RULES_START]) == row
    assert tables.uids() == {(first, 5): 1, (first, 6): 1, (second, 6): 1, (second, 9): 1}
    assert rules.write(RuleSet([ProcessRule(9)], users={6: 1})) == first
    assert tables.uids() == {(first, 6): 1, (second, 6): 1, (second, 9): 1}


#: Numbers of RULES: unasked (4), any, alone, excludes, excluded, slot, start (4), cgroups’ two, …
RULES_EXCLUDED = 7
RULES_SLOT = RULES_EXCLUDED + MAX_RULES
RULES_START = RULES_SLOT + MAX_RULES
RULES_CGROUPS = RULES_START + len(FIELD_NAMES) + 2


def test_each_rule_in_its_place(tables: Tables) -> None:
    """Bits by their order, slots, hierarchies with 0 for any, starts by field with 0 for none."""
    paths = build([(Pattern("/a/*"), 0)], 100, path=True).rows
    generation = writer(tables).write(
        RuleSet(
            [ProcessRule(7), ProcessRule(8, alone=True), ProcessRule(excluded=1 << 63)],
            [CgroupRule(3, 0, 4), CgroupRule(0, 5)],
            {"exe": paths, CGROUP: paths, CONTAINER: ()},
            {"comm": 0b101, "exe": 0b010},
            {1000: 0b100},
        )
    )
    found = tables.of(generation)
    assert found[:RULES_EXCLUDED] == (0b101, 0b010, 0b111, 0b111, 0b111, 0b010, 1 << 63)
    assert found[RULES_EXCLUDED:RULES_SLOT][:4] == (0, 0, 1 << 63, 0)
    assert found[RULES_SLOT:RULES_START][:4] == (7, 8, 0, 0)
    comm, exe, cmdline, user, cgroup, container = found[RULES_START:RULES_CGROUPS]
    assert (comm, cmdline, user, container) == (0, 0, 0, 0)
    assert len({0, exe, cgroup}) == 3
    slots, others, hierarchies = (found[RULES_CGROUPS + n * MAX_RULES :][:3] for n in range(3))
    assert (slots, others, hierarchies) == ((3, 0, 0), (0, 5, 0), (5, 0, 0))


def test_what_does_not_fit(tables: Tables) -> None:
    """Too many states or users are an error that says how many are possible; nothing is written."""
    rows = build([(Pattern("a" * 500), 0)], 1000).rows
    for too_many in (
        RuleSet(automata={str(n): rows for n in range(5)}),
        RuleSet(users=dict.fromkeys(range(MAX_USERS + 1), 1)),
    ):
        with pytest.raises(KernelError, match=f"{MAX_STATES} and {MAX_USERS} are possible"):
            writer(tables).write(too_many)
    assert (tables.rules, tables.users) == ({}, {})


def test_every_field_has_its_bit() -> None:
    """The order of fields is the kernel's."""
    assert FIELD_NAMES == ("comm", "exe", "cmdline", "user")
    assert records.RULES.size == 8 * (4 + 3 + MAX_RULES) + 4 * (MAX_RULES + 6 + 3 * MAX_RULES)

"""How bytes become characters: the beginnings of UTF-8 sequences, as nodes of a trie.

Beginnings from which the same next bytes lead to the same classes are one node. Where the next byte
is not valid, each byte of the beginning was a character of its own. What is valid: RFC 3629,
section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from exporter.model.patterns.alphabet import Alphabet

CONTINUATIONS = range(0x80, 0xC0)
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF
#: The first bytes of a length, the bits that the others add, the least character that is so long.
_LEADS = (
    (range(0xC2, 0xE0), 0xC0, 6, 0x80),
    (range(0xE0, 0xF0), 0xE0, 12, 0x800),
    (range(0xF0, 0xF5), 0xF0, 18, 0x10000),
)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The beginning of a character, of `size` bytes.

    `next` has for each continuation byte the node or the class to which it leads, None if it is not
    valid. What this can become is a character, or lone bytes: the positions of `reach`
    match some of that, those of `sure` all of it.
    """

    size: int
    next: tuple[Node | int | None, ...]
    reach: int
    sure: int


class Utf8:
    """`leads`: by byte, the node of what it begins, if anything."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self._nodes: dict[tuple[int, tuple[Node | int | None, ...]], Node] = {}
        self._uniform: dict[tuple[int, int, int], Node] = {}
        self.leads: list[Node | None] = [None] * 256
        for leads, mark, bits, least in _LEADS:
            for lead in leads:
                self.leads[lead] = self._node((lead - mark) << bits, bits, 1, least)

    def columns(self) -> list[int]:
        """For each byte the first one from which it differs nowhere, in no state."""
        first: dict[object, int] = {}
        nodes = list(self._nodes.values())
        columns = []
        for byte in range(256):
            key: object = self._alphabet.of(byte) if byte < 0x80 else self.leads[byte]
            if byte in CONTINUATIONS:
                key = tuple(node.next[byte - CONTINUATIONS.start] for node in nodes)
            columns.append(first.setdefault((byte < 0x80, key), byte))
        return columns

    def _node(self, point: int, bits: int, size: int, least: int) -> Node:
        """What begins the code points from `point` on that differ in the lowest `bits`."""
        last = point + (1 << bits) - 1
        uniform = None  # surrogates are not: lone bytes are among them
        if point >= least and last <= _LAST:
            uniform = self._alphabet.uniform(point, last)
        if uniform is not None and (known := self._uniform.get((uniform, bits, size))):
            return known
        children: list[Node | int | None] = []
        for child in range(point, last + 1, 1 << bits - 6):
            if not least <= child <= _LAST or child in _SURROGATES:
                children.append(None)
            elif bits == 6:
                children.append(self._alphabet.of(child))
            else:
                children.append(self._node(child, bits - 6, size + 1, least))
        node = self._intern(size, tuple(children))
        if uniform is not None:
            self._uniform[uniform, bits, size] = node
        return node

    def _intern(self, size: int, children: tuple[Node | int | None, ...]) -> Node:
        if (size, children) not in self._nodes:
            reach = sure = self._alphabet.lone_bytes
            for child in set(children):
                if isinstance(child, Node):
                    reach |= child.reach
                    sure &= child.sure
                elif child is not None:
                    reach |= self._alphabet.labels[child]
                    sure &= self._alphabet.labels[child]
            self._nodes[size, children] = Node(size, children, reach, sure)
        return self._nodes[size, children]

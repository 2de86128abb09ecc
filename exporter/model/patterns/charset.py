"""Sets of characters, as sorted ranges (first, last) that neither touch nor overlap.

A byte that is not part of valid UTF-8 is the code point that `surrogateescape` gives it: U+DC80 to
U+DCFF. Either all of these are in a set or none: no pattern can name one of them.
"""

from __future__ import annotations

from collections.abc import Iterable

Charset = tuple[tuple[int, int], ...]

LONE_BYTES = (0xDC80, 0xDCFF)
#: All that a text can hold: no NUL, which ends it.
ANY: Charset = ((1, 0xD7FF), LONE_BYTES, (0xE000, 0x10FFFF))
_NO_CHARACTERS: Charset = ((0, 0), (0xD800, 0xDFFF))


def named(ranges: Iterable[tuple[int, int]]) -> Charset:
    """The valid characters within these ranges."""
    return subtract(union(tuple(ranges)), _NO_CHARACTERS)


def single(character: str) -> Charset:
    return ((ord(character), ord(character)),)


def union(*sets: Charset) -> Charset:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(part for charset in sets for part in charset):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def subtract(whole: Charset, cut: Charset) -> Charset:
    rest = []
    for first, last in whole:
        for cut_first, cut_last in cut:
            if cut_last < first:
                continue
            if cut_first > last:
                break
            if first < cut_first:
                rest.append((first, cut_first - 1))
            first = cut_last + 1
        if first <= last:
            rest.append((first, last))
    return tuple(rest)


def negate(charset: Charset) -> Charset:
    return subtract(ANY, charset)

"""Ids of traces and spans: random bytes, which nobody can guess and which do not come again.

Each is decided once, when a span begins: what is to stand below it asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

TRACE_BYTES, SPAN_BYTES = 16, 8
_BULK = 4096  # ids of spans for one system call: there are many calls


class Ids:
    """`span()` gives the next id. All zeros are no id; they come once in 2^64."""

    def __init__(self, random: Callable[[int], bytes] = os.urandom) -> None:
        self.span: Callable[[], bytes] = _in_bulk(random).__next__

    def trace(self) -> bytes:
        return self.span() + self.span()


def _in_bulk(random: Callable[[int], bytes]) -> Iterator[bytes]:
    while True:
        data = random(SPAN_BYTES * _BULK)
        for at in range(0, len(data), SPAN_BYTES):
            yield data[at : at + SPAN_BYTES]

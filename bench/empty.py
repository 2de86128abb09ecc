"""The floor: two programs that do nothing, where ours are attached."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from exporter.kernel import bpf

#: `int nothing(void *ctx) { return 0; }` as any compiler makes it: mov64 r0, 0; exit.
_RETURN_0 = bytes.fromhex("b700000000000000 9500000000000000")


@contextmanager
def empty_pair() -> Iterator[None]:
    """At sys_enter and sys_exit, while the context is open."""
    descriptors = []
    try:
        for name in ("sys_enter", "sys_exit"):
            program = bpf.load_program(bpf.PROG_TYPE_RAW_TRACEPOINT, "nothing", _RETURN_0)
            descriptors += [program, bpf.attach_raw_tracepoint(program, name)]
        yield
    finally:
        for descriptor in reversed(descriptors):
            os.close(descriptor)

"""Gives memory that was needed for a moment, at start or for a scrape, back to the node."""

from __future__ import annotations

import ctypes
import gc

_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


def trim() -> None:
    """Has the C library return what is free (glibc; elsewhere nothing happens)."""
    if _malloc_trim:
        _malloc_trim(0)


def settle() -> None:
    """After start: what is there now stays, and need not be looked at by each collection."""
    gc.collect()
    gc.freeze()
    trim()

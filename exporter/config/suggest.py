"""The nearest right word for a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(found: str, words: Iterable[str]) -> str:
    """The end of a message, or nothing where no word is near."""
    lowered = {word.lower(): word for word in words}
    near = difflib.get_close_matches(found.lower(), lowered, n=1)
    return f"did you mean '{lowered[near[0]]}'?" if near else ""

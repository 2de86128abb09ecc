"""The characters, in classes of those that no pattern tells apart."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from exporter.model.patterns.charset import LONE_BYTES, Charset


class Alphabet:
    """Classes of code points by number; `labels` are the positions that match one of the class.

    Class 0 is what no position matches.
    """

    def __init__(self, charsets: Mapping[Charset, int]) -> None:
        """From the positions that have each set."""
        turns: defaultdict[int, int] = defaultdict(
            int
        )  # at a code point, the sets that begin or end
        for number, charset in enumerate(charsets):
            for first, last in charset:
                turns[first] ^= 1 << number
                turns[last + 1] ^= 1 << number
        masks = list(charsets.values())
        classes = {0: 0}
        self.labels = [0]
        self._starts = [0]
        self._classes = [0]
        inside = 0
        for point in sorted(turns):
            inside ^= turns[point]
            if inside not in classes:
                classes[inside] = len(classes)
                self.labels.append(_union(masks, inside))
            self._starts.append(point)
            self._classes.append(classes[inside])
        self.lone_bytes = self.labels[self.of(LONE_BYTES[0])]

    def of(self, point: int) -> int:
        """The class of a code point."""
        return self._classes[bisect_right(self._starts, point) - 1]

    def uniform(self, first: int, last: int) -> int | None:
        """The one class of all code points from one to another, if there is one."""
        place = bisect_right(self._starts, first)
        whole = place == bisect_right(self._starts, last)
        return self._classes[place - 1] if whole else None


def _union(masks: list[int], numbers: int) -> int:
    union = 0
    for number, mask in enumerate(masks):
        if numbers >> number & 1:
            union |= mask
    return union

"""Recent calls that have a span: so that a histogram's bucket can point at one.

Told by the thread that queues spans, tens of thousands a second; read by the one that takes
snapshots.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from exporter.kernel.buckets import shifted_bounds
from exporter.model.histogram import MIN_OCTAVE, OCTAVES
from exporter.model.snapshot import Exemplar
from exporter.model.spans.span import CallSpan

#: Calls of one slot by name and kernel bucket.
Recent = Mapping[tuple[str, int], Exemplar]

_MOST = 2048  # about 1 MiB for each generation


class Exemplars:
    """The newest of each slot, call and kernel bucket, in two generations: the older one is dropped
    when the younger has 2,048, and so what has not come again since."""

    def __init__(self, scale: int) -> None:
        self._bounds = _bounds_ns(scale)
        self._older: dict[tuple[int, str, int], tuple[int, int, bytes, bytes]] = {}
        self._younger = dict(self._older)

    def note(self, span: CallSpan) -> None:
        """A span that was queued."""
        younger = self._younger
        if len(younger) >= _MOST:
            self._older = younger
            self._younger = younger = {}
        end_ns = span.end_ns
        duration_ns = end_ns - span.start_ns
        key = (span.counted or span.slot, span.syscall, bisect_left(self._bounds, duration_ns))
        younger[key] = (duration_ns, end_ns, span.trace_id, span.span_id)

    def by_slot(self) -> dict[int, Recent]:
        """As they are now; for another thread than the one that notes."""
        found: dict[int, dict[tuple[str, int], Exemplar]] = {}
        # The younger first: what grows old meanwhile is then in both. A copy is made in one go.
        younger = self._younger.copy()
        for generation in (self._older.copy(), younger):
            for (slot, syscall, bucket), values in generation.items():
                found.setdefault(slot, {})[syscall, bucket] = Exemplar(*values)
        return dict(found)


def keep_newest(found: dict[int, Exemplar], others: Mapping[int, Exemplar]) -> None:
    """Adds others, by kernel bucket; of two for one bucket the newer stays."""
    for bucket, other in others.items():
        if bucket not in found or found[bucket].time_ns < other.time_ns:
            found[bucket] = other


def _bounds_ns(scale: int) -> list[int]:
    """The longest of each kernel bucket: floor(10**9 * 2**((i + 1) / 2**scale - 30)) ns."""
    n = 1 << scale
    shifted = shifted_bounds(scale)
    # By so much more than 10**9 * 2**(k / n) they are: their highest bit is bit 63.
    shifts = [63 - ((10 ** (9 * n) << k).bit_length() - 1) // n for k in range(n)]
    return [
        shifted[i % n] >> shifts[i % n] - MIN_OCTAVE - i // n for i in range(1, OCTAVES * n + 1)
    ]

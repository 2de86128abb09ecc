"""From a snapshot to the bytes of a response: the format, the encoding and the headers to match."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from exporter.model.snapshot import Snapshot
from exporter.publish.digest import digest
from exporter.publish.families import families
from exporter.publish.negotiate import Format
from exporter.publish.process import process_families, process_registry
from exporter.publish.protobuf import CONTENT_TYPE as PROTOBUF
from exporter.publish.protobuf import protobuf
from exporter.publish.shape import Shape
from exporter.publish.text import OPENMETRICS, PROMETHEUS, openmetrics, prometheus

CONTENT_TYPES = {
    Format.TEXT: PROMETHEUS,
    Format.OPENMETRICS: OPENMETRICS,
    Format.PROTOBUF: PROTOBUF,
}

#: Of gzip's levels the one that pays: 6 takes three times as long for a fifth less.
_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS  # zlib's way to ask for the gzip container


class Exposition:
    """Renders snapshots. `shape` may be set anew at any time, as a reload does."""

    def __init__(self, shape: Shape | None = None, *, process: bool = True) -> None:
        self.shape = shape or Shape()
        self._process = process_registry() if process else None

    def render(self, snapshot: Snapshot, format_: Format, *, gzip: bool = False) -> bytearray:
        """The whole exposition; never held twice, nor as text and compressed at once."""
        chunks = self._chunks(snapshot, format_)
        body = bytearray()
        for chunk in _compressed(chunks) if gzip else chunks:
            body += chunk
        return body

    def _chunks(self, snapshot: Snapshot, format_: Format) -> Iterator[bytes]:
        shape = self.shape
        digested = digest(snapshot, shape, native=format_ is Format.PROTOBUF and shape.native)
        found = families(digested) + (process_families(self._process) if self._process else [])
        if format_ is Format.PROTOBUF:
            return protobuf(found, shape.native)
        found = [family for family in found if not family.native_only]
        return openmetrics(found) if format_ is Format.OPENMETRICS else prometheus(found)


def _compressed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()

"""The files of a web config, and what tells later whether they have changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from exporter.model.web import Identity, identity_of

PIPE_MAX = 1 << 16  # pipe(7)


class Files:
    """`seen` has each file as it was before its first byte was read: a change that comes amid the
    reading is then one that is still to be read."""

    def __init__(self) -> None:
        self.seen: dict[str, Identity] = {}

    def read(self, path: str, most: int) -> bytes:
        """Raises OSError, or ValueError for what is no regular file of at most `most` bytes."""
        # A FIFO would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("it is no regular file")
            self.seen[path] = identity_of(status)
            data = file.read(most + 1)
        if len(data) > most:
            raise ValueError(f"it has more than {most} bytes")
        return data

    def look(self, path: str) -> None:
        """For one that OpenSSL reads by itself. Raises the same."""
        self.read(path, 1 << 23)  # the CAs of a whole distribution take a quarter of a MiB


@contextmanager
def as_file(text: str) -> Iterator[str]:
    """A path for what OpenSSL reads from files only: of a pipe, for it is to be read once, and a
    file of the memory's could be executed. Raises ValueError where it is too long for one."""
    data = text.encode()
    if len(data) > PIPE_MAX:
        raise ValueError(f"expected at most {PIPE_MAX} bytes, found {len(data)}; name a file")
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "wb") as file:
        file.write(data)
        file.close()
        yield f"/proc/self/fd/{reader}"

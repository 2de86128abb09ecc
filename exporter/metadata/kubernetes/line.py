"""A connection that another thread can cut, at any moment, whatever waits for it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Line:
    """The socket of one request, from before it is encrypted until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False
        self.late = False

    def hold(self, it: socket.socket) -> None:
        """From now on `cut` cuts this one; at once, if it has been called already."""
        with self._lock:
            self._socket = it
            if self._cut:
                self._shut()

    def cut(self) -> None:
        with self._lock:
            self._cut = True
            self._shut()

    def cut_late(self) -> None:
        """As `cut`, because it took too long."""
        self.late = True
        self.cut()

    def wait_at_most(self, seconds: float) -> None:
        """For every single read from now on."""
        with self._lock:
            if self._socket:
                self._socket.settimeout(seconds)

    def close(self) -> None:
        with self._lock:
            if self._socket:
                self._socket.close()
            self._socket = None

    def _shut(self) -> None:
        # To close it would not wake the thread that reads; and the shutdown of an SSLSocket would
        # let that thread go on in clear.
        if self._socket:
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

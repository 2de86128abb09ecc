"""The open connections: who has to go when there are too many, or too much waits to be sent.

An idle client, half a request or a slow reader costs a thread and a place here, and loses both
when somebody else needs them.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum

_RESET = struct.pack("ii", 1, 0)  # struct linger: on, for no time


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, and how many."""

    handshake_s: float = 10  # for all of it, where there is TLS
    head_s: float = 10  # without a byte, once a request has begun
    idle_s: float = 310  # Go's clients let go after 5 minutes: let them be the first
    write_s: float = 30  # for a whole response
    linger_s: float = 2  # for the client to read the last response before the connection goes
    connections: int = 128
    unsent_bytes: int = 32 << 20  # responses that wait for slow readers


class Doing(IntEnum):
    """Who goes first: idle ones and half requests, then slow readers, then those we work for."""

    READING, SENDING, WORKING = range(3)


class Crowd:
    """The open connections and what each is doing, who has been at it longest first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._open: dict[socket.socket, tuple[Doing, int]] = {}

    def enter(self, sock: socket.socket) -> None:
        with self._lock:
            if len(self._open) >= self._limits.connections:
                self._cut_first()
            self._open[sock] = (Doing.READING, 0)

    def note(self, sock: socket.socket, doing: Doing, size: int = 0) -> None:
        """Raises ConnectionAbortedError where this connection has had to go."""
        with self._lock:
            if self._open.pop(sock, None) is None:
                raise ConnectionAbortedError("cut off to make room")
            while sum(unsent for _, unsent in self._open.values()) > self._limits.unsent_bytes:
                self._cut(next(s for s, (_, unsent) in self._open.items() if unsent))
            self._open[sock] = (doing, size)

    def leave(self, sock: socket.socket) -> None:
        with self._lock:
            self._remove(sock)

    def make_room(self) -> bool:
        """Cut off the first; False: there is none."""
        with self._lock:
            return self._cut_first()

    def _cut_first(self) -> bool:
        first = min(self._open, key=lambda sock: self._open[sock][0], default=None)
        if first is not None:
            self._cut(first)
        return first is not None

    def _cut(self, sock: socket.socket) -> None:
        """Its own thread finds that it has ended, and closes it."""
        self._remove(sock)
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    def _remove(self, sock: socket.socket) -> None:
        """Amid a response it ends with a reset, or the kernel would keep its part for minutes."""
        doing, _ = self._open.pop(sock, (None, 0))
        if doing is Doing.SENDING:
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

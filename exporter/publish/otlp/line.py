"""A connection whose every wait ends by a deadline, and that another thread can cut.

A timeout of a socket is for one call: a backend that drips a byte now and then is never late by
it. Here each call gets what is left of one deadline for all.
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_AT_ONCE = 1 << 18  # bytes for one call, after which the deadline is looked at again


class Line:
    """Used by one thread, cut by any. What goes wrong is an OSError, TimeoutError among them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False
        self._deadline_ns = 0
        self.heard = False  # a byte, since the deadline was set

    def until(self, deadline_ns: int) -> None:
        """By the monotonic clock, for all that follows."""
        self._deadline_ns = deadline_ns
        self.heard = False

    def connect(self, host: str, port: int) -> None:
        """To the first address of the host that answers; each has its share of the time."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:  # a name with a part that is empty, or too long
            raise socket.gaierror(f"{host!r} is no name of a host") from error
        for number, (family, kind, protocol, _, address) in enumerate(found):
            plain = socket.socket(family, kind, protocol)
            self._hold(plain)
            try:
                plain.settimeout(self._left_s() / (len(found) - number))
                plain.connect(address)
            except OSError:
                plain.close()
                if self._cut or number == len(found) - 1:
                    raise
                continue
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # What dies without a word while nothing is sent is found by asking.
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return
        raise socket.gaierror(f"{host!r} has no address")

    def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        encrypted = context.wrap_socket(
            self._held(), server_hostname=host, do_handshake_on_connect=False
        )
        self._hold(encrypted)
        encrypted.settimeout(self._left_s())
        encrypted.do_handshake()

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            held = self._held()
            held.settimeout(self._left_s())
            rest = rest[held.send(rest[:_AT_ONCE]) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        """What comes, as http.client wants it; closing it leaves the connection open."""
        return io.BufferedReader(_Incoming(self))

    def receive(self, into: WriteableBuffer) -> int:
        held = self._held()
        held.settimeout(self._left_s())
        size = held.recv_into(into)
        self.heard = self.heard or size > 0
        return size

    def stale(self) -> bool:
        """Whether its end came, or bytes that nobody asked for, since it was last used."""
        poll = select.poll()  # not select(2), which knows 1,024 descriptors
        poll.register(self._held(), select.POLLIN)
        return bool(poll.poll(0))

    def cut(self) -> None:
        """Whoever waits for it is woken, and nothing goes over it any more."""
        with self._lock:
            self._cut = True
            self._shut()

    def close(self) -> None:
        with self._lock:
            if self._socket:
                self._socket.close()
            self._socket = None

    def _hold(self, it: socket.socket) -> None:
        with self._lock:
            self._socket = it
            if self._cut:
                it.close()
                raise ConnectionAbortedError("hung up")

    def _held(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionAbortedError("not connected")
        return self._socket

    def _left_s(self) -> float:
        left_ns = self._deadline_ns - time.monotonic_ns()
        if left_ns <= 0:
            raise TimeoutError("timed out")
        return left_ns / 1e9

    def _shut(self) -> None:
        # To close it would not wake the thread that waits; and the shutdown of an SSLSocket would
        # let that thread go on in clear.
        if self._socket:
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Incoming(io.RawIOBase):
    def __init__(self, line: Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._line.receive(buffer)

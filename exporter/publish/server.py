"""The HTTP server: one thread waits for all connections, others make what takes time.

An idle connection, half a request or a slow reader costs a descriptor and a few bytes, not a
thread, and holds up nobody: everything has a deadline, and when there are too many, the one that
has been idle longest goes. Responses are whole before they are sent.
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import cast

from exporter.publish.connection import Connection, State
from exporter.publish.dialogue import Dialogue, Limits
from exporter.publish.listen import Address, listen
from exporter.publish.request import Request, Response
from exporter.publish.site import Site, Slow, guarded
from exporter.publish.worker import Worker

log = logging.getLogger(__name__)

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_WAITS_FOR = {State.READING: _READ, State.CLOSING: _READ, State.WRITING: _WRITE}
_RESET = struct.pack("ii", 1, 0)  # struct linger: on, for no time
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Server:
    """Listens from the start (ServiceError if it cannot), answers from start() to stop()."""

    def __init__(self, address: Address, site: Site, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._dialogue = Dialogue(site, self._limits, self._defer)
        self._listener = listen(address)
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, _READ)
        self._selector.register(self._listener, _READ)
        self._accept_again = inf
        self._connections: set[Connection] = set()
        self._made: deque[tuple[Connection, Request, Response]] = deque()
        self._workers: dict[str, Worker] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        host, port = self._listener.getsockname()[:2]
        #: Where it listens, with the port that it was given.
        self.address = Address(host, port)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Close everything, open connections included; in well under a second, and for good."""
        self._stopping = True
        if self._thread.ident is None:
            self._close_all()
        else:
            self._rouse()
            self._thread.join(timeout=0.5)

    def _run(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._turn()
                except Exception as e:  # no way to get here is known; silence would be worse
                    log.error("the HTTP server stumbled: %s: %s", type(e).__name__, e)
                    time.sleep(0.1)
        finally:
            self._close_all()

    def _turn(self) -> None:
        """Wait until something happens, and do what there is to do."""
        until = min((c.deadline for c in self._connections), default=inf)
        wait = min(until, self._accept_again) - time.monotonic()
        for key, _ in self._selector.select(None if wait == inf else max(wait, 0)):
            if key.data is not None:
                connection = cast(Connection, key.data)
                self._attend(connection, self._dialogue.proceed)
            elif key.fileobj is self._listener:
                self._accept()
            else:
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
        while self._made:
            connection, request, response = self._made.popleft()
            if connection.state is State.BUSY:
                respond = partial(self._dialogue.respond, request=request, response=response)
                self._attend(connection, respond)
        now = time.monotonic()
        for connection in [c for c in self._connections if c.deadline <= now]:
            self._attend(connection, self._dialogue.expire)
        if self._accept_again <= now:
            self._accept_again = inf
            self._selector.register(self._listener, _READ)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as e:
            if e.errno in _NO_ROOM:
                self._make_room()
            return
        sock.setblocking(False)
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._connections) >= self._limits.connections:
            self._close(_oldest(self._connections))
        now = time.monotonic()
        connection = Connection(sock, now, now + self._limits.head_s)
        self._connections.add(connection)
        self._watch(connection)

    def _make_room(self) -> None:
        """No descriptor or memory is left: take one of ours back, or pause."""
        if self._connections:
            self._close(_oldest(self._connections))
            return
        log.warning("no file descriptor is free for another connection")
        self._selector.unregister(self._listener)
        self._accept_again = time.monotonic() + 1

    def _attend(self, connection: Connection, act: Callable[[Connection], None]) -> None:
        """Do it, and then wait for what the connection needs next; it may be its end."""
        try:
            act(connection)
        except OSError:  # the client is gone: its business, not ours
            self._close(connection)
        except Exception as e:
            log.error("a connection failed: %s: %s", type(e).__name__, e)
            self._close(connection)
        if connection.state is State.CLOSED:
            self._close(connection)
        else:
            self._watch(connection)
        if connection.unsent:
            self._shed(connection)

    def _shed(self, spared: Connection) -> None:
        """Slow readers may not fill the memory: the oldest of them goes."""
        slow = {c for c in self._connections if c.unsent and c is not spared}
        while slow and sum(c.unsent_bytes for c in slow) > self._limits.unsent_bytes:
            slow.discard(oldest := _oldest(slow))
            self._close(oldest)

    def _watch(self, connection: Connection) -> None:
        """Tell the selector what the connection waits for now."""
        events = _WAITS_FOR.get(connection.state, 0)
        if events == connection.events:
            return
        if not connection.events:
            self._selector.register(connection.sock, events, connection)
        elif events:
            self._selector.modify(connection.sock, events, connection)
        else:
            self._selector.unregister(connection.sock)
        connection.events = events

    def _close(self, connection: Connection) -> None:
        connection.enter(State.CLOSED, time.monotonic(), inf)
        if connection in self._connections:
            self._connections.discard(connection)
            self._watch(connection)
            if connection.unsent:  # a reset, or the kernel would keep its part for minutes
                connection.unsent.clear()
                with suppress(OSError):
                    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.sock.close()

    def _defer(self, connection: Connection, request: Request, slow: Slow) -> None:
        if slow.lane not in self._workers:
            self._workers[slow.lane] = Worker(f"http-{slow.lane}")
        self._workers[slow.lane].do(partial(self._make, connection, request, slow))

    def _make(self, connection: Connection, request: Request, slow: Slow) -> None:
        """In the worker's thread; not for a client that has left while it waited."""
        if connection.state is State.BUSY:
            self._made.append((connection, request, guarded(slow.make, request.path)))
            self._rouse()

    def _rouse(self) -> None:
        with suppress(OSError):  # full: it is awake; closed: it needs no waking
            self._wake.send(b"\0")

    def _close_all(self) -> None:
        for connection in list(self._connections):
            self._close(connection)
        for worker in self._workers.values():
            worker.stop()
        self._selector.close()
        for sock in (self._listener, self._wake, self._woken):
            sock.close()


def _oldest(connections: set[Connection]) -> Connection:
    """The one to close first: idle ones before slow ones before those we work for."""
    return min(connections, key=lambda c: (c.state.value, c.since))

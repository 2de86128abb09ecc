"""What is said on a connection: heads come in, responses go out, and it ends politely."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from math import inf

from exporter.publish.connection import Connection, State
from exporter.publish.request import (
    BadRequest,
    Request,
    Response,
    parse_head,
    response_head,
    take_head,
)
from exporter.publish.site import Site, Slow


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, and how many."""

    head_s: float = 10  # from the first byte of a request, or the connection, to the end of a head
    idle_s: float = 310  # Go's clients let go after 5 minutes: let them be the first
    write_s: float = 30
    linger_s: float = 2  # for the client to read the last response before the connection goes
    connections: int = 128
    unsent_bytes: int = 32 << 20  # responses that wait for slow readers


class Dialogue:
    """Moves a connection from state to state, as far as it gets without waiting.

    Any of this raises OSError when the client is gone. `defer` has a thread make the response.
    """

    def __init__(
        self, site: Site, limits: Limits, defer: Callable[[Connection, Request, Slow], None]
    ) -> None:
        self._site = site
        self._limits = limits
        self._defer = defer

    def proceed(self, connection: Connection) -> None:
        """The socket is ready for what the connection waits for."""
        if connection.state is State.WRITING:
            self._send(connection)
        elif connection.state is State.CLOSING:
            if connection.receive(1 << 16) == b"":
                connection.enter(State.CLOSED, time.monotonic(), inf)
        elif connection.state is State.READING:
            self._read(connection)
        self._take_up(connection)

    def respond(self, connection: Connection, request: Request, response: Response) -> None:
        """The response that was deferred is here; and there may be another request after it."""
        self._reply(connection, response, head_only=request.method == "HEAD")
        self._take_up(connection)

    def expire(self, connection: Connection) -> None:
        """Its time is over. Only who began a request is told so."""
        if connection.state is State.READING and connection.received:
            connection.received.clear()
            connection.keep_alive = False
            self._reply(connection, Response(HTTPStatus.REQUEST_TIMEOUT))
        else:
            connection.enter(State.CLOSED, time.monotonic(), inf)

    def _read(self, connection: Connection) -> None:
        data = connection.receive(1 << 14)
        if data == b"":
            connection.enter(State.CLOSED, time.monotonic(), inf)
        elif data:
            if not connection.received:
                connection.deadline = time.monotonic() + self._limits.head_s
            connection.received += data

    def _take_up(self, connection: Connection) -> None:
        """Answer all requests that are here whole: a loop, for they may come in hundreds."""
        while connection.state is State.READING:
            try:
                head = take_head(connection.received)
                if head is None:
                    return
                request = parse_head(head)
            except BadRequest as e:
                connection.keep_alive = False
                self._reply(connection, Response(e.status, f"{e}\n".encode()))
                return
            connection.keep_alive = request.keep_alive
            answer = self._site.answer(request)
            if isinstance(answer, Slow):
                connection.enter(State.BUSY, time.monotonic(), inf)
                self._defer(connection, request, answer)
            else:
                self._reply(connection, answer, head_only=request.method == "HEAD")

    def _reply(
        self, connection: Connection, response: Response, *, head_only: bool = False
    ) -> None:
        head = response_head(response, keep_alive=connection.keep_alive, now=time.time())
        connection.unsent.append(memoryview(head))
        if response.body and not head_only:
            connection.unsent.append(memoryview(response.body))
        connection.enter(State.WRITING, time.monotonic(), self._limits.write_s)
        self._send(connection)

    def _send(self, connection: Connection) -> None:
        connection.send()
        if connection.unsent:
            return
        now = time.monotonic()
        if connection.keep_alive:
            limits = self._limits
            allowed = limits.head_s if connection.received else limits.idle_s
            connection.enter(State.READING, now, allowed)
        else:
            # A close with bytes unread would reset the connection, and take the response along.
            connection.sock.shutdown(socket.SHUT_WR)
            connection.enter(State.CLOSING, now, self._limits.linger_s)

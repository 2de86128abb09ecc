"""The HTTP server: the standard library's, with a limit to all that a client can hold."""

from __future__ import annotations

import ctypes
import errno
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from exporter.model.web import Web
from exporter.publish.connection import Crowd, Doing, Limits
from exporter.publish.listen import Address, listen
from exporter.publish.site import Request, Site
from exporter.publish.web.guard import Guard
from exporter.publish.web.handshake import encrypted, say_goodbye

log = logging.getLogger(__name__)

_MAX_HEADERS = 16 * 1024  # bytes, all together; the library alone would hold 100 lines of 64 KiB
_M_ARENA_MAX = -8  # malloc.h
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Server(ThreadingHTTPServer):
    """Listens from the start (ServiceError if it cannot), answers from start() to stop().

    `current` tells what is asked of clients now; by default nothing is.
    """

    block_on_close = False

    def __init__(
        self, address: Address, site: Site, limits: Limits | None = None,
        current: Callable[[], Web] = Web,
    ) -> None:  # fmt: skip
        listener = listen(address)
        #: Where it listens, with the port that it was given.
        self.address = Address(*listener.getsockname()[:2])
        super().__init__(self.address, _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.guard, self.limits = Guard(site, current), limits or Limits()
        self._current = current
        self.crowd = Crowd(self.limits)
        self._stopping = threading.Event()
        # There is no need to poll for the end: stop() wakes it.
        self._thread = threading.Thread(target=self.serve_forever, args=(3600,), daemon=True)

    def start(self) -> None:
        """One thread of Python's runs at a time: arenas for each would only hold memory (glibc)."""
        if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
            mallopt(_M_ARENA_MAX, 1)
        self._thread.start()

    def stop(self) -> None:
        """Close everything, open connections included; at once, and for good."""
        self._stopping.set()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self._thread.ident is not None:
            self.shutdown()
        self.server_close()
        while self.crowd.make_room():
            pass

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return self.socket.accept()
        except OSError as e:
            if e.errno in _NO_ROOM:  # whoever waits goes on waiting; without a pause we would spin
                cut = self.crowd.make_room()
                if not cut:
                    log.warning("no connection can be accepted: %s", e.strerror)
                self._stopping.wait(0.01 if cut else 1)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        self.crowd.enter(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be started: there is to be one for the next
            self.crowd.leave(request)
            self.crowd.make_room()
            raise

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the connection, its handshake included."""
        tls = self._current().tls
        if tls is None:
            _Handler(request, client_address, self)
        else:
            try:
                connection = encrypted(request, tls, self.limits.handshake_s)
            except OSError:
                self._linger(request)
                raise
            with connection:
                _Handler(connection, client_address, self, request)
                say_goodbye(connection)
        self._linger(request)

    def _linger(self, request: socket.socket) -> None:
        """A close with bytes unread would reset the connection, and take the response along."""
        deadline = time.monotonic() + self.limits.linger_s
        with suppress(OSError):  # the client is gone, or out of time
            request.shutdown(socket.SHUT_WR)
            while (left := deadline - time.monotonic()) > 0:
                request.settimeout(left)
                if not request.recv(1 << 16):
                    break

    def close_request(self, request: Any) -> None:
        self.crowd.leave(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no news; anything else is one line."""
        error = sys.exception()
        level = logging.DEBUG if isinstance(error, OSError) else logging.ERROR
        log.log(level, "a connection failed: %s: %s", type(error).__name__, error)


class _Lines:
    """Lines of a file, up to so many bytes together."""

    def __init__(self, file: Any, left: int) -> None:
        self._file, self._left = file, left

    def readline(self, size: int) -> bytes:
        line: bytes = self._file.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("header")
        return line


class _Handler(BaseHTTPRequestHandler):
    """One connection: its requests, one after the other."""

    server: Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # 0.9, the library's, would get errors without a head
    disable_nagle_algorithm = True
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(message)s\n"

    def __init__(
        self, connection: Any, address: Any, server: Server, raw: socket.socket | None = None
    ) -> None:
        """`raw` is what the crowd knows and cuts off: the connection itself, but for TLS."""
        self.raw = raw or connection
        super().__init__(connection, address, server)

    def handle_one_request(self) -> None:
        """The library's, after a wait of its own for the first byte."""
        self.close_connection = True
        rfile: Any = self.rfile
        self.connection.settimeout(self.server.limits.idle_s)
        with suppress(TimeoutError):
            if rfile.peek(1):
                self.connection.settimeout(self.server.limits.head_s)
                super().handle_one_request()

    def parse_request(self) -> bool:
        whole: Any = self.rfile
        limited: Any = _Lines(whole, _MAX_HEADERS)
        self.rfile = limited
        try:
            return super().parse_request()
        finally:
            self.rfile = whole

    def answer(self) -> None:
        if self.headers.defects:  # what follows a line that is no header would be taken for a body
            self.send_error(400, "Bad header")
            return
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body is of no use to us, and left unread
        crowd, get = self.server.crowd, self.headers.get_all
        crowd.note(self.raw, Doing.WORKING)
        accept, encodings = get("Accept", []), get("Accept-Encoding", [])
        request = Request(
            self.command, self.path, ",".join(accept), ",".join(encodings),
            self.headers.get("Authorization", ""), self.client_address[0],
        )  # fmt: skip
        response = self.server.guard.answer(request)
        crowd.note(self.raw, Doing.SENDING, len(response.body))
        self.connection.settimeout(self.server.limits.write_s)
        try:
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", str(len(response.body)))
            for name, value in response.headers.items():
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)
        except TimeoutError as e:
            raise ConnectionAbortedError("the client does not read") from e
        crowd.note(self.raw, Doing.READING)

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")  # label values are hostile: no HTML
        super().end_headers()

    def version_string(self) -> str:
        return "proctree-exporter"

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s: %s", self.address_string(), format % args)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

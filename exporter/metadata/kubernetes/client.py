"""Asks the API server for pods: one request at a time, each over a connection of its own.

Requests are rare (a watch lasts minutes), so nothing is kept between them: a rotated token and a
changed CA file are simply the ones that are read next. Certificates are always verified.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

from exporter.metadata.kubernetes.failure import Failure, reason_of_status
from exporter.metadata.kubernetes.line import Line
from exporter.metadata.kubernetes.settings import Server

#: For each of: to connect, to agree on TLS, to begin an answer.
ANSWER_S = 30.0

_RETRY_AFTER_AT_MOST_S = 300.0
_MESSAGE_AT_MOST = 4096
_TOKEN_AT_MOST = 65_536
_MENDS = {
    401: "see that the token is this cluster's",
    403: "allow get, list and watch on pods to the ServiceAccount",
}


class Client:
    """`hang_up` ends the request that is under way, from any thread, and all later ones."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._line = Line()
        self._hung_up = False

    def hang_up(self) -> None:
        self._hung_up = True
        self._line.cut()

    @contextmanager
    def pods(
        self, query: Mapping[str, str], idle_s: float, whole_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to GET pods, while it is being read.

        `idle_s`: how long nothing may come; `whole_s`: how long all may take, however slowly bytes
        drip. What goes wrong with it, while it is read and parsed too, is raised as Failure.
        """
        self._line = line = Line()
        if self._hung_up:  # after the line is there, so that one of the two sees the other
            line.cut()
        timer = threading.Timer(whole_s, line.cut_late)
        timer.daemon = True
        timer.start()
        try:
            connection = self._connect(line)
            prefix, fields = self._server.prefix, urlencode(query)
            connection.request("GET", f"{prefix}/api/v1/pods?{fields}", headers=self._headers())
            with connection.getresponse() as response:
                if response.status != 200:
                    raise _refusal(response)
                line.wait_at_most(idle_s)
                yield response
        except (Failure, OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            if line.late:
                raise Failure("timeout", f"the answer took more than {whole_s:.0f} s") from error
            if isinstance(error, Failure):
                raise
            raise Failure(_reason(error), f"{type(error).__name__}: {error}") from error
        finally:
            timer.cancel()
            line.close()

    def _connect(self, line: Line) -> http.client.HTTPConnection:
        host, port = self._server.host, self._server.port
        plain = socket.create_connection((host, port), timeout=ANSWER_S)
        line.hold(plain)
        # What dies without a word (a node, a way through the network) is found by asking.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        connection = http.client.HTTPConnection(host, port)
        connection.sock = plain
        if self._server.tls:
            encrypted = self._trust().wrap_socket(
                plain, server_hostname=host, do_handshake_on_connect=False
            )
            line.hold(encrypted)
            encrypted.do_handshake()
            connection.sock = encrypted
        return connection

    def _trust(self) -> ssl.SSLContext:
        path = self._server.ca_file
        try:
            context = ssl.create_default_context(cafile=path)
        except OSError as error:  # ssl.SSLError is one
            raise Failure("tls", f"cannot read certificates from {path}: {error}") from error
        # Python 3.13 began to insist on fields that the CAs of many clusters do not have.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "proctree-exporter"}
        path = self._server.token_file
        if path and self._server.tls:  # a secret never goes in clear
            headers["Authorization"] = f"Bearer {_token(Path(path))}"
        return headers


def _token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            token = file.read(_TOKEN_AT_MOST).decode("latin-1").strip()
    except OSError as error:
        raise Failure("unauthorized", f"cannot read a token from {path}: {error}") from error
    # Checked here, because http.client's error would tell the token.
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Failure("unauthorized", f"{path} holds no token")
    return token


def _refusal(response: http.client.HTTPResponse) -> Failure:
    status = response.status
    text = f"HTTP {status} {response.reason}"
    with suppress(ValueError, RecursionError):
        message = json.loads(response.read(_MESSAGE_AT_MOST))
        if isinstance(message, dict) and isinstance(message.get("message"), str):
            text += f": {message['message'][:500]}"
    if status in _MENDS:
        text += f"; {_MENDS[status]}"
    return Failure(reason_of_status(status), text, _retry_after_s(response))


def _retry_after_s(response: http.client.HTTPResponse) -> float:
    text = response.headers.get("Retry-After", "")
    seconds = float(text) if text.isascii() and text.isdigit() else 0.0
    return min(seconds, _RETRY_AFTER_AT_MOST_S)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "unreachable"  # it broke
    if isinstance(error, ssl.SSLError):
        return "tls"
    if isinstance(error, OSError | http.client.IncompleteRead):
        return "unreachable"
    return "bad_answer"

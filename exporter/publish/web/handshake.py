"""A connection gets encrypted, in its own thread, and in the time that it has."""

from __future__ import annotations

import logging
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import cast

from exporter.model.web import Tls

log = logging.getLogger(__name__)

_NO_TLS = b"Client sent an HTTP request to an HTTPS server.\n"  # as Go puts it
_TOLD = (
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_NO_TLS), _NO_TLS)
)
_KINDS = ("DNS", "email", "URI")  # of names, as Python calls them; and "IP Address"


def encrypted(raw: socket.socket, tls: Tls, limit_s: float) -> ssl.SSLSocket:
    """TLS on a connection, to be closed beside it. Raises OSError; the client knows why.

    The connection itself stays with the one who may have to cut it off: nobody but its own thread
    touches what OpenSSL works on.
    """
    with raw.dup() as other:
        connection = tls.context.wrap_socket(other, server_side=True, do_handshake_on_connect=False)
    try:
        connection.settimeout(limit_s)
        connection.do_handshake()
        _check_names(connection, tls)
    except OSError as error:
        if getattr(error, "reason", "") == "HTTP_REQUEST":
            raw.settimeout(limit_s)
            raw.sendall(_TOLD)
        connection.close()
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def say_goodbye(connection: ssl.SSLSocket) -> None:
    """So that the client knows that it has all; without waiting for its own."""
    with suppress(OSError, ValueError):
        connection.settimeout(0)
        connection.unwrap()


def _check_names(connection: ssl.SSLSocket, tls: Tls) -> None:
    certificate = connection.getpeercert()
    if tls.names is None or certificate is None:  # OpenSSL has seen to it that one is there
        return
    names = cast(tuple[tuple[str, str], ...], certificate.get("subjectAltName", ()))
    if not any(_written(kind, name) in tls.names for kind, name in names):
        # One of our authorities has signed it: nobody else can fill the log with this.
        log.warning("a certificate has none of client_allowed_sans, but %.200s", ascii(names))
        raise ConnectionAbortedError("the client is not one of client_allowed_sans")


def _written(kind: str, name: str) -> str | None:
    """As Go writes it: of addresses the short form."""
    if kind == "IP Address":
        with suppress(ValueError):
            return str(ip_address(name.strip()))
    return name if kind in _KINDS else None

"""Where to listen: the spellings of an address, and the socket for it."""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from exporter.errors import ServiceError, UsageError

_BACKLOG = 128


class Address(NamedTuple):
    """A host, empty for all interfaces, and a port, 0 for any."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`:9847`, `127.0.0.1:9847`, `[::1]:9847`, `localhost:0`; anything else is a UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon:
        raise UsageError(f"{text!r} is no listen address: expected HOST:PORT or :PORT")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise UsageError(
            f"{text!r} is no listen address: expected a port from 0 to 65535, found {port!r}"
        )
    bracketed = host.startswith("[") and host.endswith("]") and len(host) > 2
    if bracketed:
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(
            f"{text!r} is no listen address: an IPv6 address goes into brackets, [::1]:9847"
        )
    if any(c in "[]/@" or c.isspace() or not c.isprintable() for c in host) or (
        bracketed and ":" not in host
    ):
        raise UsageError(f"{text!r} is no listen address: {host!r} is no host")
    return Address(host, int(port))


def listen(address: Address) -> socket.socket:
    """A listening socket; all interfaces means both IPv6 and IPv4, where IPv6 exists."""
    try:
        if not address.host:
            return _listen_anywhere(address.port)
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        # As Go does: of a name's addresses the first of IPv4 is preferred.
        family, _, _, _, where = min(found, key=lambda info: info[0] != socket.AF_INET)
        return _bound(family, where)
    except (OSError, UnicodeError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise ServiceError(
            f"cannot listen on {address}: {reason}; choose another with --web.listen-address"
        ) from e


def _listen_anywhere(port: int) -> socket.socket:
    try:
        return _bound(socket.AF_INET6, ("::", port))
    except OSError:
        # No IPv6 here; if the port is the trouble, IPv4 says so as well.
        return _bound(socket.AF_INET, ("0.0.0.0", port))


def _bound(family: int, where: tuple[Any, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            only = int(where[0] != "::")
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
        listener.bind(where)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener

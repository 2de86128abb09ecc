"""Where to listen: the spellings of an address, and the socket for it."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

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
        if address.host in ("", "::"):
            return _listen_anywhere(address)
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        # As Go does: of a name's addresses the first of IPv4 is preferred.
        family, _, _, _, where = min(found, key=lambda info: info[0] != socket.AF_INET)
        return socket.create_server(where, family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as e:
        raise ServiceError(
            f"cannot listen on {address}: {_reason(e)}; choose another with --web.listen-address"
        ) from e


def _listen_anywhere(address: Address) -> socket.socket:
    try:
        return socket.create_server(
            ("::", address.port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    except (OSError, ValueError):  # no IPv6 here; if the port is the trouble, IPv4 says so as well
        if address.host:
            raise
        return socket.create_server(("", address.port), backlog=_BACKLOG)


def _reason(error: OSError | UnicodeError) -> str:
    """Without the address, which create_server adds to what the kernel says."""
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error)

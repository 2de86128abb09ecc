"""The way out by an HTTP proxy: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in either case."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from exporter.errors import ServiceError


class Proxy(NamedTuple):
    """`authorization`: the header's value, "" for none."""

    host: str
    port: int
    authorization: str


def proxy_for(scheme: str, host: str, environment: Mapping[str, str]) -> Proxy | None:
    """None: straight to the host, as always to this machine itself.

    Raises ServiceError where the variable's value is none that we can use.
    """
    name = f"{scheme}_proxy"
    url = environment.get(name) or environment.get(name.upper()) or ""
    spared = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if not url or is_this_machine(host) or any(_spares(e, host) for e in spared.split(",")):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        proxy, port = parts.hostname, parts.port or 80
    except ValueError:
        proxy = None
    if not proxy or parts.scheme != "http":
        # Not the value: it may have a password.
        raise ServiceError(f"{name.upper()}: expected a proxy like http://10.0.0.1:3128")
    authorization = ""
    if parts.username is not None:
        both = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = f"Basic {b64encode(both).decode()}"
    return Proxy(proxy, port, authorization)


def _spares(entry: str, host: str) -> bool:
    """An entry of NO_PROXY: a domain with all below it, an address, a network, or `*`."""
    entry = entry.strip().lower().removeprefix("*.").removeprefix(".")
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return bool(entry) and f".{host}".endswith(f".{entry}")


def is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

"""Which API server to ask, as whom, and about which node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from exporter.errors import ServiceError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_NODE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Settings:
    """As a person gave them; None is what a pod is given by its cluster."""

    server: str | None = None
    token_file: str | None = None
    ca_file: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """Where to connect to, and with what. `prefix` has no trailing slash.

    Without a token file requests are anonymous; without a CA file the system's CAs are trusted.
    """

    host: str
    port: int
    prefix: str
    tls: bool
    token_file: str | None
    ca_file: str | None
    node: str


def resolve(settings: Settings, environment: Mapping[str, str], account: Path = ACCOUNT) -> Server:
    """Fills in what a pod is given.

    Raises ServiceError where server or node are not known, or cannot be meant.
    """
    url = settings.server or _in_cluster(environment)
    host, port, prefix, tls = _parsed(url)
    return Server(
        host, port, prefix, tls,
        token_file=settings.token_file or _if_there(account / "token"),
        ca_file=settings.ca_file or _if_there(account / "ca.crt"),
        node=_node(settings.node or environment.get("NODE_NAME", "")),
    )  # fmt: skip


def _in_cluster(environment: Mapping[str, str]) -> str:
    host = environment.get("KUBERNETES_SERVICE_HOST")
    if not host:
        raise ServiceError(
            "Kubernetes: KUBERNETES_SERVICE_HOST is not set, so this is no pod: give the API "
            "server's address"
        )
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _parsed(url: str) -> tuple[str, int, str, bool]:
    """Host, port, prefix, and whether it is TLS."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("https", "http") or parts.query or "@" in parts.netloc:
        shown = "one with a password" if "@" in url else repr(url)  # logs are no place for it
        raise ServiceError(
            f"Kubernetes: expected a server like https://10.96.0.1:443, found {shown}"
        )
    tls = parts.scheme == "https"
    if not tls and not _is_loopback(host):
        raise ServiceError(
            f"Kubernetes: {url!r} is not encrypted: expected https:// (http:// is for this "
            "machine only: localhost, 127.0.0.1, [::1])"
        )
    return host, port or (443 if tls else 80), parts.path.rstrip("/"), tls


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _node(name: str) -> str:
    if not name:
        raise ServiceError(
            "Kubernetes: NODE_NAME is not set: set it by the downward API (fieldRef spec.nodeName)"
        )
    if not _NODE.fullmatch(name):
        raise ServiceError(f"Kubernetes: expected a node's name, found {name!r}")
    return name


def _if_there(path: Path) -> str | None:
    return str(path) if path.exists() else None

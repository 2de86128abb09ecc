"""Where requests of one signal go, and with what: as settings give it, whoever read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` is whole: for HTTP with its path, for gRPC only scheme, host and port count.

    The scheme https means TLS. Paths of PEM files are read for each connection. Without
    `certificate` the system's authorities are trusted.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # secrets
    gzip: bool = False
    timeout_ns: int = 10 * 10**9
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None

    @property
    def tls(self) -> bool:
        return urlsplit(self.url).scheme == "https"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or "localhost"

    def port(self, default: int) -> int:
        return urlsplit(self.url).port or default

"""What a client has to bring, and what it gets besides: `--web.config.file`, read and tried."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from exporter.errors import Problem

if TYPE_CHECKING:
    import ssl

#: Tells whether a file is another one, or has changed: device, inode, mtime in ns, size.
Identity = tuple[int, int, int, int]


def identity_of(status: os.stat_result) -> Identity:
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


class ClientAuth(IntEnum):
    """Which certificates of clients are asked for."""

    NONE, IF_GIVEN, REQUIRED = range(3)


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is encrypted. `names`: the certificate of a client must have one of them."""

    context: ssl.SSLContext
    clients: ClientAuth
    names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """A request each `interval_ns`, and `burst` of them at once after a pause."""

    interval_ns: int
    burst: int


@dataclass(frozen=True, slots=True)
class Web:
    """The file, whole. Without one nothing is encrypted, and everybody may ask.

    `users`: name -> bcrypt hash, both as bytes. `files`: what was read of the disk, by path.
    """

    file: str = ""
    tls: Tls | None = None
    users: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    rate: Rate | None = None
    files: Mapping[str, Identity] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def protections(self) -> tuple[str, ...]:
        """The keys of the file that keep somebody out."""
        required = self.tls is not None and self.tls.clients is ClientAuth.REQUIRED
        found = {
            "tls_server_config": self.tls is not None,
            "client_auth_type": required,
            "client_allowed_sans": required and self.tls is not None and self.tls.names is not None,
            "basic_auth_users": bool(self.users),
        }
        return tuple(key for key, there in found.items() if there)

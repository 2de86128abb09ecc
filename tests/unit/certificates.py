"""Certificates as fixtures: two authorities, a server on 127.0.0.1, and a client.

Used as `ca = certificates.ca`. Each module gets its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.kube.certificates import Pair, authority, signed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ca(folder: Path) -> Pair:
    return authority(folder, "ca")


@pytest.fixture(scope="module")
def other(folder: Path) -> Pair:
    """An authority that nobody trusts."""
    return authority(folder, "other-ca")


@pytest.fixture(scope="module")
def pair(folder: Path, ca: Pair) -> Pair:
    """The server's."""
    return signed(folder, "server", by=ca)


@pytest.fixture(scope="module")
def client(folder: Path, ca: Pair) -> Pair:
    return signed(folder, "client", by=ca, names="DNS:client")

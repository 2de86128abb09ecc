"""Certificates that openssl makes: an authority, and servers on 127.0.0.1 that it signed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


def authority(folder: Path, name: str) -> Pair:
    return _make(folder, name, "-x509", "-days", "2", *_with("basicConstraints=critical,CA:true"))


def signed(folder: Path, name: str, by: Pair, names: str = "IP:127.0.0.1") -> Pair:
    """For a server that is reached by `names`, as openssl's subjectAltName writes them."""
    return _make(
        folder, name, "-x509", "-days", "2", "-CA", str(by.certificate), "-CAkey", str(by.key),
        *_with("basicConstraints=critical,CA:false"), *_with(f"subjectAltName={names}"),
    )  # fmt: skip


def _with(extension: str) -> tuple[str, str]:
    return "-addext", extension


def _make(folder: Path, name: str, *arguments: str) -> Pair:
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    _openssl(
        "req", *arguments, "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
        "-keyout", str(pair.key), "-out", str(pair.certificate),
    )  # fmt: skip
    return pair


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)

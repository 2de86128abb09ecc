"""Whom we trust, and who we say we are, on the way to a backend."""

from __future__ import annotations

import ssl
from pathlib import Path

from exporter.publish.otlp.endpoint import Endpoint


class TrustError(Exception):
    """A certificate or key cannot be used; the text says which file."""


def context(endpoint: Endpoint) -> ssl.SSLContext:
    """Raises TrustError. Made for each connection, so that files that were rotated count."""
    authorities = endpoint.certificate
    try:
        it = ssl.create_default_context(cafile=authorities)
    except OSError as error:  # ssl.SSLError is one
        raise TrustError(f"cannot read certificates from {authorities}: {error}") from error
    # Python 3.13 began to insist on fields that many private authorities do not have.
    it.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if endpoint.client_certificate:
        own, key = endpoint.client_certificate, endpoint.client_key
        try:
            # A key with a passphrase would be asked for at the terminal.
            it.load_cert_chain(own, key, password=_no_passphrase)
        except (OSError, ValueError) as error:
            both = f"{own} with the key {key}" if key else own
            raise TrustError(f"cannot use the client certificate {both}: {error}") from error
    return it


def contents(path: str | None) -> bytes | None:
    """Of a PEM file; None for none. Raises TrustError."""
    try:
        return Path(path).read_bytes() if path else None
    except OSError as error:
        raise TrustError(f"cannot read {path}: {error.strerror}") from error


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase, which nobody can enter here")

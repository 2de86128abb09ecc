"""Files of certificates and keys in PEM: whether they are what TLS will need.

OpenSSL reads them, as it will for the connection; it is imported only where there are such files.
"""

from __future__ import annotations

import os
import re
import stat

_MAX_BYTES = 8 << 20  # the CAs of a whole distribution take a quarter of a MiB
_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----")
_CERTIFICATES = {"CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"}
_KEYS = {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"}
#: OpenSSL's reasons for a key of another certificate, of the same kind of key and of another kind.
_MISMATCHES = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}


def trusted_fault(path: str) -> str:
    """What is wrong with a file of certificates to trust; "" if nothing."""
    expected = "expected a file with certificates in PEM"
    if fault := _fault(path, expected, _CERTIFICATES):
        return fault
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError:  # ssl.SSLError is one
        return f"{expected}, found one that OpenSSL cannot read"
    return ""


def client_faults(certificate: str, key: str) -> tuple[str, str]:
    """What is wrong with a certificate to show: with its own file, and with that of its key."""
    expected = "expected a file with a certificate in PEM"
    faults = (
        _fault(certificate, expected, _CERTIFICATES),
        _fault(key, "expected a file with a private key in PEM", _KEYS),
    )
    if any(faults):
        return faults
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    except OSError as error:
        if getattr(error, "reason", "") in _MISMATCHES:
            return "", "expected the private key of the client certificate, found another's"
        return f"{expected}, and its key, found one that OpenSSL cannot read", ""
    return "", ""


def _fault(path: str, expected: str, labels: set[str]) -> str:
    try:
        data = _read(path)
    except OSError as error:
        return f"{expected}, cannot read it: {error.strerror or error}"
    except ValueError as error:  # no regular file, or a NUL in the path
        return f"{expected}, cannot read it: {error}"
    return _content_fault(data, expected, labels)


def _read(path: str) -> bytes:
    """Only of a regular file: a FIFO would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no regular file")
        return file.read(_MAX_BYTES)


def _content_fault(data: bytes, expected: str, labels: set[str]) -> str:
    found = [label.decode() for label in _LABEL.findall(data)]
    if not data.strip():
        return f"{expected}, found an empty file"
    if not found:
        mend = "; convert DER: openssl x509 -inform der -in FILE" if data[0] == 0x30 else ""
        return f"{expected}, found no PEM{mend}"
    if labels is _KEYS and b"ENCRYPTED" in data:  # or OpenSSL would ask the terminal for it
        return (
            f"{expected}, found one with a passphrase; "
            "write it without: openssl pkey -in FILE -out NEW"
        )
    if not labels & set(found):
        return f"{expected}, found '{found[0][:60]}'"
    return ""

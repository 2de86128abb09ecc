"""The certificates of `tls_server_config`: the server's own, its key, and whom clients are of."""

from __future__ import annotations

import re
import ssl
from contextlib import ExitStack
from pathlib import Path

from exporter.config.web_files import Files, as_file
from exporter.config.web_section import Section
from exporter.model.certificates import client_faults, trusted_fault

#: OpenSSL's reasons for a key of another certificate, of the same kind of key and of another kind.
_KEY_OF_ANOTHER = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


def show(context: ssl.SSLContext, section: Section, folder: Path, files: Files) -> None:
    """The server's own certificate; what is wrong with it or its key is reported."""
    with ExitStack() as stack:
        paths: list[str] = []
        for name in ("cert", "key"):
            key = _written(section, name)
            if key != name:
                paths += _found(section, key, folder, files)
            elif text := section.value(name):
                try:
                    paths.append(stack.enter_context(as_file(text)))
                except ValueError as error:
                    section.error(name, str(error))
            else:
                where = name if name in section.found else f"{name}_file"
                section.error(where, f"expected the path of a file, or '{name}' with its text")
        if len(paths) < 2:
            return
        for name, fault in zip(("cert", "key"), _load_pair(context, *paths), strict=True):
            if fault:
                section.error(_written(section, name), fault)


def trust(context: ssl.SSLContext, section: Section, folder: Path, files: Files) -> None:
    """Whose certificates clients may have; what is wrong with that is reported."""
    # As Go has it: what is listed is trusted, be it an authority that signed itself or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    key = _written(section, "client_ca")
    if key == "client_ca_file":
        for path in _found(section, key, folder, files):
            if fault := trusted_fault(path):
                section.error(key, fault)
            else:
                context.load_verify_locations(cafile=path)
    elif text := section.value(key):
        try:
            context.load_verify_locations(cadata="\n".join(_CERTIFICATE.findall(text)))
        except (ssl.SSLError, ValueError):  # ValueError: there is none
            section.error(key, "expected certificates in PEM, found what OpenSSL cannot read")
    else:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        told = "without 'client_ca_file' every authority that the system trusts is trusted"
        section.warn("client_auth_type", told)


def _written(section: Section, name: str) -> str:
    """Which of the two keys for something in PEM counts: that of the file, as in the toolkit."""
    return f"{name}_file" if section.value(f"{name}_file") else name


def _found(section: Section, key: str, folder: Path, files: Files) -> list[str]:
    """The path of a file that is there and can be read; nothing where it is not."""
    path, name = str(folder / section.value(key)), key.removesuffix("_file")
    if section.value(name):
        section.warn(name, f"not used, because '{key}' is given; remove one of them")
    try:
        files.look(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        shown = f"'{path}'" if path.isprintable() else ascii(path)
        section.error(key, f"cannot read {shown}: {reason}")
        return []
    return [path]


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> tuple[str, str]:
    """What is wrong with a certificate, and with its key; "" if nothing."""
    try:
        # Without a password OpenSSL would ask the terminal for one.
        context.load_cert_chain(certificate, key, password=lambda: "")
        return "", ""
    except OSError as error:  # ssl.SSLError is one
        reason = getattr(error, "reason", None) or ""
    if reason in _KEY_OF_ANOTHER:
        return "", "expected the private key of the certificate beside it, found another's"
    faults = client_faults(certificate, key)
    if any(faults) and not any(f.endswith(("cannot read", "regular file")) for f in faults):
        return faults
    why = f": {reason.lower().replace('_', ' ')}" if reason else ""
    return f"expected a certificate and its key in PEM, found what OpenSSL refuses{why}", ""

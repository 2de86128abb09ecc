"""`tls_server_config` to what OpenSSL works with, as Python's ssl module hands it on.

Where that can do less than Go's TLS, a list is made shorter, never longer, and a warning says so;
what could only be had by letting more people in is refused.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from exporter.config import web_values as values
from exporter.config.web_certificates import show, trust
from exporter.config.web_files import Files
from exporter.config.web_section import Section
from exporter.model.web import ClientAuth, Tls

#: tls.CipherSuites() of Go 1.25 by OpenSSL's names. Those of TLS 1.3 cannot be chosen there either.
CIPHERS = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
CURVES = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
#: None: is spoken by no OpenSSL of today, unless it is told to take weak keys and signatures, too.
VERSIONS = {
    "TLS10": None,
    "TLS11": None,
    "TLS12": ssl.TLSVersion.TLSv1_2,
    "TLS13": ssl.TLSVersion.TLSv1_3,
}
CLIENTS = {
    "NoClientCert": ClientAuth.NONE,
    "RequestClientCert": ClientAuth.NONE,
    "RequireAnyClientCert": None,
    "RequireClientCert": None,  # its name of old
    "VerifyClientCertIfGiven": ClientAuth.IF_GIVEN,
    "RequireAndVerifyClientCert": ClientAuth.REQUIRED,
}
_MODES = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.IF_GIVEN: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
KEYS: dict[str, values.Reader[Any]] = {
    "cert": values.text,
    "key": values.text,
    "client_ca": values.text,
    "cert_file": values.file_path,
    "key_file": values.file_path,
    "client_auth_type": values.word("one of", *CLIENTS),
    "client_ca_file": values.file_path,
    "client_allowed_sans": values.listed(values.text),
    "min_version": values.word("one of", *VERSIONS),
    "max_version": values.word("one of", *VERSIONS),
    "cipher_suites": values.listed(values.word("one of Go's cipher suites, such as", *CIPHERS)),
    "prefer_server_cipher_suites": values.flag,
    "curve_preferences": values.listed(values.word("one of", *CURVES)),
}


def tls_of(section: Section, folder: Path, files: Files) -> Tls | None:
    """What was read under `tls_server_config`; None where there is nothing under it, or mistakes.

    `folder`: what paths are relative to.
    """
    if not section.found:
        return None
    before = len(section.report.errors)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    show(context, section, folder, files)
    clients = _clients(section)
    if clients:
        context.verify_mode = _MODES[clients]
        trust(context, section, folder, files)
    _set_versions(context, section)
    _set_ciphers(context, section)
    _set_curve(context, section)
    if clients is None or len(section.report.errors) > before:
        return None
    names = section.value("client_allowed_sans")
    return Tls(context, clients, None if names is None else frozenset(names))


def _clients(section: Section) -> ClientAuth | None:
    name = section.value("client_auth_type") or "NoClientCert"
    clients = CLIENTS[name]
    if clients is None:
        section.error(
            "client_auth_type",
            f"{name} lets in whoever has any certificate, also one made up on the spot, and cannot "
            "be had here; write RequireAndVerifyClientCert, or NoClientCert",
        )
        return None
    mend = "add 'client_auth_type: RequireAndVerifyClientCert'"
    for key in ("client_ca_file", "client_ca"):
        if section.value(key) and name == "NoClientCert":
            section.error(key, f"clients are not asked for certificates; {mend}")
    if section.value("client_allowed_sans") is not None and not clients:
        section.error("client_allowed_sans", f"the names of clients are not looked at; {mend}")
    if name == "RequestClientCert":
        told = "nobody is asked for a certificate: without one they would be let in as well"
        section.warn("client_auth_type", told)
    return clients


def _set_versions(context: ssl.SSLContext, section: Section) -> None:
    lowest, highest = section.value("min_version"), section.value("max_version")
    if lowest and not VERSIONS[lowest]:
        section.warn("min_version", f"{lowest} is not spoken any more: TLS12 is the least")
    if highest and not VERSIONS[highest]:
        section.error("max_version", f"{highest} is not spoken any more; write TLS12 or TLS13")
    elif highest and lowest and lowest > highest:
        section.error("min_version", f"expected at most 'max_version', which is {highest}")
    context.minimum_version = VERSIONS.get(lowest) or ssl.TLSVersion.TLSv1_2
    context.maximum_version = VERSIONS.get(highest) or ssl.TLSVersion.TLSv1_3


def _set_ciphers(context: ssl.SSLContext, section: Section) -> None:
    chosen = section.value("cipher_suites") or CIPHERS
    if older := [CIPHERS[name] for name in chosen if CIPHERS[name]]:
        context.set_ciphers(":".join(older))
    elif context.maximum_version is ssl.TLSVersion.TLSv1_3:  # TLS 1.2 is left without any
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    else:
        section.error("cipher_suites", "expected one of TLS 1.2, which 'max_version' asks for")
    if section.value("prefer_server_cipher_suites") is False:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE


def _set_curve(context: ssl.SSLContext, section: Section) -> None:
    names = section.value("curve_preferences")
    if not names:
        return
    for name in names:
        try:
            context.set_ecdh_curve(CURVES[name])
        except (ssl.SSLError, ValueError):  # X25519, with some versions of Python
            continue
        if len(names) > 1:
            section.warn("curve_preferences", f"Python's TLS takes one curve only: it is {name}")
        return
    section.error("curve_preferences", f"Python's TLS cannot choose {names[0]}; add CurveP256")

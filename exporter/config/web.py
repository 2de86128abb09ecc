"""The way in for `--web.config.file`: a file in exporter-toolkit's format to a `Web`, or a
`ConfigError` that holds all of its mistakes.

What it names is read and tried here: certificates are there, the key is the certificate's, OpenSSL
takes them. web_values.py says what values may be, web_tls.py makes TLS of them.

Source: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
"""

from __future__ import annotations

from pathlib import Path

from exporter.config import web_values as values
from exporter.config.compose import compose
from exporter.config.nodes import At, Node
from exporter.config.report import Report
from exporter.config.web_files import Files
from exporter.config.web_section import Section
from exporter.config.web_tls import KEYS as TLS_KEYS
from exporter.config.web_tls import tls_of
from exporter.config.web_values import Found, mapping
from exporter.errors import ConfigError, Problem
from exporter.model.web import ClientAuth, Rate, Web

MAX_BYTES = 1 << 20

HEADERS = {
    "Content-Security-Policy": values.header(),
    "X-Frame-Options": values.header("deny", "sameorigin"),
    "X-Content-Type-Options": values.header("nosniff"),
    "X-XSS-Protection": values.header(),
    "Strict-Transport-Security": values.header(),
}
_SENT = ("X-Content-Type-Options",)  # in any case
_HTTP_KEYS = {
    "http2": values.flag,
    "headers": lambda path, node, report: mapping(path, HEADERS, node, report),
}
_RATE_KEYS = {"interval": values.interval, "burst": values.count}
_TOP_KEYS = {
    "tls_server_config": lambda path, node, report: mapping(path, TLS_KEYS, node, report),
    "http_server_config": lambda path, node, report: mapping(path, _HTTP_KEYS, node, report),
    "basic_auth_users": values.users,
    "rate_limit": lambda path, node, report: mapping(path, _RATE_KEYS, node, report),
}


def load(path: str) -> Web:
    """Read a web config, and all that it names.

    Raises:
        ConfigError: something cannot be read, or holds mistakes.
    """
    files = Files()
    try:
        text = files.read(path, MAX_BYTES).decode()
    except UnicodeDecodeError as error:
        fault = f"expected UTF-8, found the byte 0x{error.object[error.start]:02x}"
        raise ConfigError([Problem(path, 1, 1, fault)]) from error
    except (OSError, ValueError) as error:  # ValueError: no regular file, or a NUL in the path
        fault = f"cannot read the web config: {getattr(error, 'strerror', None) or error}"
        raise ConfigError([Problem(path, 1, 1, fault)]) from error
    return parse(text, path, files)


def parse(text: str, file: str, files: Files) -> Web:
    """The same of a web config given as text; paths in it are relative to the folder of `file`.

    Raises:
        ConfigError: it, or something that it names, cannot be read or holds mistakes.
    """
    report = Report(file)
    root = compose(text, report)
    web = None if root is None and report.errors else _web(root, report, files)
    if web is None or report.errors:
        raise ConfigError(report.errors)
    return web


def _web(root: Node | None, report: Report, files: Files) -> Web | None:
    found = {} if root is None else mapping("", _TOP_KEYS, root, report)
    sections = {name: found[name].value if name in found else {} for name in _TOP_KEYS}
    tls = None
    if "tls_server_config" in found:
        name, at = "tls_server_config", found["tls_server_config"].key_at
        tls = tls_of(Section(name, sections[name], at, report), Path(report.file).parent, files)
    http = sections["http_server_config"]
    if "http2" in http and http["http2"].value:
        told = "HTTP/1.1 is spoken, also where a client offers HTTP/2; nothing depends on it"
        report.warn(http["http2"].at, f"http_server_config.http2: {told}")
    headers = http["headers"].value if "headers" in http else {}
    users = sections["basic_auth_users"]
    if users and "tls_server_config" not in found:
        told = "passwords go over the network in clear text; add 'tls_server_config'"
        report.warn(found["basic_auth_users"].key_at, f"basic_auth_users: {told}")
    rate = _rate(sections["rate_limit"], report)
    if report.errors:
        return None
    return Web(
        file=report.file,
        tls=tls,
        users=users,
        headers=tuple((k, v.value) for k, v in headers.items() if v.value and k not in _SENT),
        rate=rate,
        files=files.seen,
        warnings=tuple(sorted(report.warnings)),
    )


def _rate(found: dict[str, Found], report: Report) -> Rate | None:
    interval, burst = (found.get(key, Found(0, At(1, 1), At(1, 1))) for key in _RATE_KEYS)
    if interval.value and burst.value == 0:
        at = burst.at if "burst" in found else interval.at
        report.error(at, "rate_limit.burst: expected at least 1, found 0: nobody would be answered")
    return Rate(interval.value, burst.value) if interval.value and burst.value else None


def describe(web: Web) -> str:
    """What it asks of clients, in one line."""
    clients = {
        ClientAuth.NONE: "no certificates of clients",
        ClientAuth.IF_GIVEN: "certificates of clients where they have one",
        ClientAuth.REQUIRED: "certificates of clients required",
    }
    told = ["HTTPS" if web.tls else "HTTP, not encrypted"]
    if web.tls:
        told.append(clients[web.tls.clients])
    told.append(f"passwords for {len(web.users)} user(s)" if web.users else "no passwords")
    return f"{web.file}: good: {', '.join(told)}"

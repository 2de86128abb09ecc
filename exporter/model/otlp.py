"""How a person wants telemetry sent by OTLP, and what an endpoint and a header may be.

The same holds in the config file and in the environment (OTEL_EXPORTER_OTLP_*). Endpoints and
headers may hold secrets: what a fault says was found has none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Protocol = Literal["http/protobuf", "grpc"]
Compression = Literal["none", "gzip"]

PROTOCOLS: tuple[Protocol, ...] = ("http/protobuf", "grpc")
COMPRESSIONS: tuple[Compression, ...] = ("none", "gzip")
#: The specification's; the other one speaks a protocol that is not spoken there.
PORTS: dict[Protocol, int] = {"http/protobuf": 4318, "grpc": 4317}
#: What is added to the base of the URLs of HTTP.
PATHS = {"metrics": "v1/metrics", "traces": "v1/traces"}
#: Shortest time from one export of metrics to the next.
MIN_INTERVAL_NS = 100_000_000
INSTALL_GRPC = "pip install 'proctree-exporter[grpc]'"

_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)"
_PATH = r"(/[A-Za-z0-9._~!$&'()*+,;=:%/-]*)?"  # RFC 3986, 3.3, less '@'
ENDPOINT = rf"^https?://{_HOST}(:[0-9]*)?{_PATH}$"
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
EXPECTED_ENDPOINT = "a URL such as http://127.0.0.1:4318"

#: What HTTP and gRPC both allow: RFC 9110, 5.6.2; grpc's doc/PROTOCOL-HTTP2.md, Custom-Metadata.
HEADER_NAME = r"^[A-Za-z0-9_.-]{1,256}$"
#: Printable ASCII without blanks at the ends: RFC 9110, 5.5; gRPC allows no more.
HEADER_VALUE = r"^([!-~]([ -~]{0,8190}[!-~])?)?$"
#: What the request is made of, said by the exporter itself.
OUR_HEADERS = (
    "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
    "host", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Otlp:
    """`otlp` of the config. None: the environment decides, or else the specification."""

    metrics: bool = False
    traces: bool = False
    endpoint: str | None = None  # the base of both signals' URLs
    protocol: Protocol | None = None
    headers: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)  # secrets
    compression: Compression | None = None
    timeout_ns: int | None = None
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    interval_ns: int | None = None
    shutdown_timeout_ns: int | None = None


class Fault(NamedTuple):
    """What was expected, what to say was found ("": the text itself, no secret), how to mend it."""

    expected: str
    found: str = ""
    mend: str = ""


def has_grpc() -> bool:
    """Whether the extra `grpc` is installed; does not import it."""
    import importlib.util

    return importlib.util.find_spec("grpc") is not None


def endpoint_fault(url: str) -> Fault | None:
    """What is wrong with a URL to send to, as text."""
    scheme = _SCHEME.match(url)
    if "@" in url:
        mend = "send a password as a header, and write '%40' for an '@' in a path"
        return Fault("a URL without '@'", "one with it", mend)
    if "?" in url or "#" in url:
        mend = "remove what follows the path, and send a key as a header"
        return Fault("a URL without query and fragment", "one with them", mend)
    if not scheme:
        plain = re.fullmatch(rf"{_HOST}(:[0-9]+)?{_PATH}", url) and len(url) < 60
        mend = f"write http://{url}, or https:// for TLS" if plain else ""
        return Fault("a URL that begins with http:// or https://", mend=mend)
    if scheme[1] not in ("http", "https"):
        mend = "write http:// beside 'protocol: grpc'" if scheme[1].startswith("grpc") else ""
        return Fault("a URL that begins with http:// or https://", mend=mend)
    return _address_fault(url)


def _address_fault(url: str) -> Fault | None:
    brackets = Fault(EXPECTED_ENDPOINT, mend="write an IPv6 address as in http://[::1]:4318")
    try:
        parts = urlsplit(url)
        if "[" in url:
            IPv6Address(parts.hostname or "")
    except ValueError:
        return brackets
    if "[" not in url and parts.netloc.count(":") > 1:
        return brackets
    if not parts.hostname:
        return Fault("a URL with a host")
    try:
        good = parts.port != 0
    except ValueError:
        good = False
    if not good:
        return Fault("a URL with a port from 1 to 65535")
    if not re.fullmatch(ENDPOINT, url):
        return Fault(EXPECTED_ENDPOINT, mend="percent-encode blanks and other characters")
    return None


def header_name_fault(name: str) -> Fault | None:
    """What is wrong with the name of a header to send along."""
    if not re.fullmatch(HEADER_NAME, name):
        return Fault("the name of a header, of letters, digits, '-', '_' and '.'")
    if name.lower() in OUR_HEADERS or name.lower().startswith("grpc-"):
        return Fault("a header that the exporter does not set itself", mend="remove it")
    return None


def header_value_fault(value: str) -> Fault | None:
    """The same of its value, which is a secret."""
    if re.fullmatch(HEADER_VALUE, value):
        return None
    if "\n" in value or "\r" in value:
        return Fault("one line", "several", "remove the line break")
    if value != value.strip():
        return Fault("text without blanks at its ends", "one with them", "remove them")
    if len(value) > 8192:
        return Fault("at most 8192 characters", str(len(value)), "shorten it")
    return Fault("printable ASCII", "other characters", "remove them")

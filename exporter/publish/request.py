"""A request's head, from bytes; a response, to bytes. No sockets here.

Only what an exporter needs of HTTP/1.1 (https://www.rfc-editor.org/rfc/rfc9112). The standard
library's http.server reads with a timeout per read and not per request, holds a thread per
connection and costs 9 MiB resident; these few lines cost none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import gmtime

MAX_HEAD = 16 * 1024

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class BadRequest(Exception):
    """The bytes are no request that we take; `status` says why."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is without the query; names of headers are in lower case, equal ones joined."""

    method: str
    path: str
    headers: Mapping[str, str]
    keep_alive: bool


@dataclass(frozen=True, slots=True)
class Response:
    status: HTTPStatus
    body: bytes | bytearray = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def take_head(buffer: bytearray) -> bytes | None:
    """Take the first complete head out of `buffer`; None: more has to come.

    Raises BadRequest once it is clear that it never becomes an acceptable one.
    """
    while buffer.startswith((b"\r", b"\n")):  # before a request, empty lines are to be ignored
        del buffer[:1]
    ends = [
        at + len(end) for end in (b"\n\r\n", b"\n\n") if (at := buffer.find(end, 0, MAX_HEAD)) >= 0
    ]
    if ends:
        head = bytes(buffer[: min(ends)])
        del buffer[: min(ends)]
        return head
    if len(buffer) < MAX_HEAD:
        return None
    if b"\n" in buffer:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    raise BadRequest(HTTPStatus.REQUEST_URI_TOO_LONG)


def parse_head(head: bytes) -> Request:
    """Raises BadRequest where the head is no HTTP/1 request."""
    first, *lines = _lines(head)
    words = first.split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[0].isascii():
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    method, target, version = words
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        unknown = version.startswith("HTTP/")
        raise BadRequest(
            HTTPStatus.HTTP_VERSION_NOT_SUPPORTED if unknown else HTTPStatus.BAD_REQUEST
        )
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(HTTPStatus.BAD_REQUEST)
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    close = "close" in headers.get("connection", "").lower()
    # A body is of no use to us: it is not read, so no other request can follow it.
    keep_alive = version == "HTTP/1.1" and not body and not close
    return Request(method, _path(target), headers, keep_alive)


def _lines(head: bytes) -> list[str]:
    return [line.removesuffix("\r") for line in head.decode("latin-1").rstrip("\r\n").split("\n")]


def _path(target: str) -> str:
    """The path alone; a proxy sends the whole URL."""
    scheme, separator, rest = target.partition("://")
    if separator and scheme.lower() in ("http", "https"):
        target = "/" + rest.partition("/")[2]
    return target.partition("?")[0]


def response_head(response: Response, *, keep_alive: bool, now: float) -> bytes:
    lines = [
        f"HTTP/1.1 {response.status.value} {response.status.phrase}",
        f"Date: {_http_date(now)}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(response.body)}",
        "X-Content-Type-Options: nosniff",  # label values are hostile: do not guess HTML
        *(f"{name}: {value}" for name, value in response.headers.items()),
    ]
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _http_date(now: float) -> str:
    """strftime would speak the locale's language."""
    t = gmtime(now)
    clock = f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
    day, month = _DAYS[t.tm_wday], _MONTHS[t.tm_mon - 1]
    return f"{day}, {t.tm_mday:02} {month} {t.tm_year} {clock} GMT"

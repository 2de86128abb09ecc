"""OTLP over HTTP: a POST of protobuf, over a connection that is kept.

By the standard library. On top of what the exporter imports anyway, http.client and ssl cost
1.4 MiB resident, urllib3 3.0 and requests 7.9; and the parts that matter here (one deadline for
everything, an end from another thread, answers of any length, what became of a request whose
connection broke) would have to be ours with any of them. http.client reads the answers.

What counts as taken is the status: by the OTLP specification 200, and in practice any 2xx (Grafana
answers 204). A 2xx with half an answer, or with one that is no response message, was taken, too:
to send it again would double it, and what the rest of the answer might say is how much was
rejected. It is counted as `bad_answer`, so that a web page that says 200 to everything is seen.

A request without an answer is sent again, as the specification wants. The backend may have taken
it, and then has it twice: spans by the same ids, metrics with the same times. So it is with a kept
connection that the backend closes while we send: it is looked at before, and where it ends all
the same before a byte of an answer, the failure is counted and the request goes over a new one.
"""

from __future__ import annotations

import gzip
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import NamedTuple, cast

from exporter.publish.otlp import answer
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.head import head_of, tunnel_head_of
from exporter.publish.otlp.line import Line
from exporter.publish.otlp.outcome import Outcome, taken, tidy
from exporter.publish.otlp.proxy import proxy_for
from exporter.publish.otlp.retry import retry_after_ns
from exporter.publish.otlp.tls import TrustError, context

#: Of an answer's body; what is longer is no answer to us.
ANSWER_AT_MOST = 1 << 16

_GZIP_LEVEL = 4  # of spans the higher ones save next to nothing, for several times the time
_RETRYABLE = (429, 502, 503, 504)
_REASONS = {
    401: "unauthorized", 403: "unauthorized", 407: "unauthorized", 429: "too_many_requests",
    502: "unavailable", 503: "unavailable", 504: "unavailable",
}  # fmt: skip


class _Answer(NamedTuple):
    """`body` is None where it broke off or was too long; `why` then says so."""

    status: int
    phrase: str
    retry_after: str
    body: bytes | None
    why: str
    keeps: bool


class HttpTransport:
    """Of one signal. See `Transport` for who may call what."""

    def __init__(self, endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> None:
        """Raises ServiceError where the environment names a proxy that cannot be used."""
        self._endpoint = endpoint
        self._proxy = proxy_for("https" if endpoint.tls else "http", endpoint.host, environment)
        self._head = head_of(endpoint, self._proxy)
        self._lock = threading.Lock()
        self._line: Line | None = None
        self._hung_up = False

    @property
    def where(self) -> str:
        return self._endpoint.url

    def send(self, request: bytes, limit_ns: int) -> Outcome:
        deadline_ns = time.monotonic_ns() + limit_ns
        if self._endpoint.gzip:
            request = gzip.compress(request, _GZIP_LEVEL, mtime=0)
        line, kept = self._ready(deadline_ns)
        try:
            if not kept:
                self._connect(line)
            found = self._ask(line, request)
        except (OSError, HTTPException, ValueError, TrustError) as error:
            self._drop()
            reason = _reason(error)
            if kept and reason == "unreachable" and not line.heard:
                text = "a kept connection ended while a request was sent: sent again"
                return Outcome(False, reason, text, retryable=True, delay_ns=0)
            return Outcome(False, reason, _text(error), retryable=True)
        if not found.keeps:
            self._drop()
        return _outcome(found)

    def hang_up(self) -> None:
        with self._lock:
            self._hung_up = True
            if self._line:
                self._line.cut()

    def _ready(self, deadline_ns: int) -> tuple[Line, bool]:
        """The line to use, and whether it is one that was kept."""
        with self._lock:
            line = self._line
            if line and not line.stale():  # as one is that was cut
                line.until(deadline_ns)
                return line, True
            if line:
                line.close()
            self._line = line = Line()
            line.until(deadline_ns)
            if self._hung_up:
                line.cut()
            return line, False

    def _drop(self) -> None:
        with self._lock:
            if self._line:
                self._line.close()
            self._line = None

    def _connect(self, line: Line) -> None:
        endpoint, proxy = self._endpoint, self._proxy
        trust = context(endpoint) if endpoint.tls else None
        if not proxy:
            line.connect(endpoint.host, endpoint.port(443 if trust else 80))
        else:
            line.connect(proxy.host, proxy.port)
            if trust:
                line.sendall(tunnel_head_of(endpoint, proxy))
                with HTTPResponse(_as_socket(line), method="CONNECT") as response:
                    response.begin()
                    if response.status != 200:
                        raise _ProxyRefuses(response.status)
        if trust:
            line.encrypt(trust, endpoint.host)

    def _ask(self, line: Line, request: bytes) -> _Answer:
        broken = False
        try:
            line.sendall(b"%s%d\r\n\r\n%s" % (self._head, len(request), request))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            broken = True  # it may have answered before it had all: that this is too large, say
        with HTTPResponse(_as_socket(line), method="POST") as response:
            response.begin()
            body, why = None, f"more than {ANSWER_AT_MOST} bytes"
            try:
                text = response.read(ANSWER_AT_MOST + 1)
                if len(text) <= ANSWER_AT_MOST:
                    # What is missing: read(n) does not raise IncompleteRead.
                    body, why = (None, "a part is missing") if response.length else (text, "")
            except (OSError, HTTPException, ValueError) as error:
                why = _text(error)
            return _Answer(
                response.status, response.reason, response.headers.get("Retry-After", ""),
                body, why, keeps=not broken and body is not None and not response.will_close,
            )  # fmt: skip


class _ProxyRefuses(OSError):
    """It does not let us through."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answers HTTP {status}")
        self.status = status


def _as_socket(line: Line) -> socket.socket:
    """All that HTTPResponse takes of a socket is makefile()."""
    return cast(socket.socket, line)


def _outcome(found: _Answer) -> Outcome:
    status = found.status
    if 200 <= status < 300:
        if found.body is None:
            return Outcome(True, "bad_answer", f"HTTP {status}, but of the answer {found.why}")
        try:
            return taken(*answer.partial_success(found.body))
        except ValueError:
            text = tidy(f"HTTP {status} with what is no OTLP response: {found.body[:80]!r}")
            return Outcome(True, "bad_answer", text)
    text = tidy(f"HTTP {status} {found.phrase}: {_words(found.body)}".removesuffix(": "))
    if not 400 <= status < 600:
        return Outcome(False, "bad_answer", text)
    reason = _REASONS.get(status, "bad_request" if status < 500 else "other")
    if status not in _RETRYABLE:
        return Outcome(False, reason, text)
    delay_ns = retry_after_ns(found.retry_after, time.time_ns())
    return Outcome(False, reason, text, retryable=True, delay_ns=delay_ns)


def _words(body: bytes | None) -> str:
    """What a refusal says: OTLP's Status, or what some proxy wrote."""
    with suppress(ValueError):
        return tidy(answer.status_message(body or b""))
    return tidy(body or b"")


def _reason(error: Exception) -> str:
    if isinstance(error, _ProxyRefuses) and error.status == 407:
        return "unauthorized"
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "unreachable"  # it broke
    if isinstance(error, ssl.SSLError | TrustError):
        return "tls"
    if isinstance(error, OSError | IncompleteRead):
        return "unreachable"
    return "bad_answer"


def _text(error: Exception) -> str:
    return tidy(str(error) or type(error).__name__)

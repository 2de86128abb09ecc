"""OTLP over gRPC: the same bytes, as one unary call. Only this file imports grpcio, an extra.

It costs 15 MiB resident and threads of its own, which is why HTTP is the default. Proxies are
grpcio's business (https_proxy, no_proxy). What is taken is what the code OK says; which codes are
to be sent again stands in the OTLP specification, "OTLP/gRPC", Failures.

A channel that timed out or broke is not used again: a new one resolves the name anew, reads the
certificates anew, and does not add grpcio's own backoff, of up to two minutes, to ours.
"""

from __future__ import annotations

import os
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import ServiceError
from exporter.model.otlp import INSTALL_GRPC
from exporter.publish.otlp import answer
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.head import USER_AGENT, host_of
from exporter.publish.otlp.outcome import Outcome, taken, tidy
from exporter.publish.otlp.proxy import is_this_machine
from exporter.publish.otlp.signals import SignalName
from exporter.publish.otlp.tls import TrustError, contents, context

if TYPE_CHECKING:
    import grpc

#: Of an answer; what is longer is no answer to us.
ANSWER_AT_MOST = 1 << 16

_METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
_RETRYABLE = (
    "CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS",
)  # fmt: skip
_REASONS = {
    "DEADLINE_EXCEEDED": "timeout", "RESOURCE_EXHAUSTED": "too_many_requests",
    "UNAVAILABLE": "unavailable", "ABORTED": "unavailable", "CANCELLED": "unavailable",
    "UNAUTHENTICATED": "unauthorized", "PERMISSION_DENIED": "unauthorized",
    "INVALID_ARGUMENT": "bad_request", "NOT_FOUND": "bad_request", "OUT_OF_RANGE": "bad_request",
    "UNIMPLEMENTED": "bad_request", "FAILED_PRECONDITION": "bad_request",
}  # fmt: skip
#: UNAVAILABLE is what a backend says and what grpcio finds itself: only the text differs.
_NO_CONNECTION = (
    "failed to connect", "errors resolving", "Socket closed", "Connection reset", "Broken pipe",
    "recvmsg", "DNS",
)  # fmt: skip
_NO_TLS = ("handshake", "certificate", "verification check")
_TOO_LONG = "CLIENT: Received message larger than max"

#: Where distributions keep the authorities they trust; grpcio would take those of its own package.
_AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


class GrpcTransport:
    """Of one signal. See `Transport` for who may call what."""

    def __init__(self, endpoint: Endpoint, name: SignalName) -> None:
        """Raises ServiceError where grpcio is not installed."""
        # Its library writes to stderr by itself, where our log is read by machines.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        try:
            import grpc
        except ImportError as error:
            raise ServiceError(f"OTLP over gRPC needs grpcio: {INSTALL_GRPC}") from error
        self._grpc = grpc
        self._endpoint, self._method = endpoint, _METHODS[name]
        self._headers = tuple((name.lower(), value) for name, value in endpoint.headers)
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._call: grpc.Future[bytes] | None = None
        self._hung_up = False

    @property
    def where(self) -> str:
        return self._endpoint.url

    def send(self, request: bytes, limit_ns: int) -> Outcome:
        try:
            response = self._begin(request, limit_ns / 1e9).result()
        except TrustError as error:
            return Outcome(False, "tls", tidy(str(error)), retryable=True)
        except (self._grpc.FutureCancelledError, _HungUp):
            return Outcome(False, "unreachable", "hung up", retryable=True)
        except self._grpc.RpcError as error:
            outcome = _failure(error.code().name, error.details() or "", _details(error))
            if outcome.reason in ("timeout", "tls", "unreachable"):
                self._drop()
            return outcome
        try:
            return taken(*answer.partial_success(response))
        except ValueError:
            text = tidy(f"OK with what is no OTLP response: {response[:80]!r}")
            return Outcome(True, "bad_answer", text)

    def hang_up(self) -> None:
        with self._lock:
            self._hung_up = True
            if self._call:
                self._call.cancel()
        self._drop()

    def _begin(self, request: bytes, limit_s: float) -> grpc.Future[bytes]:
        with self._lock:
            if self._hung_up:
                raise _HungUp
            self._channel = self._channel or self._connect()
            # No serializers: bytes go in and come out.
            export: grpc.UnaryUnaryMultiCallable[bytes, bytes]
            export = self._channel.unary_unary(self._method)
            self._call = export.future(request, timeout=limit_s, metadata=self._headers)
            return self._call

    def _drop(self) -> None:
        with self._lock:
            channel, self._channel = self._channel, None
        if channel:
            channel.close()

    def _connect(self) -> grpc.Channel:
        endpoint, lib = self._endpoint, self._grpc
        compression = lib.Compression.Gzip if endpoint.gzip else lib.Compression.NoCompression
        options = [
            ("grpc.primary_user_agent", USER_AGENT),
            ("grpc.max_receive_message_length", ANSWER_AT_MOST),
            ("grpc.enable_retries", 0),  # we count them
            ("grpc.use_local_subchannel_pool", 1),  # or a new channel has the old connection
            ("grpc.enable_http_proxy", int(not is_this_machine(endpoint.host))),
        ]
        where = host_of(endpoint, usual_port=True)
        if not endpoint.tls:
            plain: grpc.Channel = lib.insecure_channel(where, options, compression)
            return plain
        context(endpoint)  # for its errors: grpcio does not say which file is bad, and why
        credentials = lib.ssl_channel_credentials(
            contents(endpoint.certificate or _system_authorities()),
            contents(endpoint.client_key), contents(endpoint.client_certificate),
        )  # fmt: skip
        encrypted: grpc.Channel = lib.secure_channel(where, credentials, options, compression)
        return encrypted


class _HungUp(Exception):
    pass


def _failure(code: str, details: str, status: bytes) -> Outcome:
    """`status` is a google.rpc.Status, or empty."""
    text = tidy(f"{code}: {details}")
    if _TOO_LONG in details:  # only who took a request has a response
        return Outcome(True, "bad_answer", text)
    delay_ns = None
    with suppress(ValueError):
        delay_ns = answer.retry_delay_ns(status)
    retryable = code in _RETRYABLE or (code == "RESOURCE_EXHAUSTED" and delay_ns is not None)
    reason = _REASONS.get(code, "other")
    if code == "UNAVAILABLE" and any(words in details for words in _NO_CONNECTION):
        reason = "tls" if any(it in details.lower() for it in _NO_TLS) else "unreachable"
    return Outcome(False, reason, text, retryable, delay_ns or None)


def _details(error: grpc.RpcError) -> bytes:
    for item in error.trailing_metadata() or ():
        if item.key == "grpc-status-details-bin" and isinstance(item.value, bytes):
            return item.value
    return b""


def _system_authorities() -> str | None:
    found = ssl.get_default_verify_paths().cafile  # SSL_CERT_FILE, if it is set
    return found or next((path for path in _AUTHORITIES if Path(path).exists()), None)

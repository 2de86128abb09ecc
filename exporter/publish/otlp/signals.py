"""One signal, metrics or spans: where it is sent and how.

A key of the config goes for both signals and before all variables; of these the one of the signal
(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) goes before that of all (OTEL_EXPORTER_OTLP_ENDPOINT). Headers
are taken whole from one of the three.

Source: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from exporter.errors import UsageError
from exporter.model.certificates import client_faults, trusted_fault
from exporter.model.otlp import (
    COMPRESSIONS,
    INSTALL_GRPC,
    PATHS,
    PORTS,
    PROTOCOLS,
    Otlp,
    Protocol,
    endpoint_fault,
    has_grpc,
    header_name_fault,
    header_value_fault,
)
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.environment import MAX_INTEGER, Environment, Variable

SignalName = Literal["metrics", "traces"]

#: What OTEL_METRICS_EXPORTER and OTEL_TRACES_EXPORTER may list.
_EXPORTERS = ("otlp", "none", "prometheus", "zipkin", "console", "logging", "otlp/stdout")
_OTLP = "OTEL_EXPORTER_OTLP_"
_HTTP_PORT, _GRPC_PORT = PORTS["http/protobuf"], PORTS["grpc"]
_TIMEOUT_NS = 10_000_000_000
#: A timeout of 0 is none: the specification lets us take the longest there is.
_NO_TIMEOUT_NS = MAX_INTEGER * 1_000_000


@dataclass(frozen=True, slots=True)
class Signal:
    """How it is sent. The URL of the endpoint is the whole one, of this signal."""

    protocol: Protocol
    endpoint: Endpoint


def is_selected(name: SignalName, environment: Environment) -> bool:
    """Whether OTEL_METRICS_EXPORTER, or OTEL_TRACES_EXPORTER, lets it go out by OTLP."""
    found = environment.variable(f"OTEL_{name.upper()}_EXPORTER")
    if not found:
        return True
    listed = [entry.strip().lower() for entry in found.value.split(",")]
    if not set(listed) <= set(_EXPORTERS):
        raise found.refused("otlp or none")
    selected = "otlp" in listed and "none" not in listed
    if not selected:
        environment.warnings.append(f"{found.name} is {found.quoted}: otlp.{name} is off")
    return selected


def resolve_signal(
    name: SignalName, otlp: Otlp, environment: Environment, *, read_files: bool
) -> Signal:
    """Raises UsageError for a variable that counts and cannot be meant.

    `read_files`: those of certificates must be there and in order.
    """
    return _Resolver(name, otlp, environment).resolve(read_files)


class _Resolver:
    def __init__(self, name: SignalName, otlp: Otlp, environment: Environment) -> None:
        self._name, self._otlp, self._environment = name, otlp, environment

    def resolve(self, read_files: bool) -> Signal:
        otlp, protocol = self._otlp, self._protocol()
        where = self._where()
        trusted = self._file("CERTIFICATE", otlp.certificate)
        client = self._file("CLIENT_CERTIFICATE", otlp.client_certificate)
        key = self._file("CLIENT_KEY", otlp.client_key)
        _check_pair(client, key)
        if read_files:
            _check_files(trusted, client, key)
        compression = otlp.compression or self._environment.choice(
            COMPRESSIONS, *self._names("COMPRESSION")
        )
        endpoint = Endpoint(
            url=self._grpc_url(where) if protocol == "grpc" else self._http_url(where),
            headers=self._headers() if otlp.headers is None else otlp.headers,
            gzip=compression == "gzip",
            timeout_ns=self._timeout_ns() if otlp.timeout_ns is None else otlp.timeout_ns,
            certificate=trusted.value if trusted else None,
            client_certificate=client.value if client else None,
            client_key=key.value if key else None,
        )
        self._warn(protocol, endpoint, where, trusted or client)
        return Signal(protocol, endpoint)

    def _names(self, option: str) -> tuple[str, str]:
        return f"{_OTLP}{self._name.upper()}_{option}", f"{_OTLP}{option}"

    def _protocol(self) -> Protocol:
        names = self._names("PROTOCOL")
        protocol = self._otlp.protocol or self._environment.choice(PROTOCOLS, *names)
        if protocol == "grpc" and not has_grpc():
            found = None if self._otlp.protocol else self._environment.variable(*names)
            source = found or Variable("otlp.protocol", protocol)
            raise source.refused(
                "what is installed", mend=f"{INSTALL_GRPC}, or write http/protobuf"
            )
        return protocol or "http/protobuf"

    def _where(self) -> Variable | None:
        """The variable that names the endpoint, where one counts."""
        if self._otlp.endpoint:
            return None
        return self._environment.variable(*self._names("ENDPOINT"))

    def _http_url(self, where: Variable | None) -> str:
        """What is of this signal only is taken as it is; to all else its path is added."""
        own, _ = self._names("ENDPOINT")
        if where:
            _check_endpoint(where, where.value)
        if where and where.name == own:
            return where.value if urlsplit(where.value).path else f"{where.value}/"
        base = self._otlp.endpoint or (where.value if where else f"http://localhost:{_HTTP_PORT}")
        return f"{base}{'' if base.endswith('/') else '/'}{PATHS[self._name]}"

    def _grpc_url(self, where: Variable | None) -> str:
        """Without a path. What a variable has without a scheme, INSECURE decides."""
        insecure = self._environment.flag(*self._names("INSECURE"))
        url = self._otlp.endpoint or (where.value if where else f"http://localhost:{_GRPC_PORT}")
        if where:
            if "://" not in url:
                url = f"{'http' if insecure else 'https'}://{url}"
            _check_endpoint(where, url)
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc}"

    def _headers(self) -> tuple[tuple[str, str], ...]:
        found = self._environment.variable(*self._names("HEADERS"))
        headers: dict[str, str] = {}
        if not found:
            return ()
        for name, value in found.pairs():
            if fault := header_name_fault(name):
                raise found.refused(fault.expected, ascii(name[:60]), fault.mend)
            if fault := header_value_fault(value):
                expected = f"{fault.expected} as the value of {name}"
                raise found.refused(expected, fault.found, fault.mend)
            headers[name.lower()] = value
        return tuple(headers.items())

    def _timeout_ns(self) -> int:
        found = self._environment.duration_ns(*self._names("TIMEOUT"))
        return _TIMEOUT_NS if found is None else found or _NO_TIMEOUT_NS

    def _file(self, option: str, given: str | None) -> Variable | None:
        if given:
            return Variable(f"otlp.{option.lower()}", given)
        return self._environment.variable(*self._names(option))

    def _warn(
        self, protocol: Protocol, endpoint: Endpoint, where: Variable | None, file: Variable | None
    ) -> None:
        """Of what the environment has a part in; the rest `check` has said, with its line."""
        warnings = self._environment.warnings
        ours = not where and (self._otlp.protocol or protocol == "http/protobuf")
        for name, port in PORTS.items():
            if name != protocol and port == endpoint.port(0) and not ours:
                told = f"{port} is the port of {name}, {protocol} has {PORTS[protocol]}"
                warnings.append(f"{where.name if where else 'otlp.endpoint'}: {told}")
        if file and not endpoint.tls and (where or file.name.startswith("OTEL_")):
            warnings.append(f"{file.name}: nothing is encrypted with http://, so it is not used")


def _check_endpoint(where: Variable, url: str) -> None:
    if fault := endpoint_fault(url):
        raise where.refused(fault.expected, fault.found, fault.mend)


def _check_pair(client: Variable | None, key: Variable | None) -> None:
    if client and not key:
        raise client.refused(
            "its key beside it", "none", f"set {_OTLP}CLIENT_KEY; one file may hold both"
        )
    if key and not client:
        raise key.refused("its certificate beside it", "none", f"set {_OTLP}CLIENT_CERTIFICATE")


def _check_files(trusted: Variable | None, client: Variable | None, key: Variable | None) -> None:
    faults = [(trusted, trusted_fault(trusted.value))] if trusted else []
    if client and key:
        of_client, of_key = client_faults(client.value, key.value)
        faults += [(client, of_client), (key, of_key)]
    for file, fault in faults:
        if fault:
            raise UsageError(f"{file.name}: {fault}")

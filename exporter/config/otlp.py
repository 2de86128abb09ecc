"""What was written under `otlp`, as the model has it, and what of it contradicts itself."""

from __future__ import annotations

from urllib.parse import urlsplit

from exporter.config.catalog import CLIENT_PAIR
from exporter.config.nodes import quote
from exporter.config.report import Report
from exporter.config.section import Read
from exporter.model.certificates import client_faults, trusted_fault
from exporter.model.otlp import INSTALL_GRPC, PATHS, PORTS, Otlp, Protocol, has_grpc


def otlp_of(read: Read, report: Report, *, here: bool) -> Otlp:
    """The settings of a mapping; None stands for what could not be read, too.

    `here`: this machine has to have the files that are named, and what the protocol needs.
    """
    values = read.values
    otlp = Otlp(
        metrics=bool(values["metrics"]),
        traces=bool(values["traces"]),
        endpoint=values["endpoint"],
        protocol=values["protocol"],
        headers=values["headers"],
        compression=values["compression"],
        timeout_ns=values["timeout"],
        certificate=values["certificate"],
        client_certificate=values["client_certificate"],
        client_key=values["client_key"],
        interval_ns=values["interval"],
        shutdown_timeout_ns=values["shutdown_timeout"],
    )
    _check_pair(read, report)
    if here:
        _check_machine(otlp, read, report)
    if not {"metrics", "traces"} & set(read.given):
        report.warn(read.at, "otlp: nothing is sent; add 'metrics: true' or 'traces: true'")
    if otlp.endpoint:
        _warn_of_endpoint(otlp, otlp.endpoint, read, report)
    return otlp


def _check_pair(read: Read, report: Report) -> None:
    for name, other in (CLIENT_PAIR, CLIENT_PAIR[::-1]):
        if name in read.given and other not in read.given:
            at, _ = read.given[name]
            report.error(at, f"otlp.{name}: expected '{other}' beside it, found none; add it")


def _check_machine(otlp: Otlp, read: Read, report: Report) -> None:
    faults = {}
    if otlp.certificate:
        faults["certificate"] = trusted_fault(otlp.certificate)
    if otlp.client_certificate and otlp.client_key:
        pair = client_faults(otlp.client_certificate, otlp.client_key)
        faults.update(zip(CLIENT_PAIR, pair, strict=True))
    if otlp.protocol == "grpc" and not has_grpc():
        expected = "expected what is installed, found 'grpc', which needs grpcio"
        faults["protocol"] = f"{expected}; {INSTALL_GRPC}, or write http/protobuf"
    for name, fault in faults.items():
        if fault:
            _, at = read.given[name]
            report.error(at, f"otlp.{name}: {fault}")


def _warn_of_endpoint(otlp: Otlp, endpoint: str, read: Read, report: Report) -> None:
    _, at = read.given["endpoint"]
    parts = urlsplit(endpoint)
    protocol: Protocol = otlp.protocol or "http/protobuf"
    default = "" if otlp.protocol else ", the default,"
    for name, port in PORTS.items():
        if name != protocol and port == parts.port:
            told = f"{port} is the port of {name}, {protocol}{default} has {PORTS[protocol]}"
            report.warn(at, f"otlp.endpoint: {told}; write that, or 'protocol: {name}'")
    path = parts.path.rstrip("/")
    if protocol == "grpc":
        added = path
    else:
        added = next((f"/{end}" for end in PATHS.values() if path.endswith(f"/{end}")), "")
    if added:
        why = "is not sent by gRPC" if protocol == "grpc" else "is added for each signal"
        report.warn(at, f"otlp.endpoint: {quote(added)} {why}; write the URL without it")
    files = [name for name in ("certificate", *CLIENT_PAIR) if name in read.given]
    if parts.scheme == "http" and files:
        file_at, _ = read.given[files[0]]
        told = "nothing is encrypted with http://, so it is not used; write https://, or remove it"
        report.warn(file_at, f"otlp.{files[0]}: {told}")

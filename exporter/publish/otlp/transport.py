"""The way to a backend that settings ask for. grpcio is imported only where it is one of gRPC."""

from __future__ import annotations

from exporter.publish.otlp.delivery import Delivery, Failures
from exporter.publish.otlp.outcome import Transport
from exporter.publish.otlp.signals import Signal, SignalName


def transport_for(name: SignalName, signal: Signal) -> Transport:
    """Raises ServiceError where grpcio is missing, or a proxy cannot be used."""
    if signal.protocol == "grpc":
        from exporter.publish.otlp.grpc import GrpcTransport

        return GrpcTransport(signal.endpoint, name)
    from exporter.publish.otlp.http import HttpTransport

    return HttpTransport(signal.endpoint)


def delivery_for(name: SignalName, signal: Signal, failures: Failures) -> Delivery:
    """Raises ServiceError, as `transport_for`."""
    what = "spans" if name == "traces" else name
    transport = transport_for(name, signal)
    return Delivery(what, transport, failures, signal.endpoint.timeout_ns)

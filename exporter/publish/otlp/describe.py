"""What is sent where, in a line for each signal; no secrets."""

from __future__ import annotations

from exporter.publish.otlp.settings import Settings
from exporter.publish.otlp.signals import Signal


def describe(settings: Settings) -> list[str]:
    """What `check` prints and `serve` logs."""
    every = f"every {settings.interval_ns / 1e9:g}s"
    lines = [f"otlp: metrics {every} to {_where(settings.metrics)}"] if settings.metrics else []
    if settings.traces:
        lines.append(f"otlp: spans to {_where(settings.traces)}")
    return lines or ["otlp: nothing is sent"]


def _where(signal: Signal) -> str:
    endpoint = signal.endpoint
    words = [signal.protocol, *(["gzip"] if endpoint.gzip else [])]
    if endpoint.tls:
        words.append(f"trusting {endpoint.certificate or 'the system'}")
    if endpoint.tls and endpoint.client_certificate:
        words.append(f"showing {endpoint.client_certificate}")
    words += [f"header {name}" for name, _ in endpoint.headers]
    return f"{endpoint.url} ({', '.join(words)})"

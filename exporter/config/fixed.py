"""What a reload cannot change: it is compiled into the kernel, sized or begun at start."""

from __future__ import annotations

import os
from dataclasses import fields

from exporter.config.model import Config, Otlp

_KEY = os.urandom(16)


def fixed_at_start(config: Config) -> dict[str, str]:
    """By key of the config file: its value, as a person would write it; no secrets."""
    histograms = config.histograms
    values: dict[str, object] = {
        "histograms.scale": histograms.scale,
        "histograms.by": histograms.by,
        "histograms.classic": histograms.classic,
        "self_cost": config.self_cost,
        "labels": config.labels,
        "pod_labels": config.pod_labels,
        "metadata_timeout": _seconds(config.metadata_timeout_ns),
    }
    for name, section in (("limits", config.limits), ("kubernetes", config.kubernetes)):
        for field in fields(section):
            values[f"{name}.{field.name}"] = getattr(section, field.name)
    values.update(_otlp(config.otlp or Otlp()))
    return {key: _written(value) for key, value in values.items()}


def _otlp(otlp: Otlp) -> dict[str, object]:
    values: dict[str, object] = {}
    for field in fields(otlp):
        value = getattr(otlp, field.name)
        if field.name.endswith("_ns") and value is not None:
            value = _seconds(value)
        if field.name == "headers" and value is not None:
            value = tuple(f"{name}: {_hidden(text)}" for name, text in value)
        values[f"otlp.{field.name.removesuffix('_ns')}"] = value
    return values


def _hidden(secret: str) -> str:
    """Tells different ones apart, within this run, and nothing else."""
    from hashlib import blake2b  # OpenSSL comes with it: 4 MiB for those who have headers only

    return f"({blake2b(secret.encode(), digest_size=4, key=_KEY).hexdigest()})"


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:g}s"


def _written(value: object) -> str:
    match value:
        case None:
            return "not given"
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(value)}]"
    return str(value)

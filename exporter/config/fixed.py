"""What a reload cannot change: it is compiled into the kernel, sized or begun at start."""

from __future__ import annotations

from dataclasses import fields

from exporter.config.model import Config


def fixed_at_start(config: Config) -> dict[str, str]:
    """By key of the config file: its value, as a person would write it."""
    histograms = config.histograms
    values: dict[str, object] = {
        "histograms.scale": histograms.scale,
        "histograms.by": histograms.by,
        "histograms.classic": histograms.classic,
        "self_cost": config.self_cost,
        "labels": config.labels,
        "pod_labels": config.pod_labels,
        "metadata_timeout": f"{config.metadata_timeout_ns / 1e9:g}s",
    }
    for name, section in (("limits", config.limits), ("kubernetes", config.kubernetes)):
        for field in fields(section):
            values[f"{name}.{field.name}"] = getattr(section, field.name)
    return {key: _written(value) for key, value in values.items()}


def _written(value: object) -> str:
    match value:
        case None:
            return "not given"
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(value)}]"
    return str(value)

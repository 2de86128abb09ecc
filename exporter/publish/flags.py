"""The flags `--web.*` that say what is served where."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.errors import UsageError

_OWN = ("/-/healthy", "/-/ready", "/-/reload", "/api/v1/targets")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags `--web.*`. Raises UsageError for a path that cannot be."""

    telemetry_path: str = "/metrics"
    lifecycle: bool = False
    api: bool = False

    def __post_init__(self) -> None:
        path = self.telemetry_path
        if not path.startswith("/") or not path.isascii() or set(path) & set(' ?#"<>\\'):
            raise UsageError(f"--web.telemetry-path: expected a path like /metrics, found {path!r}")
        if path in _OWN:
            raise UsageError(f"--web.telemetry-path: {path} is taken, choose another")

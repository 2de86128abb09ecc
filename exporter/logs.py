"""Log lines that machines read: logfmt, as Prometheus' own programs write, or JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("logfmt", "json")


def _fields(record: logging.LogRecord) -> dict[str, str]:
    time = datetime.fromtimestamp(record.created, UTC)
    level = "warn" if record.levelno == logging.WARNING else record.levelname.lower()
    return {
        "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "source": record.name.removeprefix("exporter."),
        "msg": record.getMessage(),
    }


def _quoted(text: str) -> str:
    """As logfmt wants it: quoted where it is not one plain word."""
    if text and text.isprintable() and not set(text) & set(' ="\\'):
        return text
    return json.dumps(text)


class Logfmt(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={_quoted(text)}" for key, text in _fields(record).items())


class Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_fields(record))


def configure(level: str, format_: str, stream: TextIO = sys.stderr) -> None:
    """Sends all that the exporter logs to `stream`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Json() if format_ == "json" else Logfmt())
    root = logging.getLogger("exporter")
    root.handlers[:] = [handler]
    root.setLevel({"warn": "WARNING"}.get(level, level.upper()))
    root.propagate = False

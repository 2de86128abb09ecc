"""Log lines that machines read: logfmt, as Prometheus' own programs write, or JSON."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("logfmt", "json")


def _fields(record: logging.LogRecord) -> dict[str, str]:
    time = datetime.fromtimestamp(record.created, UTC)
    level = "warn" if record.levelno == logging.WARNING else record.levelname.lower()
    fields = {
        "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "source": record.name.removeprefix("exporter."),
        "msg": record.getMessage(),
    }
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:  # one line, and yet enough to find the place
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        fields["error"] = f"{type(error).__name__}: {error}"
        fields["trace"] = " < ".join(f"{f.filename}:{f.lineno} {f.name}" for f in frames[::-1])
    return fields


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

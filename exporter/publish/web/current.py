"""The web config as its files are now, or the last one that was good."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from threading import Lock

from exporter.errors import ConfigError
from exporter.model.web import Web, identity_of

log = logging.getLogger(__name__)

_AGAIN_NS = 10**9  # after a failure: what was missing may be a file that nobody knows of yet
#: OpenSSL keeps a KiB for each session of TLS 1.2 without tickets, for two hours, up to 20,480; and
#: Python has no way to tell it otherwise. A new context begins with none.
_MAX_SESSIONS = 1024


class Current:
    """Called for each connection and each request; `load` reads the file and what it names.

    A file that is not good, or would take a protection away, changes nothing: it is said once, and
    in `failing`. Raises ConfigError where the first one is not good.
    """

    def __init__(self, load: Callable[[], Web]) -> None:
        self._load = load
        self._lock = Lock()
        self._web = load()
        self._complaint = ""
        self._again_ns = 0
        for warning in self._web.warnings:
            log.warning("%s", warning)

    def __call__(self) -> Web:
        # One thread reads; those that come meanwhile go on with what there is.
        if self._is_due() and self._lock.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._lock.release()
        return self._web

    @property
    def failing(self) -> bool:
        """Whether the files are other ones than those that hold."""
        return bool(self._complaint)

    def _is_due(self) -> bool:
        if self._complaint:
            return time.monotonic_ns() >= self._again_ns
        tls = self._web.tls
        if tls and tls.context.session_stats()["number"] > _MAX_SESSIONS:
            return True
        try:
            return any(
                identity_of(os.stat(path)) != seen  # noqa: PTH116
                for path, seen in self._web.files.items()
            )
        except OSError:
            return True

    def _read(self) -> None:
        try:
            web = self._load()
            complaint = _weaker(self._web, web)
        except ConfigError as error:
            complaint = str(error)
        if complaint:
            self._again_ns = time.monotonic_ns() + _AGAIN_NS
            if complaint != self._complaint:
                for line in complaint.splitlines():
                    log.error("web config not taken, the one before still holds: %s", line)
        else:
            if web.files != self._web.files or self._complaint:
                log.info("web config read again: %s", web.file)
                for warning in web.warnings:
                    log.warning("%s", warning)
            self._web = web
        self._complaint = complaint


def _weaker(before: Web, now: Web) -> str:
    """A file that is being written may end anywhere, and what it says so far be valid."""
    gone = [key for key in before.protections if key not in now.protections]
    if not gone:
        return ""
    return f"{now.file}: {', '.join(gone)}: no longer asked for; restart the exporter if so meant"

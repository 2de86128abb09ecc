"""The thread that keeps the store in step, from start to stop, whatever the server does."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping

from exporter.metadata.kubernetes.failure import Failure
from exporter.metadata.kubernetes.health import Health
from exporter.metadata.kubernetes.settings import Settings, resolve
from exporter.metadata.kubernetes.store import Pods

_STOP_S = 0.2

log = logging.getLogger(__name__)


class PodWatch:
    """Fills `pods` in the background.

    Raises ServiceError where the settings cannot be meant; a server that is away is no error.
    """

    def __init__(self, settings: Settings, pods: Pods) -> None:
        # Here, not above: who watches no pods pays for neither HTTP nor TLS.
        from exporter.metadata.kubernetes.client import Client
        from exporter.metadata.kubernetes.reflector import Reflector

        server = resolve(settings, os.environ)
        self._health, self._client = Health(), Client(server)
        self._reflector = Reflector(self._client, server.node, pods, self._health)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns at once; a thread that hangs (in DNS, say) ends by itself, or with us."""
        self._stopping.set()
        self._client.hang_up()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def age_seconds(self) -> float | None:
        """Since the store was last known to be what the server has; None before the first time."""
        return self._health.age_seconds()

    def failing(self) -> bool:
        """Whether what is known may be old, because the server fails."""
        return self._health.failing()

    def failures(self) -> Mapping[str, int]:
        """By reason; all reasons are there from the start."""
        return self._health.failures()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._reflector.step()
            except Exception as error:
                if self._stopping.is_set():
                    return
                if not isinstance(error, Failure):  # ours, not the server's; and yet we go on
                    log.exception("Kubernetes: an unexpected error")
                    error = Failure("bad_answer", "an unexpected error")
                self._stopping.wait(self._health.failed(error))

"""A thread that does one kind of work, one piece after the other, and never dies of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

log = logging.getLogger(__name__)


class Worker:
    """The thread is started by the first piece of work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def do(self, work: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._work.put(work)

    def stop(self) -> None:
        """Ends the thread once it is done with what it has; does not wait for it."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as e:
                log.error("%s: %s: %s", self._name, type(e).__name__, e)
            del work  # or the last response would stay in memory until the next

"""`serve`, stopped for a moment where a race would be: serve_paused.py POINT REACHED GO serve …

POINT is `attached` (the hooks are there, no process is listed yet), `listed` (processes are listed,
nothing else is known of them) or `found` (it is known who is followed, and not written yet). There
it writes to the FIFO REACHED, and goes on when something can be read from the FIFO GO. Once: later
syncs run through.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))

from exporter import cli
from exporter.kernel.tracing import Tracing
from exporter.model import sync
from exporter.model.tracker import Tracker


def pause(reached: int, go: Path) -> None:
    os.write(reached, b"reached\n")
    go.read_text()


def main() -> None:
    point, go = sys.argv[1], Path(sys.argv[3])
    reached = os.open(sys.argv[2], os.O_WRONLY)  # later no file can be opened for writing
    owner, name, after = {
        "attached": (Tracker, "sync", False),
        "listed": (Tracing, "edges", False),
        "found": (sync, "close_over", True),
    }[point]
    original = getattr(owner, name)

    def paused(*arguments: Any) -> Any:
        setattr(owner, name, original)
        result = original(*arguments) if after else None
        pause(reached, go)
        return result if after else original(*arguments)

    setattr(owner, name, paused)
    del sys.argv[1:4]
    cli.main()


if __name__ == "__main__":
    main()

"""An exporter at the smallest limits that there are, and with a backend that is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.harness import Exporter, exporter, free_port
from tests.integration import idle
from tests.kernel.cgroup_tree import cgroup, version_2

JOB = "proctree-narrow"
_TREES = 12
_CONFIG = """
limits: {{series: 1000, trees: 8, processes: 16}}
otlp: {{traces: true, endpoint: "http://127.0.0.1:{port}", shutdown_timeout: 0s}}
targets: [{{name: jobs, cgroup: "/{name}/*", spans: {{processes: true}}}}]
"""
#: Two processes in each cgroup, one of which is always new.
_LIVES = "echo $$ > {group}/cgroup.procs; while ls / > /dev/null; do sleep 1; done"


@contextmanager
def narrow() -> Iterator[Exporter]:
    """More trees, processes and series than it has room for, all the time."""
    name = f"proctree-narrow-{os.getpid()}"
    with ExitStack() as stack:
        place = stack.enter_context(cgroup(version_2() / name))
        port = free_port()
        server = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
        stack.enter_context(idle.running(server))  # which takes no POST
        running = stack.enter_context(exporter(_CONFIG.format(name=name, port=port)))
        for number in range(_TREES):
            group = place / str(number)
            group.mkdir()
            shell = ["sh", "-c", _LIVES.format(group=group)]
            stack.enter_context(idle.running(shell))
        yield running

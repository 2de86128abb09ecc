"""The kernel may refuse a task storage, while another one on the CPU is just being given some."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.harness import exporter, workload
from tests.kernel.trees import ended, exits, processes

Build = Callable[..., Path]

#: Each second time, whoever asks: how often the kernel does it hangs on how it is preempted.
REFUSES_HALF = """
from exporter import cli
from exporter.kernel import bcc_source
whole = bcc_source.program_text
asked = "tasks.task_storage_get(task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE)"
def refusing(folder):
    text = whole(folder)
    assert text.count(asked) == 1
    return text.replace(asked, f"bpf_get_prandom_u32() & 1 ? NULL : {asked}")
bcc_source.program_text = refusing
cli.main()
"""


def test_calls_of_tasks_without_storage_are_counted(build: Build) -> None:
    """Of 5,000 short lives every call, with no duration where storage was refused."""
    command = [sys.executable, "-c", REFUSES_HALF]
    with workload(build("short_lives"), "5000", "64", "13") as tree:
        tree.expect("ready")
        with exporter(f"[{{name: it, pid: {tree.pid}}}]", command=command) as running:
            tree.go()
            tree.expect("done")
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 5000 * 13
            assert 5000 * 6 < scrape.timed("it", "getppid") < 5000 * 13
            assert scrape.calls("it", "exit") == 5000
            assert exits(scrape) == ended(ok=5000)
            assert processes(scrape) == 1
            assert scrape.lost() == 0

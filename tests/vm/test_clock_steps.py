"""The clock is set while processes live. Only in a guest: scripts/test-vm 6.1 -- tests/vm"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.kernel.spans import traced

HOUR_NS = 3600 * 10**9


@pytest.fixture(autouse=True)
def _guest() -> None:
    assert "virtme" in Path("/proc/cmdline").read_text(), "this sets the clock: only in a guest"


def set_clock(by_ns: int) -> None:
    time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() + by_ns)


@pytest.mark.parametrize("step_ns", [HOUR_NS, -HOUR_NS], ids=["forward", "back"])
def test_a_span_lasts_as_long_as_its_process(step_ns: int) -> None:
    """Gone before the clock was set, there at that moment, come later: times are true."""
    script = "read line; sleep 3; sleep 3; sleep 3"
    tree = subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE)
    target = {"name": "it", "pid": tree.pid, "spans": {"processes": True}}
    with traced(target) as it:
        assert tree.stdin
        began_ns, began = time.time_ns(), time.monotonic_ns()
        tree.stdin.write(b"\n")
        tree.stdin.flush()
        time.sleep(4.5)  # in the middle of the second
        set_clock(step_ns)
        assert tree.wait() == 0
        ended_ns, lasted = time.time_ns(), time.monotonic_ns() - began
        spans = sorted(it.end(), key=lambda span: span.attributes["process.pid"])
    root, first, second, third = spans
    assert [span.name for span in spans[1:]] == ["sleep"] * 3
    for span in (first, second, third):
        assert 3_000_000_000 <= span.end_ns - span.start_ns <= lasted
    # The first two began by the old time of day, the last by the new one.
    assert began_ns <= first.start_ns < first.end_ns <= second.start_ns <= began_ns + lasted
    assert ended_ns - lasted <= third.start_ns < third.end_ns <= ended_ns
    assert root.start_ns <= began_ns
    assert root.end_ns - root.start_ns <= lasted + (began_ns - root.start_ns)

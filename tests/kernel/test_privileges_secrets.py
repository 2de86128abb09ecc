"""Command lines and environments stay where they are: in no log, metric, page or span."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.caller import until
from tests.harness import exporter
from tests.integration.otlp_twins import PROTOBUF
from tests.unit.otlp_server import OtlpServer, otlp_server

ARGUMENT, ASKED_FOR, VARIABLE = b"4rgum3nt-Xq7", b"4sk3d-f0r-Xq7", b"v4r14bl3-Xq7"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
ENVIRONMENT = {**os.environb, b"SECRET": VARIABLE, b"TRACEPARENT": b"00-" + VARIABLE}
#: A child with the same arguments, a call that fails, an end that is no success.
_PROGRAM = "import os, sys; os.spawnv(os.P_WAIT, '/bin/true', sys.argv); os.open('/none', 0)"


def target(name: str, command_args: bool) -> dict[str, Any]:
    """All that can be told of a process is, of programs with this word in their command line."""
    spans = {"processes": True, "traceparent": True, "errors": ["ENOENT"]}
    return {
        "name": name, "match": {"cmdline": f"*word-{name}*"}, "group_by": "exe",
        "spans": {**spans, "command_args": command_args},
    }  # fmt: skip


def started(name: str, argument: bytes, program: str = _PROGRAM) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", program, f"word-{name}", argument], env=ENVIRONMENT,
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def test_they_are_told_only_where_asked_for() -> None:
    """With everything on: nothing of one process' arguments and environment; the arguments of
    another, that `command_args` asks for, in its spans and nowhere else."""
    with otlp_server() as server:
        sends = {"metrics": True, "traces": True, "interval": "1s"}
        config = {
            "otlp": {**sends, "endpoint": f"http://127.0.0.1:{server.port}"},
            "targets": [target("quiet", False), target("told", True)],
        }
        flags = ("--web.enable-api", "--web.enable-lifecycle", "--log.level=debug")
        with exporter(json.dumps(config), *flags) as running:
            started("quiet", ARGUMENT).communicate()
            started("told", ASKED_FOR).communicate()
            running.reload()
            until(lambda: ended(server) >= 4, "all that was to be told of them is known")
            with started("quiet", ARGUMENT, "input()") as alive:  # while the pages are made
                until(lambda: str(alive.pid).encode() in running.get("/api/v1/targets"), "it is in")
                pages = [running.get(p) for p in ("/metrics", "/", "/api/v1/targets")]
                pages += [running.get(Accept=kind) for kind in (OPENMETRICS, PROTOBUF)]
            until(lambda: ended(server) >= 5, "all spans came")
            assert running.stop() == 0
            said = b"".join([*pages, running.log.encode()])
        sent = b"".join(got.body for got in server.got)
    assert b'reason="traceparent_invalid"} 0' not in said  # the environment was looked at
    assert b"ENOENT" in said
    assert b"ENOENT" in sent
    assert ARGUMENT not in said + sent
    assert VARIABLE not in said + sent
    assert ASKED_FOR not in said
    assert ASKED_FOR in sent


def ended(server: OtlpServer) -> int:
    """How many processes had their span."""
    traces = [got for got in list(server.got) if got.path.endswith("/traces")]
    names = [{p.key for p in span.attributes} for got in traces for span in got.spans]
    return sum("process.exit.code" in keys for keys in names)

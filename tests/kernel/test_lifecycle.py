"""A service that behaves: ready when it is, ended when it is told to, quiet in between."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

from tests.caller import Caller, caller, children, until
from tests.harness import COMMAND, ROOT, Exporter, exporter
from tests.kernel.trees import paused_exporter

LOGFMT = re.compile(r'time=\S+ level=(?P<level>\w+) source=\w+ msg=(?P<msg>"(?:[^"\\]|\\.)*"|\S+)')


def status(running: Exporter, path: str) -> int:
    """The status of a response; 0 where there is none."""
    try:
        running.get(path)
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, ConnectionError):
        return 0
    return 200


def only_information(log: str) -> bool:
    """Whether a log has nothing but lines at info."""
    found = [LOGFMT.fullmatch(line) for line in log.splitlines()]
    return all(match and match["level"] == "info" for match in found)


def test_ready_says_503_until_the_first_sync_is_done(tmp_path: Path) -> None:
    """While the sync is held up, /-/ready and /metrics say 503; afterwards 200."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with paused_exporter(config, "attached", tmp_path) as (running, resume):
            assert until(lambda: status(running, "/-/healthy"), "it answers") == 200
            assert status(running, "/-/ready") == 503
            assert status(running, "/metrics") == 503
            resume()
            assert status(running, "/-/ready") == 200
            it.call(10_007)
            assert running.scrape().calls("it", "getppid") == 10_007


def test_pages() -> None:
    """/ links the rest, a query string changes nothing, and what is not there is 404."""
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]") as running:
        page = running.get("/").decode()
        for path in ("/metrics", "/-/healthy", "/-/ready"):
            assert f'href="{path}"' in page
            assert status(running, path) == 200
        assert b'proctree_target_up{target="it"} 1' in running.get("/metrics?x=1&y=%00")
        assert status(running, "/nothing") == 404
        assert status(running, "/api/v1/targets") == 403


def test_the_api_is_there_where_it_is_enabled() -> None:
    """--web.enable-api: the targets as JSON, and in a table at /."""
    flags = ("--web.enable-api", "--web.telemetry-path=/numbers")
    with caller() as it, exporter(f"[{{name: it, pid: {it.pid}}}]", *flags) as running:
        (target,) = json.loads(running.get("/api/v1/targets"))["data"]
        assert (target["name"], target["root"], target["up"]) == ("it", str(it.pid), True)
        assert (target["processes_total"], target["trees_total"]) == (1, 1)
        (call,) = target["calls_in_flight"]  # it waits for us
        assert (call["syscall"], call["pid"], call["tid"]) == ("read", it.pid, it.pid)
        assert call["seconds"] > 0
        page = running.get("/").decode()
        assert "<td>it</td>" in page
        assert "why" not in page  # the lists are not for a table
        assert status(running, "/numbers") == 200
        assert status(running, "/metrics") == 404


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    """Exit status 0, and nothing more is said."""
    with exporter("[1]") as running:
        until(lambda: "following" in running.log, "it has said what it follows")
        before = running.log
        running.process.send_signal(number)
        assert running.process.wait(timeout=60) == 0
        assert running.log == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_start_ends_it_cleanly(number: signal.Signals) -> None:
    """While the C program compiles, too: status 0, no traceback, and the compiler goes as well."""
    with exporter("[1]", ready=False) as running:
        compiler = until(lambda: children(running.pid), "it compiles")
        running.process.send_signal(number)
        assert running.process.wait(timeout=60) == 0
        assert only_information(running.log)
        until(lambda: not Path(f"/proc/{compiler[0]}").exists(), "the compiler is gone")


def test_a_terminals_interrupt_reaches_the_compiler_too() -> None:
    """Ctrl-C goes to the whole process group: still status 0 and no traceback."""
    command = [*COMMAND, "serve", "--config.file=/dev/stdin", "--web.listen-address=127.0.0.1:0"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True,
        start_new_session=True,
    )  # fmt: skip
    with process:
        assert process.stdin
        process.stdin.write("[1]")
        process.stdin.close()
        until(lambda: children(process.pid), "it compiles")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert process.stderr
        assert only_information(process.stderr.read())


def test_two_exporters_count_the_same_calls() -> None:
    """Each counts all calls of the tree; that one ends does not disturb the other."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config) as first:
            with exporter(config) as second:
                it.call(30_011)
                for running in (first, second):
                    scrape = running.scrape()
                    assert scrape.calls("it", "getppid") == 30_011
                    assert scrape.timed("it", "getppid") == 30_011
                    assert scrape.lost() == 0
                assert second.stop() == 0
            it.call(20_011)
            assert first.scrape().calls("it", "getppid") == 50_022
            assert first.scrape().lost() == 0


def test_a_port_in_use_is_one_clear_line() -> None:
    """Exit status 1, before anything is compiled."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with exporter("[1]", f"--web.listen-address={address}", ready=False) as running:
            assert running.process.wait(timeout=60) == 1
            (line,) = running.log.splitlines()
    assert address in line
    assert "in use" in line
    assert "--web.listen-address" in line


def idle_log(it: Caller, *flags: str, seconds: int = 0) -> list[str]:
    with exporter(f"[{{name: it, pid: {it.pid}}}]", *flags) as running:
        it.call(10)
        running.get()
        for _ in range(seconds):
            time.sleep(1)
            it.call(10)
            running.get()
        lines = running.log.splitlines()
        assert running.stop() == 0
        assert running.log.splitlines() == lines
        return lines


def test_the_log_is_quiet_when_all_is_well() -> None:
    """One line that says what is followed, and at level warn none."""
    with caller() as it:
        (line,) = idle_log(it, seconds=3)
        match = LOGFMT.fullmatch(line)
        assert match
        assert match["level"] == "info"
        assert "following 1 targets" in match["msg"]
        assert idle_log(it, "--log.level=warn") == []


def test_json_logs_are_json() -> None:
    """--log.format=json: each line an object of its own."""
    with caller() as it:
        (line,) = idle_log(it, "--log.format=json")
        parsed = json.loads(line)
        assert set(parsed) == {"time", "level", "source", "msg"}
        assert parsed["level"] == "info"


@pytest.mark.parametrize(
    ("config", "flags"),
    [
        ("[1]", ["--no-such-flag"]),
        ("[1]", ["--web.listen-address=nonsense"]),
        ("[1]", ["--web.listen-address=127.0.0.1:65536"]),
        ("[1]", ["--web.telemetry-path=metrics"]),
        ("[1]", ["--log.level=loud"]),
        ("- what: is this", []),
        ("", []),
    ],
)
def test_bad_usage_and_bad_configs_end_with_2(config: str, flags: list[str]) -> None:
    """Exit status 2 and a reason; never a traceback."""
    with exporter(config, *flags, ready=False) as running:
        assert running.process.wait(timeout=60) == 2
        assert "Traceback" not in running.log
        assert running.log.strip()


def test_a_config_that_is_not_there_ends_with_2(tmp_path: Path) -> None:
    """The last --config.file counts; the message names it."""
    missing = tmp_path / "missing.yaml"
    command = [sys.executable, "-m", "exporter", "serve", "--config.file", str(missing)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert str(missing) in line

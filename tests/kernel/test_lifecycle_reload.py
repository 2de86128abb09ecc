"""A new config without a restart: by HTTP, signal or the file itself; a bad one changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.config.load import load
from exporter.costs import costs_of
from tests.caller import Caller, caller, until
from tests.harness import ROOT, Exporter, exporter
from tests.kernel.trees import following

SUCCESSFUL = "proctree_exporter_config_last_reload_successful"
SUCCESS_TIME = "proctree_exporter_config_last_reload_success_timestamp_seconds"


def lists(**targets: Caller) -> str:
    return "\n".join(f"- {{name: {name}, pid: {it.pid}}}" for name, it in targets.items())


@contextmanager
def started(path: Path, config: str, *flags: str) -> Iterator[Exporter]:
    """An exporter whose config is at `path` (the last --config.file counts)."""
    path.write_text(config)
    with exporter("[1]", f"--config.file={path}", *flags) as running:
        yield running


def post_reload(running: Exporter) -> tuple[int, str]:
    request = urllib.request.Request(f"http://{running.address}/-/reload", method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def shows(running: Exporter, target: str) -> bool:
    return running.scrape().value("proctree_target_up", target=target) == 1


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exporter", "check", f"--config.file={path}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_reload_over_http_is_off_by_default(tmp_path: Path) -> None:
    """403 without --web.enable-lifecycle, and the config stays."""
    path = tmp_path / "config.yaml"
    with caller() as it, started(path, lists(it=it)) as running:
        before = running.scrape().value(SUCCESS_TIME)
        assert post_reload(running)[0] == 403
        scrape = running.scrape()
        assert scrape.value(SUCCESS_TIME) == before
        assert scrape.value(SUCCESSFUL) == 1


def test_reload_over_http_keeps_what_stays_and_adds_what_is_new(tmp_path: Path) -> None:
    """The answer comes when the new config holds: the very next call counts."""
    path = tmp_path / "config.yaml"
    with (
        caller() as old,
        caller() as new,
        started(path, lists(old=old), "--web.enable-lifecycle") as running,
    ):
        old.call(1009)
        path.write_text(lists(old=old, new=new))
        assert post_reload(running)[0] == 200
        old.call(1013)
        new.call(2003)
        scrape = running.scrape()
        assert scrape.calls("old", "getppid") == 2022
        assert scrape.calls("new", "getppid") == 2003
        path.write_text(lists(new=new))
        assert post_reload(running)[0] == 200
        old.call(7)
        new.call(2011)
        scrape = running.scrape()
        assert scrape.calls("old", "getppid") == 2022  # frozen, until keep_gone has passed
        assert scrape.calls("new", "getppid") == 4014
        assert scrape.lost() == 0


BAD = [
    "- {name: it, pid: 1, colour: red}\n- {nme: x, pid: 2}\n",
    "targets: 1\n",
    "- [",
    "[{name: a, pid: 1}, {name: a, pid: 2}]",
    "- {name: a, match: {cmdline_re: '(a|b)*c.{900}(d|e){900}'}}",
    "- {name: a, match: {exe_re: '('}}\n- {name: b, pidfile: relative}",
    "limits: {series: 100}\ntargets: [1, 2, 3, 4]",
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_file_changes_nothing(idle: Exporter, bad: str) -> None:
    """500 with the words of `check`; the old config goes on; a metric says so until mended."""
    with caller() as it, following(idle, lists(it=it)) as running:
        it.call(1009)
        good = running.config.read_text()
        running.config.write_text(bad)
        checked = check(running.config)
        assert checked.returncode == 2
        code, text = post_reload(running)
        assert code == 500
        assert checked.stderr.strip() in text
        it.call(1013)
        scrape = running.scrape()
        assert scrape.value(SUCCESSFUL) == 0
        assert scrape.calls("it", "getppid") == 2022
        running.config.write_text(good)
        assert post_reload(running)[0] == 200
        assert running.scrape().value(SUCCESSFUL) == 1
        assert running.scrape().calls("it", "getppid") == 2022
        assert "Traceback" not in running.log


def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    """As with a bad one, whoever asks for the reload."""
    path = tmp_path / "config.yaml"
    with caller() as it, started(path, lists(it=it), "--web.enable-lifecycle") as running:
        path.unlink()
        code, text = post_reload(running)
        assert code == 500
        assert str(path) in text
        running.process.send_signal(signal.SIGHUP)
        until(lambda: "reload failed" in running.log, "the log says so")
        it.call(1009)
        assert running.scrape().calls("it", "getppid") == 1009
        assert running.scrape().value(SUCCESSFUL) == 0


def test_sighup_reloads(tmp_path: Path) -> None:
    """Also where the file is the same: the time of the last success moves."""
    path = tmp_path / "config.yaml"
    with caller() as it, started(path, lists(it=it)) as running:
        before = running.scrape().value(SUCCESS_TIME)
        running.process.send_signal(signal.SIGHUP)
        until(lambda: running.scrape().value(SUCCESS_TIME) > before, "it is reloaded")
        it.call(1009)
        assert running.scrape().calls("it", "getppid") == 1009


def test_a_changed_file_reloads_by_itself(tmp_path: Path) -> None:
    """Written in place, replaced, and bad: once, not once a second."""
    path = tmp_path / "config.yaml"
    with caller() as a, caller() as b, started(path, lists(a=a)) as running:
        path.write_text(lists(a=a, b=b))
        until(lambda: shows(running, "b"), "b is followed")
        new = tmp_path / "new.yaml"
        new.write_text(lists(c=a, b=b))
        new.rename(path)
        until(lambda: shows(running, "c"), "c is followed")
        path.write_text("- {")
        until(lambda: running.scrape().value(SUCCESSFUL) == 0, "the bad one is noticed")
        errors = running.log.count("level=error")
        assert errors >= 1
        path.write_text(lists(a=a, b=b))
        until(lambda: running.scrape().value(SUCCESSFUL) == 1, "the good one is noticed")
        assert running.log.count("level=error") == errors
        b.call(1009)
        assert running.scrape().calls("b", "getppid") == 1009


def test_a_symlink_swap_reloads(tmp_path: Path) -> None:
    """As Kubernetes changes a ConfigMap: ..data points to another folder, at once.

    Both files have the same size and time: they are different files all the same.
    """
    with caller() as a, caller() as b:
        for name, text in (("one", lists(a=a)), ("two", lists(a=a, b=b))):
            (tmp_path / name).mkdir()
            (tmp_path / name / "config.yaml").write_text(text.ljust(1000))
            os.utime(tmp_path / name / "config.yaml", ns=(10**18, 10**18))
        (tmp_path / "..data").symlink_to("one")
        path = tmp_path / "config.yaml"
        path.symlink_to("..data/config.yaml")
        with exporter("[1]", f"--config.file={path}") as running:
            assert not shows(running, "b")
            (tmp_path / "..new").symlink_to("two")
            (tmp_path / "..new").rename(tmp_path / "..data")
            until(lambda: shows(running, "b"), "b is followed")


def test_a_reload_cannot_break_the_ceiling_of_series(tmp_path: Path) -> None:
    """What was admitted has taken the room: a new target is refused, and the limit holds."""
    path = tmp_path / "config.yaml"

    def config(pid: int, count: int) -> str:
        dead = [f"{{name: d{n}, pid: {2**22 - n}}}" for n in range(1, count)]
        targets = ", ".join([f"{{name: it, pid: {pid}}}", *dead])
        return f"{{limits: {{series: 1000}}, targets: [{targets}]}}"

    with caller() as it:
        path.write_text(config(it.pid, 1))
        alone = load(str(path))
        fit = 1000 // costs_of(alone).reserved(alone.targets[0]).most
        full = config(it.pid, fit)
        with started(path, config(it.pid, fit - 2), "--web.enable-lifecycle") as running:
            it.call(1009)  # read, write, getppid: each takes room while there is some
            running.scrape()
            path.write_text(full)
            assert check(path).returncode == 0  # it would fit at a start
            code, text = post_reload(running)
            assert code == 500
            assert "limits.series" in text
            it.call(1013)
            scrape = running.scrape()
            assert scrape.value(SUCCESSFUL) == 0
            assert scrape.value("proctree_exporter_series") <= 1000
            assert scrape.value("proctree_exporter_series_folded") > 0
            calls = scrape.all("proctree_syscalls_total", target="it")
            assert sum(calls.values()) >= 2022

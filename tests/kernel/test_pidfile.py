"""A target by pidfile: it follows a restart, and no stranger."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.caller import Caller, caller, children, until
from tests.harness import Exporter, Scrape, exporter
from tests.kernel.test_membership_nearest import GRANDCHILD, RARE, Build, family, one_round
from tests.kernel.trees import is_up, processes

REFUSED = "proctree_exporter_refused_total"


def write(file: Path, text: str) -> None:
    """As daemons do it who think of their readers."""
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.rename(file)


def refusals(scrape: Scrape) -> dict[str, float]:
    found = scrape.all(REFUSED)
    return {reason: count for reason, count in found.items() if reason.startswith("pidfile")}


@contextmanager
def following(file: Path, more: str = "", *flags: str) -> Iterator[Exporter]:
    with exporter(f"- {{name: it, pidfile: {file}}}\n{more}", *flags) as running:
        yield running


def until_follows(running: Exporter, it: Caller) -> None:
    """Until it is noticed: its calls are exact from then on."""
    until_said(running, f"follows process {it.pid}")
    until(lambda: is_up(running.scrape()), "its tree is in sync")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "it.pid"


def test_one_that_is_there_at_start_counts_from_the_first_call(file: Path) -> None:
    """As with a listed PID, threads and children too."""
    with caller() as it:
        write(file, f"{it.pid}\n")
        with following(file) as running:
            it.call(1009)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1009
            assert (is_up(scrape), processes(scrape)) == (1, 1)
            assert refusals(scrape) == {"pidfile_invalid": 0, "pidfile_stale": 0}


@pytest.mark.parametrize("how", ["replaced", "in place", "empty first", "away and back"])
def test_a_restart_is_followed(file: Path, how: str) -> None:
    """The counters go on; from when it is noticed no call of the new process is missed."""
    with caller() as old, caller() as new:
        write(file, f"{old.pid}\n")
        with following(file) as running:
            old.call(1009)
            old.kill()
            until(lambda: not is_up(running.scrape()), "it is down")
            if how == "empty first":
                file.write_text("")
                until_said(running, "is empty")
            if how == "away and back":
                file.unlink()
                until_said(running, "no such file")
            if how == "replaced":
                write(file, f"{new.pid}\n")
            else:
                file.write_text(f"{new.pid}\n")
            until_follows(running, new)
            new.call(2003)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 3012
            assert processes(scrape) == 1
            assert refusals(scrape) == {"pidfile_invalid": 0, "pidfile_stale": 0}


def test_one_that_appears_later(file: Path) -> None:
    """The file is looked for until it is there; that is one line in the log."""
    with following(file) as running, caller() as it:
        scrape = running.scrape()
        assert is_up(scrape) == 0
        assert scrape.value("proctree_target_trees", target="it") == 0
        write(file, f"{it.pid}\n")
        until_follows(running, it)
        it.call(1009)
        assert running.scrape().calls("it", "getppid") == 1009
        assert running.log.count("level=warn") == 1


def test_children_of_the_old_service_stay(build: Build, file: Path) -> None:
    """Old and new belong to one tree while both run, as after nginx's upgrade of its binary."""
    with family(build) as (tree, _, grandchild), caller() as new:
        write(file, f"{grandchild}\n")
        with following(file) as running:
            one_round(tree)
            write(file, f"{new.pid}\n")
            until_follows(running, new)
            one_round(tree)
            new.call(1009)
            scrape = running.scrape()
            assert scrape.calls("it", RARE) == 2 * GRANDCHILD
            assert scrape.calls("it", "getppid") == 1009
            assert processes(scrape) == 2


def test_a_process_younger_than_the_file_is_a_stranger(file: Path) -> None:
    """It got the number of one that has ended: refused, counted, said once; a new file mends it."""
    with caller() as it:
        file.write_text(f"{it.pid}\n")
        began = int(Path(f"/proc/{it.pid}").stat().st_mtime)
        os.utime(file, (began - 60, began - 60))
        with following(file) as running:
            it.call(1009)
            scrape = running.scrape()
            assert is_up(scrape) == 0
            assert refusals(scrape) == {"pidfile_invalid": 0, "pidfile_stale": 1}
            assert running.log.count("began after the file was written") == 1
            file.write_text(f"{it.pid}\n")
            until_follows(running, it)
            it.call(1013)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1013
            assert refusals(scrape) == {"pidfile_invalid": 0, "pidfile_stale": 1}


def test_what_is_no_process_is_refused(build: Build, file: Path) -> None:
    """Rubbish, a thread, a kernel thread, a zombie, nobody: each is counted and said once."""
    with family(build) as (tree, _, _), following(file) as running:
        threads = [int(entry.name) for entry in Path(f"/proc/{tree.pid}/task").iterdir()]
        thread = next(number for number in threads if number != tree.pid)
        zombie = subprocess.Popen(["true"])
        until(lambda: "State:\tZ" in Path(f"/proc/{zombie.pid}/status").read_text(), "it has ended")
        nobody = int(Path("/proc/sys/kernel/pid_max").read_text())  # all PIDs are below it
        cases = {
            "rubbish": "expected a PID",
            f"{thread}\n": "is a thread of process",
            "2\n": "is a kernel thread",
            f"{zombie.pid}\n": "zombie",
            f"{nobody}\n": "there is no process",
        }
        for text, reason in cases.items():
            write(file, text)
            until_said(running, reason)
        zombie.wait()
        with caller() as it:
            write(file, f"{it.pid}\n")
            until_follows(running, it)
            for reason in cases.values():
                assert running.log.count(reason) == 1
            scrape = running.scrape()
            assert refusals(scrape) == {"pidfile_invalid": 1, "pidfile_stale": 4}
            assert processes(scrape) == 1


def test_rubbish_in_the_place_of_a_pid_does_not_stop_following(file: Path) -> None:
    """Whom the file named is followed on, while the file is rubbish, a FIFO, or gone."""
    with caller() as it:
        write(file, f"{it.pid}\n")
        with following(file) as running:
            file.write_text("rubbish\n")
            until_said(running, "expected a PID")
            file.unlink()
            os.mkfifo(file)
            until_said(running, "neither a file")
            it.call(1009)
            file.unlink()
            until_said(running, "no such file")
            it.call(1013)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 2022
            assert refusals(scrape) == {"pidfile_invalid": 2, "pidfile_stale": 0}


def test_beneath_the_root_of_the_node(tmp_path: Path) -> None:
    """--path.rootfs: the path is the node's, and so are the links on it."""
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("/run")
    with caller() as it:
        (tmp_path / "run/it.pid").write_text(f"{it.pid}\n")
        path = Path("/var/run/it.pid")
        with following(path, "", f"--path.rootfs={tmp_path}") as running:
            it.call(1009)
            assert running.scrape().calls("it", "getppid") == 1009


def test_a_service_that_is_started_anew_and_anew(file: Path) -> None:
    """Each time its new process is followed, and nobody else."""
    script = f"while :; do sleep 1000 & echo $! >{file}; wait $!; done"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as shell:
        try:
            with following(file) as running:
                service = 0
                for _ in range(5):
                    service = until_another(shell.pid, service)
                    until_said(running, f"follows process {service}")
                    assert processes(running.scrape()) == 1
                    os.kill(service, signal.SIGTERM)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


def until_another(pid: int, before: int) -> int:
    """The child of a process, once it is another than before."""
    found = until(lambda: [c for c in children(pid) if c != before], "there is another child")
    return found[0]


def until_said(running: Exporter, text: str) -> None:
    until(lambda: text in running.log, f"it says {text!r}")

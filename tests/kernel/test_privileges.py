"""No more privileges than needed: what to start with, what is left after, what is said without."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from exporter import doctor
from exporter.kernel import privileges
from exporter.kernel.procfs import parse_status
from tests.caller import Caller, caller
from tests.harness import COMMAND, Exporter, exporter, free_port

NUMBERS = {"dac_read_search": 2, "sys_ptrace": 19, "perfmon": 38, "bpf": 39}
START = ("bpf", "perfmon", "sys_ptrace", "dac_read_search")
#: Linux 5.19 no longer asks those for CAP_BPF who have a map.
ASKS_AT_EACH_CALL = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (5, 19)
KEPT = ("sys_ptrace", "dac_read_search", *(["bpf"] if ASKS_AT_EACH_CALL else []))


def with_only(names: Iterable[str]) -> list[str]:
    """The command, as UID 0 with only these capabilities, now and in whatever it executes."""
    setpriv = shutil.which("setpriv")
    assert setpriv, "setpriv is in util-linux, which Debian always has"
    bounding = ",".join(["-all", *(f"+{name}" for name in names)])
    return [setpriv, "--inh-caps=-all", f"--bounding-set={bounding}", "--", *COMMAND]


def bits(names: Iterable[str]) -> int:
    return sum(1 << NUMBERS[name] for name in names)


def threads(pid: int) -> list[dict[str, str]]:
    """What /proc says of every thread."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it served a request, and ended
            found.append(parse_status((task / "status").read_text()))
    return found


def counts_exactly(running: Exporter, it: Caller) -> bool:
    before = running.scrape().calls("it", "getppid")
    it.call(10_007)
    scrape = running.scrape()
    assert scrape.lost() == 0
    return scrape.calls("it", "getppid") - before == 10_007


def refusal(config: str, names: Iterable[str]) -> str:
    """The one line it says before it ends with status 3."""
    with exporter(config, command=with_only(names), ready=False) as running:
        assert running.process.wait(timeout=60) == 3
        (line,) = running.log.splitlines()
        return line


def test_four_capabilities_are_enough_and_counts_are_exact() -> None:
    """CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: all of it works."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config, command=with_only(START)) as running:
            (main, *_) = [t for t in threads(running.pid) if t["Pid"] == str(running.pid)]
            assert int(main["CapBnd"], 16) == bits(START)
            it.call(20_011)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 20_011
            assert scrape.timed("it", "getppid") == 20_011
            assert scrape.lost() == 0
            assert running.stop() == 0


def assert_confined(running: Exporter) -> None:
    """Every thread has what is kept, nothing that an exec could add, and a filter of its calls."""
    found = threads(running.pid)
    assert len(found) > 1
    kept = bits(KEPT)
    for thread in found:
        sets = ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd", "NoNewPrivs")
        held = {name: int(thread[name], 16) for name in sets}
        assert held.pop("CapBnd") in (kept, bits(START))  # CAP_SETPCAP is to drop of it
        assert held == {"CapEff": kept, "CapPrm": kept, "CapInh": 0, "CapAmb": 0, "NoNewPrivs": 1}
        assert thread["Seccomp"] == "2"


@pytest.mark.parametrize("few", [False, True])
def test_every_thread_keeps_only_what_is_still_needed(few: bool, tmp_path: Path) -> None:
    """After the start no thread can load or attach anything any more: with all threads that there
    are, of HTTP, gRPC and the API server, whose libraries start some of their own."""
    (tmp_path / "token").write_text("it")
    away = f"{{server: https://127.0.0.1:{free_port()}, token_file: {tmp_path}/token, node: here}}"
    with caller() as it:
        config = f"""
            otlp: {{metrics: true, traces: true, protocol: grpc, endpoint: "http://127.0.0.1:1"}}
            kubernetes: {away}
            targets:
              - {{name: it, pid: {it.pid}, spans: {{processes: true}}}}
              - {{name: pods, kubernetes: {{}}}}
        """
        command = with_only(START) if few else COMMAND
        with exporter(config, "--web.enable-api", command=command) as running:
            assert counts_exactly(running, it)
            running.get("/api/v1/targets")  # a page that another thread may make
            assert_confined(running)
            assert "seccomp filters: " in running.log
            assert "no seccomp filter" not in running.log


def test_all_goes_on_after_the_drop() -> None:
    """A reload, a new root and a cgroup pass need nothing that was given up."""
    with caller() as it, caller() as other:
        config = f"[{{name: it, pid: {it.pid}}}]"
        flags = ("--web.enable-lifecycle",)
        with exporter(config, *flags, command=with_only(START)) as running:
            path = config_of(running)
            path.write_text(f"- {{name: it, pid: {it.pid}}}\n- {{name: other, pid: {other.pid}}}\n")
            running.reload()
            assert counts_exactly(running, it)
            other.call(1009)
            assert running.scrape().calls("other", "getppid") == 1009


def config_of(running: Exporter) -> Path:
    arguments = Path(f"/proc/{running.pid}/cmdline").read_text().split("\0")
    (path,) = [a.partition("=")[2] for a in arguments if a.startswith("--config.file=")]
    return Path(path)


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_without_what_is_needed_to_start_it_says_so(missing: str) -> None:
    """Exit status 3 and one line that names the capability."""
    line = refusal("[1]", [name for name in START if name != missing])
    assert f"CAP_{missing.upper()} missing" in line
    (other,) = {"bpf", "perfmon"} - {missing}
    assert f"CAP_{other.upper()} missing" not in line


def test_without_any_capability_it_says_so() -> None:
    """Exit status 3; both are named."""
    line = refusal("[1]", [])
    assert "CAP_BPF" in line
    assert "CAP_PERFMON" in line


def test_without_the_optional_ones_it_counts_all_the_same() -> None:
    """CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are for looking into others, not for counting."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config, command=with_only(("bpf", "perfmon"))) as running:
            assert counts_exactly(running, it)
            left = bits(("bpf",)) if ASKS_AT_EACH_CALL else 0
            assert {int(t["CapEff"], 16) for t in threads(running.pid)} == {left}
            for name in ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"):
                assert running.log.count(f"{name} missing: ") == 1


def test_cap_sys_admin_stands_for_the_two_that_were_split_off_it() -> None:
    """Where only CAP_SYS_ADMIN is granted, as on old runtimes, it counts as well."""
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config, command=with_only(("sys_admin",))) as running:
            assert counts_exactly(running, it)


def test_self_cost_without_its_capability_is_one_clear_line() -> None:
    """Exit status 3: which key, which capability."""
    line = refusal("{targets: [1], self_cost: true}", START)
    assert "self_cost" in line
    assert "CAP_SYS_ADMIN" in line


def test_self_cost_works_on_after_the_drop() -> None:
    """The descriptor that keeps the statistics on outlives the privilege that opened it."""
    with caller() as it:
        config = f"{{targets: [{{name: it, pid: {it.pid}}}], self_cost: true}}"
        with exporter(config) as running:
            it.call(10_007)
            first = running.scrape()
            it.call(10_007)
            second = running.scrape()
            assert second.calls("it", "getppid") == 20_014
            for program in ("on_sys_enter", "on_sys_exit"):
                for name in ("bpf_runs_total", "bpf_run_seconds_total"):
                    full = f"proctree_exporter_{name}"
                    grown = second.value(full, program=program) - first.value(full, program=program)
                    assert grown > (10_007 if "runs" in name else 0)


def test_doctor_tells_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel tells them: of this process, and of a child that gave up what serve does."""
    found = {f.what: f for f in doctor.examine(Path("/proc"), Path("/sys"), Path("/sys/fs/cgroup"))}
    before, after = found["privileges before"], found["privileges after"]
    assert "CAP_PERFMON" in before.detail
    assert before.detail == str(privileges.held())  # which it did not change
    assert (after.state, after.mend) == ("ok", "")
    assert "CAP_PERFMON" not in after.detail
    assert "no_new_privs" in after.detail
    assert after.detail.endswith(f"seccomp filters: {privileges.held().filters + 1}")
    monkeypatch.setitem(sys.modules, "seccomp", None)
    (after,) = (f for f in doctor._privileges(Path("/proc")) if f.what == "privileges after")
    assert after.state == "limited"
    assert "apt-get install python3-seccomp" in after.mend

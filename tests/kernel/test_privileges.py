"""No more privileges than needed: what to start with, what is left after, what is said without."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from exporter.kernel.procfs import parse_status
from tests.caller import Caller, caller
from tests.harness import COMMAND, Exporter, exporter

NUMBERS = {"dac_read_search": 2, "sys_ptrace": 19, "perfmon": 38, "bpf": 39}
START = ("bpf", "perfmon", "sys_ptrace", "dac_read_search")
SETS = ("CapEff", "CapPrm", "CapInh", "CapAmb")


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


@pytest.mark.parametrize("few", [False, True])
def test_every_thread_keeps_only_what_is_still_needed(few: bool) -> None:
    """After the start no thread can attach anything any more, nor get privileges by an exec."""
    kept = bits(("bpf", "sys_ptrace", "dac_read_search"))
    command = with_only(START) if few else COMMAND
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config, "--web.enable-api", command=command) as running:
            assert counts_exactly(running, it)
            running.get("/api/v1/targets")  # a page that another thread may make
            found = threads(running.pid)
            assert len(found) > 1
            for thread in found:
                held = {name: int(thread[name], 16) for name in SETS}
                assert held == {"CapEff": kept, "CapPrm": kept, "CapInh": 0, "CapAmb": 0}
                assert thread["NoNewPrivs"] == "1"


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
            assert {int(t["CapEff"], 16) for t in threads(running.pid)} == {bits(("bpf",))}


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

"""`check --explain` and /api/v1/targets say of every process what the counts say, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller, caller, children, until
from tests.harness import ROOT, Exporter, exporter
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.trees import reconfigure

API = "--web.enable-api"
ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
OTHER_ID = ID[::-1]
POD_ID = "ab" * 32
POD = "pod6b0b2a4c-0a3f-4b4d-9a3d-1c2e3f4a5b6c"
NOWHERE = "no listed PID is at or above it, no listed cgroup holds it, no 'match' does"
NAMED = "printf %%s '%s' >/proc/$$/comm"  # of the shell that runs it


def targets(running: Exporter) -> dict[str, dict[str, Any]]:
    """The API's answer, by name."""
    answer = json.loads(running.get("/api/v1/targets"))
    assert answer["status"] == "success"
    return {target["name"]: target for target in answer["data"]}


def whys(running: Exporter) -> dict[int, tuple[str, str]]:
    """By PID: its target, and why."""
    found: dict[int, tuple[str, str]] = {}
    for name, target in targets(running).items():
        for process in target["processes"]:
            assert process["pid"] not in found, "in two targets"
            found[process["pid"]] = (name, process["why"])
    return found


def explained(running: Exporter, pid: int, *flags: str) -> tuple[int, list[str]]:
    """Status and lines of `check --explain`, without the caution at the end."""
    command = [
        sys.executable, "-m", "exporter", "check", f"--config.file={running.config}",
        f"--explain={pid}", *flags,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        return done.returncode, done.stderr.splitlines()
    lines = done.stdout.splitlines()
    assert lines[-1].endswith("/api/v1/targets.)")
    return 0, lines[:-2]


@contextmanager
def shell(*lines: str) -> Iterator[int]:
    """A shell that starts a child `sleep` and waits."""
    process = subprocess.Popen(
        ["sh", "-c", "\n".join([*lines, "sleep 1000", ":"])], start_new_session=True
    )
    try:
        until(lambda: children(process.pid), "it has a child")
        yield process.pid
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@contextmanager
def called(name: str, folder: Path) -> Iterator[Caller]:
    """A caller whose program has this name."""
    link = folder / name
    link.symlink_to(sys.executable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(link))
        started = caller()
        it = started.__enter__()
    try:
        yield it
    finally:
        started.__exit__(None, None, None)


def counted(running: Exporter, calls: dict[str, Caller]) -> dict[str, str]:
    """Where the calls of each caller went: its name -> its target, or ""."""
    found = {}
    for name, it in calls.items():
        before = running.scrape().all("proctree_syscalls_total", syscall="getppid")
        it.call(1009)
        after = running.scrape().all("proctree_syscalls_total", syscall="getppid")
        found[name] = "".join(
            labels.rpartition(",")[2]
            for labels, count in after.items()
            if count - before.get(labels, 0) == 1009
        )
    return found


def test_all_three_agree_on_every_process_of_a_mixed_tree(tmp_path: Path) -> None:
    """Roots, a pidfile, cgroups, patterns, match, exclude: counts, API and explain say the same."""
    top = version_2() / f"proctree-explain-{os.getpid()}"
    kinds = ("root", "pidfile", "cgroup", "deeper", "pattern", "container", "pod", "match",
             "excluded", "nowhere", "unmeant")  # fmt: skip
    for id_, name in ((ID, "web"), (OTHER_ID, "db")):
        engine = tmp_path / f"var/lib/docker/containers/{id_}/config.v2.json"
        engine.parent.mkdir(parents=True)
        engine.write_text(json.dumps({"Name": f"/{name}", "Config": {"Image": "nginx"}}))
    with ExitStack() as stack:
        stack.enter_context(cgroup(top))
        names = {"match": "matching", "excluded": "excluding"}
        calls = {
            kind: stack.enter_context(called(names.get(kind, kind), tmp_path)) for kind in kinds
        }
        pod = f"kubepods/{POD}/{POD_ID}"
        bundle = tmp_path / f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{POD_ID}"
        bundle.mkdir(parents=True)
        notes = {
            "io.kubernetes.cri.sandbox-name": "shop-1", "io.kubernetes.cri.container-name": "app",
            "io.kubernetes.cri.sandbox-namespace": "shop",
        }  # fmt: skip
        (bundle / "config.json").write_text(json.dumps({"annotations": notes}))
        places = {
            "cgroup": "one", "deeper": "one/deep", "pattern": "many/a", "pod": pod,
            "container": f"docker/{ID}", "unmeant": f"docker/{OTHER_ID}",
        }  # fmt: skip
        for kind, place in places.items():
            (top / place).mkdir(parents=True)
            move(calls[kind].pid, top / place)
        (tmp_path / "it.pid").write_text(f"{calls['pidfile'].pid}\n")
        path = f"/{top.name}"
        config = f"""
            targets:
            - {{name: root, pid: {calls["root"].pid}}}
            - {{name: pidfile, pidfile: /it.pid}}
            - {{name: cgroup, cgroup: {path}/one}}
            - {{name: deeper, cgroup: {path}/one/deep}}
            - {{name: pattern, cgroup: '{path}/many/*'}}
            - {{name: pod, kubernetes: {{}}}}
            - {{name: container, container: {{name: web}}}}
            - {{name: match, match: {{comm: ['match*', 'excl*']}}, exclude: {{comm: 'exclud*'}}}}
        """
        rootfs = f"--path.rootfs={tmp_path}"
        with exporter(config, API, rootfs) as running:
            counts = counted(running, calls)
            nowhere = dict.fromkeys(("excluded", "nowhere", "unmeant"), "")
            assert counts == {kind: kind for kind in kinds} | nowhere
            by_api = whys(running)
            assert {k: by_api.get(it.pid, ("",))[0] for k, it in calls.items()} == counts
            clauses = {
                "root": f"it is the listed PID {calls['root'].pid}",
                "pidfile": "/it.pid names it",
                "cgroup": f"its cgroup {path}/one is listed",
                "deeper": f"its cgroup {path}/one/deep is listed",
                "pattern": f"its cgroup {path}/many/a fits {path}/many/*",
                "container": f"its cgroup {path}/docker/{ID} is a container that 'container' means",
                "pod": f"its cgroup {path}/{pod} is a container that 'kubernetes' means",
                "match": "match comm=match*|excl* holds for it",
                "excluded": "match comm=match*|excl* holds for it, but exclude comm=exclud* holds"
                " for it",
                "nowhere": NOWHERE,
                "unmeant": NOWHERE,
            }
            for kind, it in calls.items():
                status, (line, *others) = explained(running, it.pid, rootfs)
                comm = Path(f"/proc/{it.pid}/comm").read_text().strip()
                where = f"belongs to target {counts[kind]}" if counts[kind] else "has no target"
                assert status == 0
                assert line == f"PID {it.pid} ({comm}) {where}: {clauses[kind]}"
                if counts[kind]:
                    assert by_api[it.pid][1] == clauses[kind]
                web = (
                    f"its cgroup {path}/docker/{OTHER_ID} is a container (container=db image=nginx)"
                )
                known = "namespace=shop pod=shop-1 container=app"
                app = f"its cgroup {path}/{pod} is a container ({known})"
                rank_lower = {
                    "pod": [f"  not container: {app} that 'container' does not mean"],
                    "container": [
                        f"  not pod: {web.replace(OTHER_ID, ID).replace('=db', '=web')} that"
                        " 'kubernetes' does not mean"
                    ],
                    "unmeant": [
                        f"  not pod: {web} that 'kubernetes' does not mean",
                        f"  not container: {web} that 'container' does not mean",
                    ],
                    "deeper": [
                        f"  not cgroup: its cgroup {path}/one is listed, but that target's cgroup"
                        " is deeper"
                    ],
                    "excluded": [
                        "  not match: match comm=match*|excl* holds for it, but exclude"
                        " comm=exclud* holds for it"
                    ],
                }
                assert others == rank_lower.get(kind, [])


def test_descendants_are_told_by_whom_they_are_followed(tmp_path: Path) -> None:
    """A child of a listed PID, of a pidfile's, of what a match holds for; and the nearer root."""
    with shell() as outer, shell(NAMED % "matched") as matched, caller() as young:
        (child,), (grandchild,) = children(outer), children(matched)
        file = tmp_path / "it.pid"
        file.write_text(f"{child}\n")
        config = f"""
            - {{name: outer, pid: {outer}}}
            - {{name: inner, pidfile: {file}}}
            - {{name: match, match: {{comm: matched}}}}
            - {{name: later, match: {{exe: '**/sleep'}}}}
            - {{name: node, all: true}}
        """
        with exporter(config, API, "--web.enable-lifecycle") as running:
            above = f"it descends from the listed PID {outer}"
            assert explained(running, child)[1] == [
                f"PID {child} (sleep) belongs to target inner: {file} names it",
                f"  not outer: {above}, but that target's listed PID is nearer",
                "  not later: match exe=**/sleep holds for it, but a listed PID goes before a"
                " match",
                "  not node: 'all: true' takes what no other target does, but a listed PID goes"
                " before 'all' or PID 1",
            ]
            inherited = f"match comm=matched holds for its ancestor {matched}"
            assert explained(running, grandchild)[1] == [
                f"PID {grandchild} (sleep) belongs to target match: {inherited}",
                "  not later: match exe=**/sleep holds for it, but that target's match is earlier"
                " in the list",
                "  not node: 'all: true' takes what no other target does, but a match goes before"
                " 'all' or PID 1",
            ]
            found = whys(running)
            assert found[grandchild] == ("match", inherited)
            assert found[young.pid] == ("node", "'all: true' takes what no other target does")
            assert running.pid not in found
            file.write_text(f"{young.pid}\n")
            until(lambda: f"follows process {young.pid}" in running.log, "it is followed")
            earlier = f"it descends from a process that {file} named"
            until(lambda: whys(running)[child] == ("inner", earlier), "the old one stays in it")
            reconfigure(running, f"- {{name: outer, pid: {outer}}}\n")
            assert whys(running) == {
                outer: ("outer", f"it is the listed PID {outer}"), child: ("outer", above)
            }  # fmt: skip


def test_numbers_that_are_no_processes() -> None:
    """Nobody: status 1. A thread: its process is explained. A kernel thread and a zombie: none."""
    zombie = subprocess.Popen(["true"])
    until(lambda: "State:\tZ" in Path(f"/proc/{zombie.pid}/status").read_text(), "it has ended")
    with caller() as it, exporter(f"- {{name: it, pid: {it.pid}}}\n") as running:
        assert explained(running, 4194304) == (
            1, ["proctree-exporter: there is no process 4194304"]
        )  # fmt: skip
        thread = next(
            int(entry.name)
            for entry in Path(f"/proc/{running.pid}/task").iterdir()
            if entry.name != str(running.pid)
        )
        status, lines = explained(running, thread)
        assert (status, lines[0]) == (
            0, f"{thread} is a thread of process {running.pid}: list that"
        )  # fmt: skip
        assert lines[1].startswith(f"PID {running.pid} (")
        for pid, word in ((2, "kernel thread"), (zombie.pid, "zombie")):
            status, lines = explained(running, pid)
            assert (status, word in lines[0], "has no target" in lines[1]) == (0, True, True)
    zombie.wait()


def test_the_list_is_bounded_and_the_total_is_told() -> None:
    """1,000 processes at most for each target; names as hostile as they like, no command lines."""
    hostile = '"\n</td>'
    with (
        shell(NAMED % hostile, "for i in $(seq 1100); do sleep 1000 & done") as pid,
        exporter(f"- {{name: it, pid: {pid}}}\n", API) as running,
    ):
        until(lambda: len(children(pid)) == 1101, "all are born")
        target = targets(running)["it"]
        assert target["processes_total"] == 1102
        assert len(target["processes"]) == 1000
        assert target["trees"] == [{"labels": {"target": "it"}, "cgroup": None, "processes": 1102}]
        comms = {process["pid"]: process["comm"] for process in target["processes"]}
        assert comms.get(pid, hostile) == hostile
        assert {comm for at, comm in comms.items() if at != pid} == {"sleep"}
        assert b"sleep 1000" not in running.get("/api/v1/targets")

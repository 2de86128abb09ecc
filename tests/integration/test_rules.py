"""The alerts over real services that are idle, and over real faults, by a real Prometheus."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.reference import VALUES
from tests.caller import until
from tests.harness import PATIENCE_S, ROOT, Exporter, exporter, free_port
from tests.integration import idle
from tests.integration.narrow import JOB, narrow
from tests.integration.prometheus_otlp import BINARY, MISSING, PrometheusOtlp

missing = MISSING or idle.MISSING
pytestmark = pytest.mark.skipif(missing is not None, reason=missing or "")

#: All times of the rules are divided by this, so that ten minutes pass in 20 seconds. By
#: hand, with the rules as they are: TEST_RULES_FACTOR=1 TEST_IDLE_S=1200 TEST_PATIENCE_S=1800.
FACTOR = int(os.environ.get("TEST_RULES_FACTOR", "30"))
IDLE_S = float(os.environ.get("TEST_IDLE_S", "20"))
RULES = ROOT / "dashboards/rules"
SERVICES = ("nginx", "postgres", "python", "shell")
UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
CONFIG = """
self_cost: true
targets:
  - {{name: nginx, pid: {nginx}}}
  - {{name: postgres, pid: {postgres}}}
  - {{name: python, pid: {python}}}
  - {{name: prometheus, pidfile: {pidfile}}}
  - {{name: shell, pid: {shell}, group_by: comm}}
"""


def faster(text: str) -> str:
    """Durations, and numbers from 100 on: those are seconds, where smaller ones are parts."""
    text = re.sub(
        r"\b([0-9]+)([smhd])\b", lambda m: f"{int(m[1]) * UNITS_MS[m[2]] // FACTOR}ms", text
    )
    return re.sub(r"(?<=[>-] )[1-9][0-9]{2}\b", lambda m: f"{int(m[0]) / FACTOR:g}", text)


def scaled(file: Path) -> dict[str, Any]:
    """The file's rules; nothing else of them is changed."""
    document: dict[str, Any] = yaml.safe_load(file.read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            rule |= {key: faster(rule[key]) for key in ("expr", "for") if key in rule}
    return document


@contextmanager
def prometheus(folder: Path, jobs: Mapping[str, Exporter]) -> Iterator[PrometheusOtlp]:
    """One that scrapes the exporters, native histograms and all, and has our rules."""
    assert BINARY
    for file in ("recording.yaml", "alerts.yaml"):
        (folder / file).write_text(yaml.safe_dump(scaled(RULES / file)))
    pace = f"{30_000 // FACTOR}ms"
    config = {
        "global": {
            "scrape_interval": pace, "scrape_timeout": pace, "evaluation_interval": pace,
            "scrape_native_histograms": True,
        },
        "rule_files": ["recording.yaml", "alerts.yaml"],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [exporter.address]}]}
            for job, exporter in jobs.items()
        ],
    }  # fmt: skip
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address, log = f"127.0.0.1:{free_port()}", folder / "log"
    command = [
        BINARY, f"--config.file={folder / 'prometheus.yml'}", f"--web.listen-address={address}",
        f"--storage.tsdb.path={folder / 'data'}", f"--query.lookback-delta={300_000 // FACTOR}ms",
    ]  # fmt: skip
    with log.open("wb") as stream, idle.running(command, stdout=stream, stderr=stream) as process:
        yield PrometheusOtlp(process, f"http://{address}", log)


class Watched:
    """Idle services, a shell to make faults in, and who watches them; an exporter at its limits."""

    def __init__(
        self, exporter: Exporter, narrow: Exporter, prometheus: PrometheusOtlp,
        services: dict[str, Any], shell: Any,
    ) -> None:  # fmt: skip
        self.exporter, self.narrow, self.prometheus = exporter, narrow, prometheus
        self.services, self._shell = services, shell

    def run(self, line: str) -> None:
        """In the shell, which is followed."""
        self._shell.stdin.write(f"{line}\n".encode())
        self._shell.stdin.flush()

    def firing(self, over: str = "", of: str = f'job!="{JOB}"') -> set[tuple[str, ...]]:
        """Which alerts, of what; at this moment, or over a time that has passed."""
        alerts = f'ALERTS{{alertstate="firing",{of}}}'
        found = self.prometheus.query(f"count_over_time({alerts}[{over}])" if over else alerts)
        names = ("alertname", "target", "syscall", "errno")
        return {tuple(s.labels[n] for n in names if n in s.labels) for s in found}

    def rules(self) -> list[dict[str, Any]]:
        groups = self.prometheus.get("/api/v1/rules")["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Followed from before the first scrape until the time of `IDLE_S` has passed."""
    folder = tmp_path_factory.mktemp("rules")
    pidfile = folder / "prometheus.pid"
    with (
        idle.services() as services,
        idle.running(["sh"], stdin=subprocess.PIPE) as shell,
    ):
        pids = {name: process.pid for name, process in services.items()}
        config = CONFIG.format(**pids, shell=shell.pid, pidfile=pidfile)
        with (
            exporter(config) as running,
            narrow() as limited,
            prometheus(folder, {"proctree-exporter": running, JOB: limited}) as server,
        ):
            pidfile.write_text(str(server.process.pid))
            until(lambda: answers(server), "Prometheus is ready", PATIENCE_S)
            all_up = f'min(proctree_target_up{{job!="{JOB}"}}) == 1'
            until(lambda: server.query(all_up), "Prometheus itself is followed", PATIENCE_S)
            time.sleep(IDLE_S)
            yield Watched(running, limited, server, services, shell)


def answers(server: PrometheusOtlp) -> bool:
    assert server.process.poll() is None, server.log
    try:
        return bool(server.query("up == 1"))
    except OSError:
        return False


def test_all_alerts_are_silent_over_idle_services(watched: Watched) -> None:
    """None fires in all that time, though calls wait in each service for longer than `stuck` is."""
    stuck = 300 / FACTOR
    oldest = f'proctree_syscall_oldest_in_flight_seconds{{job!="{JOB}"}}'
    waiting = watched.prometheus.query(f"{oldest} > {stuck:g}")
    calls = {(series.labels["target"], series.labels["syscall"]) for series in waiting}
    assert {target for target, _ in calls} >= set(SERVICES)
    assert {("nginx", "epoll_wait"), ("python", "recvfrom"), ("shell", "read")} <= calls
    assert watched.firing("1d") == set()


def test_all_rules_can_be_evaluated(watched: Watched) -> None:
    """Each is healthy; each that records has recorded, but for errors that there are none of."""
    rules = watched.rules()
    assert {(rule["health"], rule.get("lastError")) for rule in rules} == {("ok", None)}
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    rare = {
        "tree_syscall_errno:proctree_syscall_errors:increase10m",
        "tree_syscall:proctree_syscall_births_refused:increase10m",
    }
    for name in recorded - rare:
        assert watched.prometheus.query(name), name
    classes = watched.prometheus.query(
        f'tree_class:proctree_syscall_duration_seconds:rate5m{{job!="{JOB}"}}'
    )
    assert {series.labels["class"] for series in classes} >= {"file", "wait", "futex"}
    tree = frozenset({"__name__", "job", "instance", "target", "class"})
    assert {frozenset(series.labels) - {"comm"} for series in classes} == {tree}


def test_the_reference_knows_all_values(watched: Watched) -> None:
    """Of labels whose values are a closed list: those that are exposed are those it has."""
    samples = watched.exporter.scrape().samples
    for (name, label), values in VALUES.items():
        shown = {dict(labels)[label] for sample, labels in samples if sample == name}
        if name != "proctree_exporter_pod_metadata_failures_total":  # no API server is asked
            assert shown == set(values), name


def test_alerts_fire_where_something_is_wrong(watched: Watched, tmp_path: Path) -> None:
    """A lock that is never given back, a full disk, a config with a fault, a service that ends.

    What is mended is silent again.
    """
    lock, good = tmp_path / "lock", watched.exporter.config.read_text()
    with idle.running(["flock", "--no-fork", lock, "sleep", "infinity"]) as holder:
        until(lambda: held(lock), "the lock is held", PATIENCE_S)
        watched.run(f"flock {lock} true &")
        watched.run(
            "unshare --mount sh -c"
            " 'mount -t tmpfs -o size=8k x /mnt && dd if=/dev/zero of=/mnt/x bs=4k count=9' &"
        )
        watched.exporter.config.write_text("targets: [{pid: x}]")
        watched.services["python"].kill()
        wrong = {
            ("ProctreeSyscallStuck", "shell", "flock"),
            ("ProctreeUnexpectedErrno", "shell", "write", "ENOSPC"),
            ("ProctreeReloadFailed",),
            ("ProctreeTargetGone", "python"),
        }
        until(lambda: wrong <= watched.firing("1d"), "all of them fire", PATIENCE_S)
        assert watched.firing("1d") == wrong
        assert all(
            "error" not in str(alert["annotations"])
            for alert in watched.prometheus.get("/api/v1/alerts")["data"]["alerts"]
        )
        holder.kill()
    watched.exporter.config.write_text(good)
    mended = {("ProctreeSyscallStuck", "shell", "flock"), ("ProctreeReloadFailed",)}
    until(lambda: not mended & watched.firing(), "what is mended is silent", PATIENCE_S)


def test_an_exporter_tells_of_its_limits(watched: Watched) -> None:
    """Of each that it has reached, of a backend that takes nothing; and Prometheus of its end."""
    wrong = {
        "ProctreeCallsLost", "ProctreeMapNearlyFull", "ProctreeTreesNearlyFull",
        "ProctreeTreesFolded", "ProctreeSeriesFolded", "ProctreeExportFailing",
        "ProctreeSpansDropped",
    }  # fmt: skip

    def told() -> set[str]:
        return {alert for alert, *_ in watched.firing("1d", f'job="{JOB}"')}

    until(lambda: wrong <= told(), "all of them fire", PATIENCE_S)
    assert told() == wrong
    watched.narrow.stop()
    until(lambda: told() == wrong | {"ProctreeExporterDown"}, "its end is told", PATIENCE_S)


def held(lock: Path) -> bool:
    return subprocess.run(["flock", "--nonblock", lock, "true"]).returncode != 0

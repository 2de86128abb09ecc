"""Two pods, by OTLP: two series in a real Prometheus, each with its own numbers."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.model.host import read_host
from tests.caller import caller, until
from tests.harness import PATIENCE_S, exporter
from tests.integration import prometheus_otlp as prometheus3
from tests.integration.prometheus_otlp import PrometheusOtlp, prometheus_otlp
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.spans import config

pytestmark = pytest.mark.skipif(prometheus3.MISSING is not None, reason=prometheus3.MISSING or "")

#: A container and its pod, and how often it calls.
PODS = {
    "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970": (
        "6b0b2a4c-0a3f-4b4d-9a3d-1c2e3f4a5b6c", 1009,
    ),
    "0724182483c545bd5d4144d8ccabcce853298ff3ac39a16ed547c6e935c797f4": (
        "7c1c3b5d-1b4e-4c5e-8b4e-2d3f405b6c7d", 2003,
    ),
}  # fmt: skip
CALLS = 'proctree_syscall_count_total{proctree_syscall="getppid"}'
DURATIONS = 'proctree_syscall_duration_seconds{proctree_syscall="getppid"}'


def test_two_pods_are_two_series(tmp_path: Path) -> None:
    """With the same target and calls they differ in `instance`, the container's id, alone."""
    top = version_2() / f"proctree-otlp-{os.getpid()}.slice"
    target = {"name": "pods", "cgroup": f"/{top.name}/kubepods/*/*"}
    otlp = {"metrics": True, "traces": False, "interval": "500ms"}
    with ExitStack() as stack:
        stack.enter_context(cgroup(top))
        callers = {}
        for container, (pod, _) in PODS.items():
            place = top / f"kubepods/pod{pod}/{container}"
            place.mkdir(parents=True)
            callers[container] = stack.enter_context(caller())
            move(callers[container].pid, place)
        backend = stack.enter_context(prometheus_otlp(tmp_path))
        running = stack.enter_context(exporter(config(backend.otlp, target, otlp=otlp)))
        for container, (_, calls) in PODS.items():
            callers[container].call(calls)
        wanted = {container: float(calls) for container, (_, calls) in PODS.items()}
        until(lambda: numbers(backend, CALLS) == wanted, "all calls are there", PATIENCE_S)
        series = {found.labels["instance"]: found.labels for found in backend.query(CALLS)}
        shared = {
            "__name__": "proctree_syscall_count_total", "job": "pods", "proctree_target": "pods",
            "proctree_syscall": "getppid",
        }  # fmt: skip
        assert series == {container: {**shared, "instance": container} for container in PODS}
        count = f"histogram_count({DURATIONS})"
        until(lambda: numbers(backend, count) == wanted, "all durations are there", PATIENCE_S)
        host = read_host(Path("/"), Path("/proc"))
        about = {found.labels["instance"]: found.labels for found in backend.query("target_info")}
        assert set(about) == {*PODS, host.id}
        for container, (pod, _) in PODS.items():
            assert about[container]["k8s_pod_uid"] == pod
            assert about[container]["container_id"] == container
            assert about[container]["host_id"] == host.id
        scrape = running.scrape()
        exposed = scrape.all("proctree_syscalls_total", target="pods", syscall="getppid")
        assert exposed == {
            f"/{top.name}/kubepods/pod{pod}/{container}": calls
            for container, (pod, calls) in PODS.items()
        }
        assert not any(scrape.all("proctree_exporter_export_failures_total").values())
        assert running.stop() == 0
        assert backend.complaints() == []


def numbers(backend: PrometheusOtlp, expression: str) -> dict[str, float | None]:
    return {found.labels["instance"]: found.value for found in backend.query(expression)}

"""The thread around it all: waits, counts, logs, and ends when it is told to."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.metadata.kubernetes import Pods, PodWatch, Settings, health
from exporter.metadata.kubernetes.failure import REASONS, Failure
from exporter.metadata.kubernetes.health import Health
from exporter.metadata.kubernetes.reflector import Reflector
from exporter.model.metadata import ContainerRef
from tests.caller import until
from tests.unit.kube_server import KubeServer, event, kube_server, listed, pod, raw, status, watched


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with kube_server() as it:
        yield it


@pytest.fixture
def pods() -> Pods:
    return Pods()


@pytest.fixture
def watch(server: KubeServer, pods: Pods, monkeypatch: pytest.MonkeyPatch) -> Iterator[PodWatch]:
    monkeypatch.setattr(health, "FIRST_DELAY_S", 0.01)
    it = PodWatch(Settings(f"http://127.0.0.1:{server.port}", node="node-1"), pods)
    yield it
    it.stop()


def threads() -> list[str]:
    import threading

    return [thread.name for thread in threading.enumerate() if thread.name == "pods"]


def test_following(server: KubeServer, watch: PodWatch, pods: Pods) -> None:
    """Whatever goes wrong in between, in the end all is known; each failure has its count."""
    assert watch.age_seconds() is None
    assert watch.failures() == dict.fromkeys(REASONS, 0)
    server.will(
        status(500, "starting"), status(403, "no rights yet"), raw(b"<html>", length=6),
        listed(pod("a")), status(401, "expired"), status(410, "too old"), listed(pod("b")),
        watched(server, event("ADDED", pod("c"), "101")),
    )  # fmt: skip
    watch.start()
    until(lambda: pods.facts(ContainerRef("", "c-c", "")), "the last event is known")
    assert {reason: count for reason, count in watch.failures().items() if count} == {
        "server_error": 1, "forbidden": 1, "bad_answer": 1, "unauthorized": 1, "gone": 1,
    }  # fmt: skip
    assert len(pods) == 2
    age = watch.age_seconds()
    assert age is not None and age >= 0


def test_stop(server: KubeServer, watch: PodWatch) -> None:
    """A watch that hangs does not hold up the end; the end is no failure."""
    server.will(listed(), watched(server))
    watch.start()
    until(lambda: len(server.asked) == 2, "it watches")
    watch.stop()
    until(lambda: not threads(), "its thread has ended")
    assert set(watch.failures().values()) == {0}
    watch.stop()


def test_stop_in_between(server: KubeServer, watch: PodWatch) -> None:
    """Nor does the time until the next attempt."""
    server.will(status(429, "later", Retry_After="300"))
    watch.start()
    until(lambda: watch.failures()["throttled"], "it waits")
    watch.stop()
    until(lambda: not threads(), "its thread has ended")


def test_never_started(watch: PodWatch) -> None:
    watch.stop()


def test_our_own_mistake(
    server: KubeServer, watch: PodWatch, pods: Pods, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """An error that nobody thought of is told, and the next attempt is made all the same."""
    step, mistakes = Reflector.step, [KeyError("oops")]

    def sometimes(self: Reflector) -> None:
        if mistakes:
            raise mistakes.pop()
        step(self)

    monkeypatch.setattr(Reflector, "step", sometimes)
    server.will(listed(pod("a")), watched(server))
    watch.start()
    until(lambda: len(pods) == 1, "the list is known")
    assert watch.failures()["bad_answer"] == 1
    assert "oops" in caplog.text


def test_delays() -> None:
    """Longer and longer, up to half a minute, and never in step with others; as the server asks."""
    chances = iter([0.0, 1.0, 0.5, *[1.0] * 99])
    it = Health(chance=lambda: next(chances))
    failure = Failure("unreachable", "no")
    assert [it.failed(failure) for _ in range(7)] == [0.5, 2, 3, 8, 16, 30, 30]
    assert [it.failed(failure) for _ in range(50)][-1] == 30
    it.in_step()  # a list alone is no success: the watch after it may fail each time
    assert it.failed(failure) == 30
    it.went_well()
    assert it.failed(failure) == 1
    assert it.failed(Failure("throttled", "later", retry_after_s=77)) == 77
    assert it.failures() == {**dict.fromkeys(REASONS, 0), "unreachable": 60 - 1, "throttled": 1}


def test_age() -> None:
    now = [5.0]
    it = Health(clock=lambda: now[0])
    it.failed(Failure("tls", "no"))
    assert it.age_seconds() is None
    it.in_step()
    now[0] = 3605.0
    it.failed(Failure("tls", "no"))
    assert it.age_seconds() == 3600
    it.in_step(since_s=600)
    assert it.age_seconds() == 600
    it.in_step(since_s=900)  # we knew better already
    assert it.age_seconds() == 600


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    """An hour without a server is a line, not a thousand; and one when it is back."""
    caplog.set_level(logging.INFO)
    it = Health()
    for _ in range(100):
        it.failed(Failure("unreachable", "refused"))
    it.failed(Failure("tls", "wrong certificate"))
    it.failed(Failure("gone", "too old"))  # ordinary
    it.went_well()
    it.went_well()
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]
    assert "refused" in caplog.messages[0]


def test_imports() -> None:
    """Who watches no pods pays for neither HTTP nor TLS."""
    program = """
import sys
import exporter.metadata.kubernetes as kubernetes
kubernetes.Pods()
print(sorted({"ssl", "http.client", "urllib.request"} & set(sys.modules)))
"""
    command: Any = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"

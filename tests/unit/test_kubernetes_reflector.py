"""A list, then a watch, then what follows from how it ends; against a hand-written server."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from exporter.metadata.kubernetes import reflector
from exporter.metadata.kubernetes.failure import Failure
from exporter.model.metadata import ContainerRef
from tests.unit.kube_reflector import Reflecting
from tests.unit.kube_server import KubeServer, event, kube_server, listed, pod, status, watched


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with kube_server() as it:
        yield it


@pytest.fixture
def it(server: KubeServer, monkeypatch: pytest.MonkeyPatch) -> Reflecting:
    monkeypatch.setattr(reflector, "_SHORTEST_WATCH_S", 0)
    return Reflecting(server)


def test_pages(it: Reflecting) -> None:
    """Page by page; what is on a page is known before the next is asked for."""
    it.server.will(listed(pod("a"), more="next"), listed(pod("b"), pod("c"), version="100"))
    it.step()
    assert it.known("a", "b", "c") == [True, True, True]
    first, second = (asked.query for asked in it.server.asked)
    assert (first["limit"], first["resourceVersion"]) == ("500", "0")
    assert (second["limit"], second["continue"]) == ("500", "next")
    assert "resourceVersion" not in second  # the API refuses both together
    assert it.health.age_seconds() is not None


def test_watch(it: Reflecting) -> None:
    """From where the list ended; what happens is known as it happens."""
    it.server.will(
        listed(pod("a"), version="100"),
        watched(
            it.server,
            event("ADDED", pod("b"), "101"),
            event("MODIFIED", pod("a", labels={"app": "web"}), "102"),
            event("DELETED", pod("b"), "103"),
            event("DELETED", pod("c"), "104"),
            event("BOOKMARK", {"kind": "Pod", "spec": {}, "status": {}}, "110"),
            then="end",
        ),
        watched(it.server, then="end"),
    )
    it.step()
    it.step()
    query = it.asked
    seconds = int(query.pop("timeoutSeconds"))
    assert query == {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "100"}
    assert 60 <= seconds <= 300
    assert it.known("a", "b", "c") == [True, False, False]
    facts = [it.pods.facts(ContainerRef("", f"c-{uid}", "")) for uid in "abc"]
    assert [found and found.pod for found in facts] == ["pod-a", "pod-b", "pod-c"]
    assert facts[0] and facts[0].pod_labels == {"app": "web"}
    it.step()
    assert it.asked["resourceVersion"] == "110"


def test_success(it: Reflecting) -> None:
    """An event of a watch ends the waiting, and what is long gone is forgotten then."""
    it.pods._keep_s = 0
    it.server.will(listed(pod("a")), status(410, "gone"), listed())
    it.step()
    for _ in range(9):
        delay_s = it.health.failed(Failure("gone", "too old"))
    assert delay_s > 10
    it.fails()
    it.step()
    assert it.pods.facts(ContainerRef("", "", "a"))
    assert it.health.failed(Failure("gone", "too old")) > 10
    it.server.will(watched(it.server, event("BOOKMARK", {}, "101"), b"broken\n"))
    it.fails()
    assert it.health.failed(Failure("gone", "too old")) <= 1
    assert it.pods.facts(ContainerRef("", "", "a")) is None


@pytest.mark.parametrize("how", ["status", "event"])
def test_gone(it: Reflecting, how: str) -> None:
    """What we know is too old to go on from: a new list; known pods do not flap."""
    refused = status(410, "too old")
    if how == "event":
        answer = {"kind": "Status", "code": 410, "message": "too old resource version"}
        refused = watched(it.server, event("ERROR", answer), then="end")
    it.server.will(listed(pod("a"), pod("b")), refused, listed(pod("b"), pod("c"), version="200"))
    it.step()
    before = it.pods.facts(ContainerRef("", "c-b", "b"))
    assert it.fails() == "gone"
    assert it.known("a", "b") == [True, True]
    it.step()
    assert it.asked == {"limit": "500"}  # the newest, not what some cache has
    assert it.known("a", "b", "c") == [False, True, True]
    assert it.pods.facts(ContainerRef("", "c-b", "b")) == before
    it.server.will(watched(it.server, then="end"))
    it.step()
    assert it.asked["resourceVersion"] == "200"


def test_gone_between_pages(it: Reflecting) -> None:
    """A list that ends in the middle takes nothing away, and is begun anew."""
    it.server.will(listed(pod("a"), pod("b")), status(410, "gone"))
    it.step()
    assert it.fails() == "gone"
    it.server.will(listed(pod("c"), more="next"), status(410, "continue is too old"))
    assert it.fails() == "gone"
    assert it.known("a", "b", "c") == [True, True, True]
    it.server.will(listed(pod("b")))
    it.step()
    assert "continue" not in it.asked
    assert it.known("a", "b", "c") == [False, True, False]


@pytest.mark.parametrize("code", [401, 403, 429, 500])
def test_refused_watch(it: Reflecting, code: int) -> None:
    """No reason to list all again: the watch goes on from where it was."""
    it.server.will(listed(), status(code, "no"), watched(it.server, then="end"))
    it.step()
    it.fails()
    it.step()
    assert it.asked["resourceVersion"] == "100"


@pytest.mark.parametrize("then", ["break", "end"])
@pytest.mark.parametrize("half", [b'{"type": "ADD', event("ADDED", pod("c"), "102")[:-1]])
def test_cut(it: Reflecting, half: bytes, then: str) -> None:
    """A connection that breaks: the next watch begins after the last whole event."""
    lines = event("ADDED", pod("b"), "101"), half
    it.server.will(listed(), watched(it.server, *lines, then=then))
    it.step()
    assert it.fails() == "unreachable"
    it.server.will(watched(it.server, then="end"))
    it.step()
    assert it.asked["resourceVersion"] == "101"
    assert it.known("b", "c") == [True, False]


@pytest.mark.parametrize("then", ["break", "end"])
def test_ends_early(it: Reflecting, then: str) -> None:
    """Between two events: the next one goes on; the store was in step when this one began."""
    it.server.will(listed(), watched(it.server, then=then, after_s=0.1))
    it.step()
    before = time.monotonic()
    it.step()
    assert before <= it.in_step_at <= time.monotonic() - 0.1
    it.server.will(watched(it.server, then="end"))
    it.step()
    assert it.asked["resourceVersion"] == "100"


def test_ends_on_time(it: Reflecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """No word until the server ends the watch: nothing has happened until now."""
    monkeypatch.setattr(reflector, "_WATCH_S", (1, 1))
    it.server.will(listed(), watched(it.server, then="end", after_s=0.1))
    it.step()
    before = time.monotonic()
    it.step()
    assert before + 0.1 <= it.in_step_at


def test_short_watch(server: KubeServer) -> None:
    """A server that ends each watch at once is not asked again at once."""
    it = Reflecting(server)
    server.will(listed(), watched(server, event("ADDED", pod("a"), "101"), then="end"))
    it.step()
    assert it.fails() == "bad_answer"
    assert it.known("a") == [True]

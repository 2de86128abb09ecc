"""Answers that are wrong, or too large: nothing that is known goes, and the next may be right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.metadata.kubernetes import reflector
from exporter.model.metadata import ContainerRef
from tests.unit.kube_reflector import Reflecting
from tests.unit.kube_server import (
    Handler,
    KubeServer,
    event,
    kube_server,
    listed,
    pod,
    raw,
    status,
    watched,
)


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with kube_server() as it:
        yield it


@pytest.fixture
def it(server: KubeServer, monkeypatch: pytest.MonkeyPatch) -> Reflecting:
    monkeypatch.setattr(reflector, "_SHORTEST_WATCH_S", 0)
    return Reflecting(server)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"<html>\n", "bad_answer"),
        (b"[]\n", "bad_answer"),
        (b"null\n", "bad_answer"),
        (b'{"type": "ADDED"}\n', "bad_answer"),
        (b"[" * 100_000 + b"\n", "bad_answer"),
        (b"9" * 5000 + b"\n", "bad_answer"),
        (b'"\xff"\n', "bad_answer"),
        (event("ADDED", {"metadata": {"resourceVersion": "1"}}), "bad_answer"),
        (event("ADDED", pod("x")), "bad_answer"),
        (event("MOVED", pod("x"), "101"), "bad_answer"),
        (event("ERROR", {"code": 500, "message": "no"}), "server_error"),
        (event("ERROR", {"code": "?"}), "server_error"),
    ],
)
def test_bad_event(it: Reflecting, line: bytes, reason: str) -> None:
    """An event that we cannot read may have meant anything: a new list."""
    lines = event("ADDED", pod("b"), "101"), line
    it.server.will(listed(pod("a")), watched(it.server, *lines, then="end"), listed(pod("a")))
    it.step()
    assert it.fails() == reason
    assert it.known("a", "b") == [True, True]
    it.step()
    assert it.asked == {"limit": "500"}


def _page(document: object) -> Any:
    body = json.dumps(document).encode()
    return raw(body, length=len(body))


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"<html>", length=6),
        raw(b"", length=0),
        raw(b'{"kind": "PodList", "items": ['),  # half of it
        raw(b"[" * 100_000),
        raw(b"\xff\xfe\xfd"),
        _page([]),
        _page(None),
        _page({"kind": "Status"}),
        _page({"items": []}),
        _page({"items": None, "metadata": {"resourceVersion": "1"}}),
        _page({"items": {}, "metadata": {"resourceVersion": "1"}}),
        _page({"items": [], "metadata": {"resourceVersion": 1}}),
        _page(pod("x")),
    ],
)
def test_bad_list(it: Reflecting, answer: Any) -> None:
    """Nothing is taken away, and the next list may be the right one."""
    it.server.will(listed(pod("a")), status(410, "gone"), answer, listed(pod("b")))
    it.step()
    it.fails()
    assert it.fails() == "bad_answer"
    assert it.known("a") == [True]
    it.step()
    assert it.known("a", "b") == [False, True]


def test_odd_items(it: Reflecting) -> None:
    """What is no pod hides none."""
    it.server.will(listed({}, {"metadata": {}, "spec": {}}, pod("a")))
    it.step()
    assert it.known("a") == [True]


def test_pod_in_pod(it: Reflecting) -> None:
    """Only pods are cut down, not what looks like one inside of them."""
    odd = pod("a", labels={"metadata": "x", "spec": "y", "uid": "z"})
    odd["spec"]["volumes"] = [{"ephemeral": {"template": {"metadata": {"labels": {}}, "spec": {}}}}]
    it.server.will(listed(odd))
    it.step()
    facts = it.pods.facts(ContainerRef("", "c-a", ""))
    assert facts and facts.pod_labels == {"metadata": "x", "spec": "y", "uid": "z"}


def test_large(it: Reflecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page or an event that is too large is not read to its end; these have none."""
    monkeypatch.setattr(reflector, "MOST_PAGE_BYTES", 1 << 16)
    monkeypatch.setattr(reflector, "MOST_LINE_BYTES", 1 << 16)
    it.server.will(_forever, listed(pod("a")), _forever)
    assert it.fails() == "bad_answer"
    it.step()
    assert it.fails() == "bad_answer"
    assert it.known("a") == [True]


def _forever(to: Handler) -> None:
    raw(b"")(to)
    while True:
        to.wfile.write(b" " * 65536)


def test_endless(it: Reflecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that goes on and on."""
    monkeypatch.setattr(reflector, "MOST_PAGES", 3)
    it.server.will(*[listed(pod("a"), more="next")] * 4)
    assert it.fails() == "bad_answer"
    assert len(it.server.asked) == 3


def test_100_000_pods(it: Reflecting) -> None:
    """As many as there is room for; the others are counted, and the watch goes on."""
    for page in range(200):
        pods = [pod(f"{page * 500 + number:06}") for number in range(500)]
        it.server.will(listed(*pods, more="next" if page < 199 else ""))
    it.step()
    assert len(it.pods) == 10_000
    assert it.health.failures()["too_many"] == 90_000
    assert it.known("000000", "009999", "010000") == [True, True, False]
    # A pod goes, and there is room for another.
    lines = [event("DELETED", pod("000000"), "101"), event("ADDED", pod("new"), "102")]
    it.server.will(watched(it.server, *lines, then="end"))
    it.step()
    assert it.known("000000", "new") == [False, True]

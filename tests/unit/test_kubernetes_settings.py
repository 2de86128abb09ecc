"""Which server is asked, and what is said where that cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.errors import ServiceError
from exporter.metadata.kubernetes import Pods, PodWatch, Settings
from exporter.metadata.kubernetes.settings import Server, resolve

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "NODE_NAME": "node-1"}


def test_in_cluster(tmp_path: Path) -> None:
    """All that a pod needs is given to it."""
    (tmp_path / "token").touch()
    (tmp_path / "ca.crt").touch()
    token, ca = str(tmp_path / "token"), str(tmp_path / "ca.crt")
    expected = Server("10.96.0.1", 443, "", True, token, ca, "node-1")
    assert resolve(Settings(), POD, tmp_path) == expected
    six = {**POD, "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    expected = Server("fd00::1", 6443, "", True, token, ca, "node-1")
    assert resolve(Settings(), six, tmp_path) == expected


def test_given(tmp_path: Path) -> None:
    given = Settings("https://api.test/k8s/c1/", "/t", "/c", "node-2")
    expected = Server("api.test", 443, "/k8s/c1", True, "/t", "/c", "node-2")
    assert resolve(given, POD, tmp_path) == expected
    given = Settings("http://[::1]:8001", node="n")
    assert resolve(given, {}, tmp_path) == Server("::1", 8001, "", False, None, None, "n")


@pytest.mark.parametrize(
    ("settings", "environment", "message"),
    [
        (Settings(), {}, "KUBERNETES_SERVICE_HOST is not set"),
        (Settings("https://a"), {}, "NODE_NAME is not set: set it by the downward API"),
        (Settings("https://a", node="a,b=c"), {}, "expected a node's name, found 'a,b=c'"),
        (Settings("http://10.0.0.1:8080"), POD, "'http://10.0.0.1:8080' is not encrypted"),
        (Settings("http://localhost.test:8080"), POD, "is not encrypted: expected https://"),
        (Settings("http://127.0.0.1.evil.test"), POD, "is not encrypted"),
        (Settings("10.0.0.1:6443"), POD, "expected a server like https://10.96.0.1:443"),
        (Settings("https://"), POD, "expected a server like"),
        (Settings("https://a:port"), POD, "expected a server like"),
        (Settings("https://[::1"), POD, "expected a server like"),
        (Settings("https://user:secret@a"), POD, "expected a server like"),
        (Settings("ftp://a"), POD, "expected a server like"),
    ],
)
def test_refused(
    settings: Settings, environment: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ServiceError) as caught:
        resolve(settings, environment, tmp_path)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that cannot be meant are told where the watch is made, not in its thread."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ServiceError):
        PodWatch(Settings(), Pods())

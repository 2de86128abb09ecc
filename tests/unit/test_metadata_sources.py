"""The API and the engines' files as one: who is asked first, and what is made of two answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.metadata.kubernetes import Settings, health
from exporter.metadata.kubernetes.pod import Container, Pod
from exporter.metadata.sources import Sources
from exporter.model.metadata import SANDBOX, ContainerRef, Facts
from tests.caller import until
from tests.unit.kube_server import kube_server

KNOWN, OTHER = "a" * 64, "b" * 64
POD = Pod(
    uid="u1", config_hash="", namespace="shop", name="web-1", labels={"app": "web"},
    workload="web", workload_kind="Deployment", ended=False,
    containers={KNOWN: Container("main", "web:1")}, settled=True,
)  # fmt: skip
FROM_API = Facts("shop", "web-1", "main", "web", "Deployment", "web:1", {"app": "web"})
NOBODY = Settings("http://127.0.0.1:1", node="node-1")  # asked only where it is started


@pytest.fixture
def engine(tmp_path: Path) -> Callable[..., None]:
    """Writes what containerd keeps of a container of web-1."""

    def write(id_: str, name: str, kind: str = "container") -> None:
        bundle = tmp_path / "run/containerd/io.containerd.runtime.v2.task/k8s.io" / id_
        bundle.mkdir(parents=True)
        notes = {
            "sandbox-name": "web-1", "sandbox-namespace": "shop", "container-name": name,
            "container-type": kind, "image-name": "web:2",
        }  # fmt: skip
        named = {f"io.kubernetes.cri.{key}": value for key, value in notes.items()}
        (bundle / "config.json").write_text(json.dumps({"annotations": named}))

    return write


def ref(id_: str) -> ContainerRef:
    return ContainerRef("containerd", id_, "u1")


def test_without_an_api(tmp_path: Path, engine: Callable[..., None]) -> None:
    sources = Sources(tmp_path, None)
    assert (sources.asks_api, sources.facts(ref(OTHER))) == (False, None)
    engine(OTHER, "side")
    assert sources.facts(ref(OTHER)) == Facts("shop", "web-1", "side", image="web:2")
    assert (sources.age_seconds(), sources.failures(), sources.known()) == (None, {}, None)


def test_the_api_adds_to_the_engine(tmp_path: Path, engine: Callable[..., None]) -> None:
    """Until it has answered there is more to come; then each tells what it knows best."""
    sources = Sources(tmp_path, NOBODY)
    engine(OTHER, "side")
    early = Facts("shop", "web-1", "side", image="web:2", complete=False)
    assert sources.facts(ref(OTHER)) == early
    sources._pods.put(POD)
    late = Facts("shop", "web-1", "side", "web", "Deployment", "web:2", {"app": "web"})
    assert sources.facts(ref(OTHER)) == late
    assert sources.facts(ref(KNOWN)) == FROM_API


def test_sandbox_by_the_engine(tmp_path: Path, engine: Callable[..., None]) -> None:
    """The engine knows; what the API guesses is a guess."""
    sources = Sources(tmp_path, NOBODY)
    sources._pods.put(POD)
    guess = sources.facts(ref(OTHER))
    assert guess and (guess.container, guess.complete) == (SANDBOX, False)
    engine(OTHER, "", "sandbox")
    known = sources.facts(ref(OTHER))
    assert known and (known.container, known.complete) == (SANDBOX, True)


def test_no_guess_while_the_api_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new container, of which it cannot tell, would be taken for a sandbox."""
    monkeypatch.setattr(health, "FIRST_DELAY_S", 0.01)
    with kube_server() as server:
        sources = Sources(tmp_path, Settings(f"http://127.0.0.1:{server.port}", node="node-1"))
        sources._pods.put(POD)
        sources.start()
        until(lambda: sources.failures()["server_error"], "the API fails")
        facts = sources.facts(ref(OTHER))
        assert facts and (facts.container, facts.complete) == ("", False)
        assert sources.facts(ref(KNOWN)) == FROM_API
        sources.stop()

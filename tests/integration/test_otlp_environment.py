"""The standard variables, given to `serve`: where to, with what, and the config over them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter import __version__
from exporter.model.host import read_host
from tests.caller import Caller, caller
from tests.harness import Exporter, exporter
from tests.unit.otlp_readers import plain
from tests.unit.otlp_server import Got, OtlpServer, otlp_server

SIGNALS = {"/v1/metrics", "/v1/traces"}


def text(it: Caller, **otlp: Any) -> str:
    """Spans of single calls, and of intervals: so there is something to send of both signals."""
    spans = {"syscalls": ["getppid"], "processes": True}
    target = {"name": "it", "pid": it.pid, "spans": spans, "static_labels": {"team": "x"}}
    return json.dumps({"otlp": {"metrics": True, "traces": True, **otlp}, "targets": [target]})


def url(server: OtlpServer, path: str = "") -> str:
    return f"http://127.0.0.1:{server.port}{path}"


def live(config: str, it: Caller) -> Exporter:
    """A short life, in which there is something to send."""
    with exporter(config) as running:
        it.call(13)
        found = running.scrape().all("proctree_syscalls_total", target="it", syscall="getppid")
        assert list(found.values()) == [13]
        assert running.stop() == 0
        assert "level=error" not in running.log
        return running


def paths(server: OtlpServer) -> set[str]:
    return {got.path for got in server.got}


@pytest.fixture(autouse=True)
def _no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says stays out."""
    for name in (f"{proxy}_proxy" for proxy in ("http", "https", "all")):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_all_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoint, headers and compression of both."""
    with otlp_server() as server, caller() as it:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url(server, "/base"))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b,X-Other=c")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        live(text(it), it)
        assert paths(server) == {f"/base{path}" for path in SIGNALS}
        for got in server.got:
            assert (got.headers["x-key"], got.headers["x-other"]) == ("a b", "c")
            assert got.headers["content-encoding"] == "gzip"
            assert got.headers["content-type"] == "application/x-protobuf"


def test_each_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of one goes before what is said of both; its endpoint is taken as it is."""
    with otlp_server() as server, otlp_server() as other, caller() as it:
        for name, value in {
            "ENDPOINT": url(server), "HEADERS": "all=yes", "TRACES_ENDPOINT": url(other, "/mine"),
            "TRACES_HEADERS": "only=spans", "METRICS_COMPRESSION": "gzip",
        }.items():  # fmt: skip
            monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{name}", value)
        live(text(it), it)
        assert (paths(server), paths(other)) == ({"/v1/metrics"}, {"/mine"})
        assert all(got.headers["all"] == "yes" for got in server.got)
        assert all(got.headers["content-encoding"] == "gzip" for got in server.got)
        assert all("all" not in got.headers for got in other.got)
        assert all(got.headers["only"] == "spans" for got in other.got)
        assert all("content-encoding" not in got.headers for got in other.got)


def test_the_config_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key by key, also before what is said of one signal."""
    with otlp_server() as server, otlp_server() as other, caller() as it:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url(other))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url(other))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "key=environment")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        live(text(it, endpoint=url(server), headers={"key": "config"}), it)
        assert other.got == []
        assert paths(server) == SIGNALS
        assert {got.headers["key"] for got in server.got} == {"config"}
        assert {got.headers["content-encoding"] for got in server.got} == {"gzip"}


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("OTEL_SDK_DISABLED", "true", set[str]()),
        ("OTEL_TRACES_EXPORTER", "none", {"/v1/metrics"}),
        ("OTEL_METRICS_EXPORTER", "none", {"/v1/traces"}),
    ],
)
def test_what_is_off(
    name: str, value: str, sent: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is not sent; counting and scraping go on."""
    monkeypatch.setenv(name, value)
    with otlp_server() as server, caller() as it:
        live(text(it, endpoint=url(server)), it)
        assert paths(server) == sent


def test_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the deployment says of the machine holds for all; what it says of itself, for itself."""
    attributes = {
        "deployment.environment.name": "test", "host.name": "node-7", "service.version": "9",
        "k8s.cluster.name": "c%2C1", "k8s.pod.name": "exporter-1", "team": "y",
    }  # fmt: skip
    listed = ",".join(f"{key}={value}" for key, value in attributes.items())
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", listed)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "watcher")
    host = read_host(Path("/"), Path("/proc")).id
    everywhere = {
        "deployment.environment.name": "test", "host.name": "node-7", "host.id": host,
        "k8s.cluster.name": "c,1",
    }  # fmt: skip
    with otlp_server() as server, caller() as it:
        live(text(it, endpoint=url(server)), it)
        found = resources(server.got)
        own = {
            **everywhere, "service.name": "watcher", "service.instance.id": host,
            "service.version": "9", "k8s.pod.name": "exporter-1", "team": "y",
        }  # fmt: skip
        tree = {
            **everywhere, "service.name": "it", "service.instance.id": f"{host}:it,team=x",
            "process.pid": it.pid, "team": "x",
        }  # fmt: skip
        assert found["/v1/metrics"] == {"watcher": own, "it": tree}
        assert found["/v1/traces"] == {"it": tree}
        scopes = {
            (scope.scope.name, scope.scope.version)
            for got in server.got
            if got.path == "/v1/traces"
            for of_resource in got.traces.resource_spans
            for scope in of_resource.scope_spans
        }
        assert scopes == {("proctree-exporter", __version__)}


def resources(requests: list[Got]) -> dict[str, dict[str, dict[str, Any]]]:
    """By path and service; all of one service must be equal."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for got in requests:
        traces = got.path == "/v1/traces"
        for one in got.traces.resource_spans if traces else got.metrics.resource_metrics:
            attributes = plain(one.resource.attributes)
            of_path = found.setdefault(got.path, {})
            assert of_path.setdefault(attributes["service.name"], attributes) == attributes
    return found

"""The server as clients find it, over real sockets: its pages, its start and its end."""

from __future__ import annotations

import gzip
import json
import logging
import threading
import time

import pytest

from exporter.errors import ConfigError, KernelError, Problem, ServiceError, UsageError
from exporter.model.snapshot import Snapshot
from exporter.publish.exposition import Exposition
from exporter.publish.flags import Flags
from exporter.publish.listen import Address
from exporter.publish.server import Server
from exporter.publish.site import Site
from tests.unit import http_client
from tests.unit.http_client import Client, FakeExporter, Serve, get
from tests.unit.publish_samples import snapshot

serve = http_client.serve


def test_the_formats_by_negotiation(serve: Serve) -> None:
    """Text without a wish, the others on demand, gzip where it is accepted; no query matters."""
    server, _ = serve()
    plain = get(server, "/metrics?x=1&collect[]=y")
    assert plain.status == 200
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert plain.headers["vary"] == "Accept, Accept-Encoding"
    assert "content-encoding" not in plain.headers
    assert b"\nproctree_syscalls_total{" in plain.body
    assert b"\nprocess_cpu_seconds_total " in plain.body
    openmetrics = get(server, "/metrics", Accept="application/openmetrics-text;version=1.0.0")
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text; version=1")
    assert openmetrics.body.endswith(b"# EOF\n")
    protobuf = get(
        server, "/metrics", Accept="application/vnd.google.protobuf;"
        "proto=io.prometheus.client.MetricFamily;encoding=delimited"
    )  # fmt: skip
    assert protobuf.headers["content-type"].startswith("application/vnd.google.protobuf; proto=")
    zipped = get(server, "/metrics", Accept_Encoding="gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert b"\nproctree_syscalls_total{" in gzip.decompress(zipped.body)


def test_head_says_the_same_without_the_body(serve: Serve) -> None:
    """And the connection goes on after it."""
    server, _ = serve()
    client = Client(server.address)
    for path in ("/metrics", "/", "/-/healthy", "/-/ready"):
        head = client.get(path, "HEAD")
        full = client.get(path)
        assert (head.status, full.status) == (200, 200)
        if path != "/metrics":  # whose length depends on the digits of process_cpu_seconds_total
            assert head.headers["content-length"] == full.headers["content-length"]


def test_not_ready(serve: Serve) -> None:
    """503 from /-/ready and /metrics until the first sync is done; healthy all along."""
    server, exporter = serve(is_ready=False)
    assert get(server, "/-/ready").status == 503
    assert get(server, "/metrics").status == 503
    assert get(server, "/-/healthy").status == 200
    exporter.is_ready = True
    assert get(server, "/-/ready").status == 200
    assert get(server, "/metrics").status == 200


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/nothing", "GET", 404), ("/metrics/", "GET", 404), ("/metrics", "POST", 405),
     ("/metrics", "DELETE", 405), ("/-/reload", "GET", 405), ("/-/reload", "POST", 403),
     ("/api/v1/targets", "GET", 403), ("/", "PUT", 405)],
)  # fmt: skip
def test_refusals(serve: Serve, path: str, method: str, status: int) -> None:
    """One clear line, and the connection is still good."""
    server, exporter = serve()
    client = Client(server.address)
    answer = client.get(path, method)
    assert answer.status == status
    assert answer.body.count(b"\n") == 1
    assert ("allow" in answer.headers) is (status == 405)
    assert exporter.reloads == 0
    assert client.get("/-/healthy").status == 200


def test_reload(serve: Serve) -> None:
    """POST reloads where it is allowed; what is wrong with the config comes back in full."""
    server, exporter = serve(Flags(lifecycle=True))
    assert get(server, "/-/reload", "POST").status == 200
    assert exporter.reloads == 1
    problems = [Problem("a.yaml", 1, 1, "this"), Problem("a.yaml", 2, 1, "that")]
    exporter.reload_error = ConfigError(problems)
    answer = get(server, "/-/reload", "POST")
    assert answer.status == 500
    assert answer.body == b"failed to reload config: a.yaml:1:1: this\na.yaml:2:1: that\n"
    assert get(server, "/-/reload").status == 405


def test_index_and_api(serve: Serve) -> None:
    """The page links the rest; details and the API only where they are allowed."""
    server, _ = serve(Flags(telemetry_path="/m"))
    page = get(server, "/")
    assert page.headers["content-type"].startswith("text/html")
    assert b'href="/m"' in page.body
    assert b"ci" not in page.body
    assert get(server, "/m").status == 200
    assert get(server, "/metrics").status == 404
    server, _ = serve(Flags(api=True))
    assert b"<td>&lt;ci&gt;</td>" in get(server, "/").body
    answer = get(server, "/api/v1/targets")
    assert json.loads(answer.body)["data"] == [{"target": "<ci>", "up": True}]


@pytest.mark.parametrize("path", ["metrics", "", "/-/ready", "/a?b", '/"'])
def test_telemetry_paths_that_cannot_be(path: str) -> None:
    """UsageError: the exit status is 2."""
    with pytest.raises(UsageError, match="telemetry-path"):
        Flags(telemetry_path=path)


@pytest.mark.parametrize("error", [KernelError("no map"), ValueError("two\nlines"), MemoryError()])
def test_a_snapshot_that_fails(
    serve: Serve, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """500 with one line, one line in the log, no traceback; the next scrape is tried again."""

    def fail() -> Snapshot:
        raise error

    server, exporter = serve(says=fail)
    client = Client(server.address)
    answer = client.get("/metrics")
    assert answer.status == 500
    assert answer.body.count(b"\n") == 1
    assert [r.levelno for r in caplog.records] == [logging.ERROR]
    assert caplog.records[0].exc_info is None
    exporter.says = snapshot
    assert client.get("/metrics").status == 200


def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    """Hundreds at once, quick ones and slow ones mixed."""
    server, _ = serve()
    client = Client(server.address)
    paths = ["/-/healthy", "/nothing", "/"] * 200 + ["/metrics"]
    client.send("".join(f"GET {path} HTTP/1.1\r\n\r\n" for path in paths).encode())
    statuses = [client.answer().status for _ in paths]
    assert statuses == [200, 404, 200] * 200 + [200]


def test_stop_closes_everything_at_once(serve: Serve) -> None:
    """Open connections, half requests, a scrape under way: well under a second."""
    go = threading.Event()
    server, _ = serve(says=lambda: (go.wait(5), snapshot())[1])
    idle, half, busy = (Client(server.address) for _ in range(3))
    idle.get("/-/healthy")
    half.send(b"GET /")
    busy.send(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert get(server, "/-/healthy").status == 200
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 0.5
    assert idle.closed()
    assert half.closed()
    assert busy.closed()
    with pytest.raises(OSError, match="refused"):
        Client(server.address)
    go.set()
    server.stop()


def test_a_port_in_use_is_one_clear_line() -> None:
    """ServiceError that names the address; a server that was never started can be stopped."""
    site = Site(FakeExporter(), Exposition(), Flags())
    first = Server(Address("127.0.0.1", 0), site)
    with pytest.raises(ServiceError) as caught:
        Server(first.address, site)
    assert f"127.0.0.1:{first.address.port}: Address already in use" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ServiceError, match=r"cannot listen on 203\.0\.113\.1:9847"):
        Server(Address("203.0.113.1", 9847), site)
    with pytest.raises(ServiceError, match=r"cannot listen on no\.such\.host\.invalid:1"):
        Server(Address("no.such.host.invalid", 1), site)
    first.stop()


def test_all_interfaces_means_both_families() -> None:
    """`:9847` answers on IPv4 and, where there is such a thing, on IPv6."""
    server = Server(Address("", 0), Site(FakeExporter(), Exposition(), Flags()))
    server.start()
    hosts = ["127.0.0.1"]
    if ":" in server.address.host:
        hosts.append("::1")
    for host in hosts:
        client = Client(Address(host, server.address.port))
        assert client.get("/-/healthy").status == 200
    server.stop()

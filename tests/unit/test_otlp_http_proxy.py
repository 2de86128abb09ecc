"""The standard variables for HTTP proxies."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from exporter.errors import ServiceError
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import Outcome
from exporter.publish.otlp.proxy import Proxy, proxy_for
from tests.integration.kube.certificates import authority, signed
from tests.unit.otlp_delivery import LONG_NS, names, request
from tests.unit.otlp_server import otlp_server

NAME = "collector.example"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"http_proxy": ""}, None),
        ({"https_proxy": "http://p:1"}, None),
        ({"http_proxy": "http://p:1"}, Proxy("p", 1, "")),
        ({"HTTP_PROXY": "http://p:1"}, Proxy("p", 1, "")),
        ({"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:2"}, Proxy("p", 1, "")),
        ({"http_proxy": "p:1"}, Proxy("p", 1, "")),
        ({"http_proxy": "http://[::1]"}, Proxy("::1", 80, "")),
        ({"http_proxy": "http://a:b%40@p:1/"}, Proxy("p", 1, "Basic YTpiQA==")),
    ],
)
def test_variables(variables: dict[str, str], expected: Proxy | None) -> None:
    assert proxy_for("http", NAME, variables) == expected


@pytest.mark.parametrize(
    ("no_proxy", "host", "spared"),
    [
        ("*", NAME, True), ("example", NAME, True), (".example", NAME, True),
        ("*.example", NAME, True), (NAME, NAME, True), ("ample", NAME, False), ("", NAME, False),
        ("a, ,Example ", NAME, True), ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False), ("10.1.2.3", "10.1.2.3", True),
        ("fd00::/8", "fd00::1", True), ("10.0.0.0/8", NAME, False), ("10.0.0.0/99", NAME, False),
    ],
)  # fmt: skip
def test_no_proxy(no_proxy: str, host: str, spared: bool) -> None:
    variables = {"http_proxy": "http://p:1", "NO_PROXY": no_proxy}
    assert (proxy_for("http", host, variables) is None) == spared


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_this_machine(host: str) -> None:
    """A proxy does not know what it would find there."""
    assert proxy_for("http", host, {"http_proxy": "http://p:1"}) is None


@pytest.mark.parametrize(
    "url", ["https://u:secret@p", "socks5://u:secret@p", "http://", "http://p:x"]
)
def test_bad_proxy(url: str) -> None:
    with pytest.raises(ServiceError, match="HTTP_PROXY") as caught:
        HttpTransport(Endpoint(f"http://{NAME}/v1/traces"), {"http_proxy": url})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("where", [NAME, f"{NAME}:4318", "[fd00::1]:4318"])
def test_plain(where: str) -> None:
    """The proxy is asked for the whole URL; a password of its own it gets, too."""
    with otlp_server() as proxy:
        variables = {"http_proxy": f"http://u:p@127.0.0.1:{proxy.port}"}
        transport = HttpTransport(Endpoint(f"http://{where}/v1/traces"), variables)
        assert transport.send(request(), LONG_NS) == Outcome(True)
        (got,) = proxy.got
        assert (got.path, got.headers["host"]) == (f"http://{where}/v1/traces", where)
        assert got.headers["proxy-authorization"] == "Basic dTpw"


def test_tunnel(tmp_path: Path) -> None:
    """Through the tunnel all is encrypted, for the backend's name; the password stays outside."""
    ca = authority(tmp_path, "ca")
    with (
        otlp_server(signed(tmp_path, "server", by=ca, names=f"DNS:{NAME}")) as server,
        tunnels(server.port) as (port, asked),
    ):
        endpoint = Endpoint(f"https://{NAME}/v1/traces", certificate=str(ca.certificate))
        variables = {"https_proxy": f"http://u:p@127.0.0.1:{port}"}
        transport = HttpTransport(endpoint, variables)
        for _ in range(2):
            assert transport.send(request(), LONG_NS) == Outcome(True)
        assert asked == [(f"{NAME}:443", "Basic dTpw")]
        assert [names(got.spans) for got in server.got] == [["span-0"]] * 2
        assert "proxy-authorization" not in server.got[0].headers


@pytest.mark.parametrize(("code", "reason"), [(407, "unauthorized"), (502, "unreachable")])
def test_refused(code: int, reason: str) -> None:
    with tunnels(0, code) as (port, _):
        transport = HttpTransport(
            Endpoint(f"https://{NAME}/v1/traces"), {"https_proxy": f"127.0.0.1:{port}"}
        )
        outcome = transport.send(request(), LONG_NS)
        assert (outcome.taken, outcome.reason, outcome.retryable) == (False, reason, True)
        assert f"the proxy answers HTTP {code}" in outcome.text


@contextmanager
def tunnels(to: int, code: int = 200) -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """A proxy whose tunnels all lead to one port here: its own port, and what it was asked for."""
    asked = []

    class Request(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append((self.path, self.headers["Proxy-Authorization"]))
            self.send_response(code)
            self.end_headers()
            if code == 200:
                with socket.create_connection(("127.0.0.1", to)) as there:
                    relay(self.connection, there)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()
        thread.join()


def relay(one: socket.socket, other: socket.socket) -> None:
    while True:
        for it in select.select([one, other], [], [])[0]:
            data = it.recv(65536)
            if not data:
                return
            (other if it is one else one).sendall(data)

"""A hand-written API server that answers what a test tells it to, right or wrong."""

from __future__ import annotations

import json
import queue
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from exporter.metadata.kubernetes.settings import Server
from tests.integration.kube.certificates import Pair

Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


class Asked:
    """A request: its query, as the server saw it, and its headers."""

    def __init__(self, path: str, headers: Mapping[str, str]) -> None:
        self.path, self.headers = urlsplit(path).path, headers
        self.query = dict(parse_qsl(urlsplit(path).query))


class KubeServer:
    """Gives its answers one after the other; to more requests than there are answers, 500."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[Asked] = []
        self.answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.over = threading.Event()

    def will(self, *answers: Answer) -> None:
        for answer in answers:
            self.answers.put(answer)

    def where(self, **others: Any) -> Server:
        """How to reach it; without TLS, if nothing else is said."""
        given = {"tls": False, "token_file": None, "ca_file": None, **others}
        return Server(host="127.0.0.1", port=self.port, prefix="", node="node-1", **given)


@contextmanager
def kube_server(pair: Pair | None = None) -> Iterator[KubeServer]:
    """One that runs; with a certificate, it speaks TLS."""

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            it.asked.append(Asked(self.path, dict(self.headers)))
            self.close_connection = True
            try:
                answer = it.answers.get_nowait()
            except queue.Empty:
                answer = status(500, "no answer is left")
            with suppress(OSError):  # who asked has gone
                answer(self)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if pair:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    it = KubeServer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield it
    finally:
        it.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def raw(body: bytes, status: int = 200, length: int | None = None, **headers: str) -> Answer:
    """Just these bytes, and the end of the connection; `length` is what the header says."""

    def answer(to: Handler) -> None:
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), value)
        if length is not None:
            to.send_header("Content-Length", str(length))
        to.end_headers()
        to.wfile.write(body)

    return answer


def status(code: int, message: str, **headers: str) -> Answer:
    body = json.dumps({"kind": "Status", "code": code, "message": message}).encode()
    return raw(body, code, len(body), **headers)


def pod(uid: str, **metadata: Any) -> dict[str, Any]:
    """With a container that runs, whose id is `c-` and the UID."""
    return {
        "metadata": {"uid": uid, "name": f"pod-{uid}", "namespace": "default", **metadata},
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "main:1"}]},
        "status": {
            "containerStatuses": [
                {"name": "main", "image": "main:1", "containerID": f"containerd://c-{uid}"}
            ]
        },
    }


def listed(*pods: Mapping[str, Any], version: str = "100", more: str = "") -> Answer:
    metadata = {"resourceVersion": version, **({"continue": more} if more else {})}
    body = json.dumps({"kind": "PodList", "metadata": metadata, "items": pods}).encode()
    return raw(body, length=len(body))


def event(kind: str, it: Mapping[str, Any], version: str = "") -> bytes:
    if version:
        it = {**it, "metadata": {**it.get("metadata", {}), "resourceVersion": version}}
    return json.dumps({"type": kind, "object": it}).encode() + b"\n"


def watched(server: KubeServer, *lines: bytes, then: str = "wait", after_s: float = 0) -> Answer:
    """In chunks, one for each line; then `wait` until the server is over, `end`, or `break`."""

    def answer(to: Handler) -> None:
        to.send_response(200)
        to.send_header("Transfer-Encoding", "chunked")
        to.end_headers()
        for line in lines:
            to.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            to.wfile.flush()
        server.over.wait(None if then == "wait" else after_s)
        if then == "end":
            to.wfile.write(b"0\r\n\r\n")

    return answer

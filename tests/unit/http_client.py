"""A fake exporter behind a real server, and a client that may behave as badly as it likes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from exporter.model.snapshot import Snapshot
from exporter.publish.connection import Limits
from exporter.publish.exposition import Exposition
from exporter.publish.flags import Flags
from exporter.publish.listen import Address
from exporter.publish.server import Server
from exporter.publish.site import Site
from tests.unit.publish_samples import snapshot


@dataclass
class FakeExporter:
    """An exporter that says what it is told to."""

    is_ready: bool = True
    says: Callable[[], Snapshot] = snapshot
    reloads: int = 0
    reload_error: Exception | None = None
    found: list[dict[str, Any]] = field(default_factory=lambda: [{"target": "<ci>", "up": True}])

    def ready(self) -> bool:
        return self.is_ready

    def snapshot(self) -> Snapshot:
        return self.says()

    def reload(self) -> None:
        self.reloads += 1
        if self.reload_error:
            raise self.reload_error

    def targets(self) -> list[dict[str, Any]]:
        return self.found


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A client that sends what it is given, byte by byte if need be."""

    def __init__(self, address: Address) -> None:
        self.sock = socket.create_connection((address.host, address.port), timeout=5)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, *, head_only: bool = False) -> Answer:
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        length = 0 if head_only else int(headers["content-length"])
        while len(self.buffer) < length:
            self._more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(int(first.split()[1]), headers, body)

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode())
        return self.answer(head_only=method == "HEAD")

    def closed(self) -> bool:
        """Whether the server has closed; waits for it at most the socket's timeout."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def _more(self) -> None:
        data = self.sock.recv(1 << 16)
        if not data:
            raise EOFError("the server closed")
        self.buffer += data


Serve = Callable[..., tuple[Server, FakeExporter]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers on free ports; after the test, none of their threads is left."""
    servers: list[Server] = []
    before = set(threading.enumerate())

    def start(
        flags: Flags | None = None, limits: Limits | None = None, **said: Any
    ) -> tuple[Server, FakeExporter]:
        exporter = FakeExporter(**said)
        site = Site(exporter, Exposition(), flags or Flags())
        server = Server(Address("127.0.0.1", 0), site, limits)
        server.start()
        servers.append(server)
        return server, exporter

    yield start
    for server in servers:
        server.stop()
    deadline = time.monotonic() + 2
    while set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, "a thread of the server is left"
        time.sleep(0.01)


def get(server: Server, path: str, method: str = "GET", **headers: str) -> Answer:
    return Client(server.address).get(path, method, **headers)

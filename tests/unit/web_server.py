"""A server with a web config, and clients that bring what it asks of them."""

from __future__ import annotations

import base64
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from exporter.config.web import load
from exporter.model.snapshot import Snapshot
from exporter.publish.connection import Limits
from exporter.publish.exposition import Exposition
from exporter.publish.flags import Flags
from exporter.publish.listen import Address
from exporter.publish.server import Server
from exporter.publish.site import Site
from exporter.publish.web.current import Current
from tests.integration.kube.certificates import Pair
from tests.unit.http_client import Answer, Client, FakeExporter
from tests.unit.publish_samples import call, snapshot

#: Of cost 4, the cheapest: "secret" and "hunter2".
ALICE = "$2b$04$LlrPmjB/7Yh2VSc6pFwxf.3gL/NFYtz/NNL/4B92j6jzJNA3pvBxi"
BOB = "$2y$04$odne4iCJxJNmb427LwVCw.b6eiEDEYDNVDzey4RsIbL5znFMMCuMe"


@dataclass
class Web:
    """One that runs; `file` is its web config."""

    server: Server
    exporter: FakeExporter
    file: Path
    current: Current

    def connect(
        self, trusted: Pair | None = None, own: Pair | None = None,
        context: ssl.SSLContext | None = None,
    ) -> Client:  # fmt: skip
        """Without `trusted` in clear text. Raises OSError where TLS does not come about."""
        client = Client(self.server.address)
        if trusted or context:
            context = context or trusting(trusted, own)
            client.sock = context.wrap_socket(client.sock, server_hostname="127.0.0.1")
        return client

    def ask(
        self, path: str = "/-/healthy", trusted: Pair | None = None, own: Pair | None = None,
        user: str | None = None, method: str = "GET",
    ) -> Answer:  # fmt: skip
        """One request on a connection of its own; `user` is name:password."""
        client = self.connect(trusted, own)
        try:
            return client.get(path, method, **authorization(user))
        finally:
            client.sock.close()


def trusting(ca: Pair | None, own: Pair | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca:
        context.load_verify_locations(ca.certificate)
    if own:
        context.load_cert_chain(own.certificate, own.key)
    return context


def authorization(user: str | None) -> dict[str, str]:
    if user is None:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}


@contextmanager
def web_server(
    file: Path, text: str, limits: Limits | None = None, flags: Flags | None = None
) -> Iterator[Web]:
    """Serves with this web config; after it, none of its threads is left."""
    file.write_text(text)
    before = set(threading.enumerate())
    exporter, current = FakeExporter(), Current(partial(load, str(file)))
    site = Site(exporter, Exposition(), flags or Flags())
    server = Server(Address("127.0.0.1", 0), site, limits, current)
    server.start()
    try:
        yield Web(server, exporter, file, current)
    finally:
        server.stop()
    deadline = time.monotonic() + 60
    while set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, "a thread of the server is left"
        time.sleep(0.01)


def big_snapshot() -> Snapshot:
    """Of some MB of text: more than a socket holds."""
    calls = [call(f"t{n}", f"call{m}", 5) for n in range(100) for m in range(60)]
    return replace(snapshot(), calls=calls, trees=[])


def tls(pair: Pair, more: str = "") -> str:
    """A web config with this certificate."""
    return f"tls_server_config:\n  cert_file: {pair.certificate}\n  key_file: {pair.key}\n{more}"

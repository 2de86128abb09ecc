"""Services as they stand on any machine, each with a client that has nothing to say."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from tests.caller import until
from tests.harness import PATIENCE_S, free_port

NGINX = shutil.which("nginx")
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
MISSING = None if NGINX and POSTGRES else "nginx or PostgreSQL is missing: use make test"

_NGINX = """
daemon off; error_log stderr; pid {folder}/nginx.pid; worker_processes 2;
events {{}}
http {{
  access_log off; keepalive_timeout 1h;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; return 200 "x"; }}
}}
"""
# A thread for each connection, which waits in `recvfrom` for the next request.
_PYTHON = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(204)
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
_GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def services() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """nginx, PostgreSQL and a Python server by name, each with a connection that stays open."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield {
            "nginx": stack.enter_context(_nginx(folder)),
            "postgres": stack.enter_context(_postgres(folder / "postgres")),
            "python": stack.enter_context(_python()),
        }


@contextmanager
def _nginx(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    assert NGINX
    config, port = folder / "nginx.conf", free_port()
    config.write_text(_NGINX.format(folder=folder, port=port))
    with running([NGINX, "-c", str(config), "-e", "stderr"]) as process, asked(port, _GET):
        yield process


@contextmanager
def _python() -> Iterator[subprocess.Popen[bytes]]:
    port = free_port()
    with running([sys.executable, "-c", _PYTHON, str(port)]) as process, asked(port, _GET):
        yield process


@contextmanager
def _postgres(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """As its user: it refuses to run as root."""
    assert POSTGRES
    folder.mkdir()
    shutil.chown(folder, "postgres", "postgres")
    data, port = folder / "data", free_port()
    who = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": folder}
    make = [POSTGRES / "initdb", "--no-sync", "--auth=trust", "-D", data]
    subprocess.run(make, check=True, capture_output=True, **who)
    command = [
        POSTGRES / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", folder,
    ]  # fmt: skip
    psql = [POSTGRES / "psql", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres"]
    with running(command, **who) as process:
        hello = [*psql, "-c", "create table t as select generate_series(1, 1000)"]
        until(
            lambda: subprocess.run(hello, capture_output=True, **who).returncode == 0,
            "PostgreSQL answers", PATIENCE_S,
        )  # fmt: skip
        with running(psql, stdin=subprocess.PIPE, **who):
            yield process


@contextmanager
def asked(port: int, request: bytes) -> Iterator[socket.socket]:
    """A connection that has had one answer, and is kept open."""

    def connect() -> socket.socket | None:
        with suppress(ConnectionError):
            return socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        return None

    with closing(until(connect, f"somebody listens at port {port}", PATIENCE_S)) as connection:
        connection.sendall(request)
        assert connection.recv(4096).startswith(b"HTTP/1.1 20")
        yield connection


@contextmanager
def running(command: list[object], **how: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose output nobody wants; it is ended at the end, and may be gone by then."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [str(word) for word in command], **{"stdin": quiet, "stdout": quiet, "stderr": quiet, **how}
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()

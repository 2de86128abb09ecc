"""`--web.config.file` on the real exporter: a real Prometheus scrapes it with TLS, a certificate of
its own and a password, exactly, while certificates change and others misbehave."""

from __future__ import annotations

import base64
import shutil
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import pytest

from tests.caller import Caller, caller, until
from tests.harness import COMMAND, ROOT, Exporter, Scrape, exporter
from tests.integration import test_prometheus
from tests.integration.kube.certificates import Pair, authority, signed
from tests.integration.test_prometheus import prometheus

PASSWORD = "correct horse"
BASIC = {"Authorization": "Basic " + base64.b64encode(f"prometheus:{PASSWORD}".encode()).decode()}
SUCCESSFUL = "proctree_exporter_config_last_reload_successful"
WEB_CONFIG = """
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: clients.crt
  client_allowed_sans: [prometheus.example]
basic_auth_users:
  prometheus: {hash}
"""
#: As test_prometheus.CONFIG, which gets an {address}.
SCRAPED = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: proctree
    scheme: https
    tls_config: {{ca_file: TRUSTED, cert_file: CERTIFICATE, key_file: KEY}}
    basic_auth: {{username: prometheus, password: SECRET}}
    static_configs: [{{targets: ["{address}"]}}]
"""


def replace_file(path: Path, content: bytes) -> None:
    """As those do it who write certificates: it is there whole, or not yet."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.rename(path)


@dataclass
class Secured:
    """A running exporter, and what opens it."""

    running: Exporter
    it: Caller
    folder: Path
    ca: Pair
    client: Pair

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca.certificate)
        context.load_cert_chain(self.client.certificate, self.client.key)
        return context

    def get(self, path: str = "/metrics") -> bytes:
        """On a new connection, as each time."""
        request = urllib.request.Request(f"https://{self.running.address}{path}", headers=BASIC)
        with urllib.request.urlopen(request, timeout=60, context=self.context()) as response:
            return bytes(response.read())

    def scrape(self) -> Scrape:
        return Scrape(self.get().decode())

    def serial(self) -> object:
        """Of the certificate that it shows."""
        host, _, port = self.running.address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=60) as raw,
            self.context().wrap_socket(raw, server_hostname=host) as connection,
        ):
            certificate = connection.getpeercert()
            assert certificate
            return certificate["serialNumber"]

    def clients(self) -> set[str]:
        """Addresses of those whose connections are established: /proc/net/tcp, state 1."""
        port = f":{int(self.running.address.rpartition(':')[2]):04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {row[1] for row in rows if row[2].endswith(port) and row[3] == "01"}

    def rotate(self, number: int) -> None:
        """A new certificate, by way of the moment when it is there without its key."""
        new = signed(self.folder, f"server-{number}", by=self.ca)
        replace_file(self.folder / "server.crt", new.certificate.read_bytes())
        self.get("/-/healthy")
        replace_file(self.folder / "server.key", new.key.read_bytes())

    def still_exact(self) -> bool:
        before = self.scrape().calls("it", "getppid")
        self.it.call(1009)
        assert "Traceback" not in self.running.log
        return self.scrape().calls("it", "getppid") - before == 1009


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("web")
    ca = authority(folder, "ca")
    signed(folder, "server", by=ca)
    client = signed(folder, "client", by=ca, names="DNS:prometheus.example")
    shutil.copy(ca.certificate, folder / "clients.crt")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(8)).decode()
    web = folder / "web.yml"
    web.write_text(WEB_CONFIG.format(hash=hashed))
    with caller() as it:
        config = f"[{{name: it, pid: {it.pid}}}]"
        with exporter(config, f"--web.config.file={web}", ready=False) as running:
            found = Secured(running, it, folder, ca, client)
            until(lambda: is_ready(found), "it is ready")
            yield found
            assert running.stop() == 0
            assert "Traceback" not in running.log
            assert PASSWORD not in running.log
            assert hashed not in running.log


def is_ready(secured: Secured) -> bool:
    assert secured.running.process.poll() is None, secured.running.log
    with suppress(OSError):
        return secured.get("/-/ready") == b"proctree-exporter is ready.\n"
    return False


def test_what_is_told_at_the_start(secured: Secured) -> None:
    where = f" on https://{secured.running.address}/metrics"
    until(lambda: where in secured.running.log, "it says where it is")
    for url in ("http", "https"):
        with pytest.raises(OSError):
            urllib.request.urlopen(f"{url}://{secured.running.address}/metrics", timeout=60)
    assert secured.still_exact()


@contextmanager
def scraping(secured: Secured, folder: Path) -> Iterator[test_prometheus.Prometheus]:
    """A Prometheus that trusts the file trusted.crt in `folder`."""
    trusted = folder / "trusted.crt"
    shutil.copy(secured.ca.certificate, trusted)
    config = SCRAPED
    for name, value in (
        ("TRUSTED", trusted), ("CERTIFICATE", secured.client.certificate),
        ("KEY", secured.client.key), ("SECRET", PASSWORD),
    ):  # fmt: skip
        config = config.replace(name, str(value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_prometheus, "CONFIG", config)
        with prometheus(secured.running, folder) as server:
            yield server


@pytest.mark.skipif(test_prometheus.BINARY is None, reason="prometheus is not on PATH: make test")
def test_prometheus_while_certificates_change(secured: Secured, tmp_path: Path) -> None:
    """No scrape fails, though each is on a new connection and meets another certificate; and what
    is scraped is exact."""
    begin = secured.scrape().calls("it", "getppid")
    with scraping(secured, tmp_path) as server:
        until(lambda: server.query("up == 1"), "Prometheus has scraped")
        scrapes = "count_over_time(up[10m])"
        seen, connections = {secured.serial()}, set[str]()
        for number in range(8):
            secured.rotate(number)
            until(lambda: secured.serial() not in seen, "it shows the new one")
            seen.add(secured.serial())
            # Prometheus connects anew when the authorities that it trusts are in another file.
            bundle = secured.ca.certificate.read_bytes() + b"#" * number + b"\n"
            replace_file(tmp_path / "trusted.crt", bundle)
            secured.it.call(1009)
            before = server.one(scrapes)
            until(lambda: server.one(scrapes) > before, "it has scraped again")  # noqa: B023
            connections |= secured.clients()
        assert len(seen) == 9
        assert len(connections) >= 8
        total = begin + 8 * 1009
        counter = f'proctree_syscalls_total{{target="it",syscall="getppid"}} == {total}'
        until(lambda: server.query(counter), "it has scraped all calls")
        assert server.query("count_over_time((up == 0)[10m:100ms])") == []
        (target,) = server.get("/api/v1/targets")["data"]["activeTargets"]
        assert (target["health"], target["lastError"]) == ("up", "")
        assert server.complaints() == []


def test_a_broken_file_is_told(secured: Secured) -> None:
    """The one before still holds, and a metric says that it is not the one that is there."""
    web = secured.folder / "web.yml"
    good = web.read_bytes()
    assert secured.scrape().value(SUCCESSFUL) == 1
    for bad in (b"", b"tls_server_config: {", good.partition(b"basic_auth_users")[0]):
        replace_file(web, bad)
        until(lambda: secured.scrape().value(SUCCESSFUL) == 0, "it is told")
        assert secured.still_exact()
    assert "basic_auth_users: no longer asked for; restart the exporter" in secured.running.log
    replace_file(web, good)
    until(lambda: secured.scrape().value(SUCCESSFUL) == 1, "it is mended")


HOSTILE = {
    "nothing": b"",
    "the begin of a handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a record of nothing": b"\x16\x03\x01\x00\x00" * 1000,
    "a request in clear text": b"GET /metrics HTTP/1.1\r\n\r\n",
    "half a request in clear text": b"GET /metr",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "10 MB of zeros": b"\0" * 10_000_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_two_hundred_without_manners(data: bytes, secured: Secured) -> None:
    """Open, and with that said: the next scrape still answers, and counts exactly."""
    host, _, port = secured.running.address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(200 if len(data) < 100_000 else 3):
            connection = socket.create_connection((host, int(port)), timeout=60)
            stack.enter_context(connection)
            with suppress(ConnectionError):
                connection.sendall(data)
        assert secured.still_exact()
    assert secured.still_exact()


def test_those_who_guess_hold_up_nobody(secured: Secured) -> None:
    """A hundred wrong passwords at once, with the right certificate."""
    host, _, port = secured.running.address.rpartition(":")
    context = secured.context()
    with ExitStack() as stack:
        for number in range(100):
            raw = socket.create_connection((host, int(port)), timeout=60)
            guess = stack.enter_context(context.wrap_socket(raw, server_hostname=host))
            header = base64.b64encode(b"prometheus:%d" % number)
            guess.sendall(b"GET / HTTP/1.1\r\nAuthorization: Basic " + header + b"\r\n\r\n")
        assert secured.still_exact()
    assert secured.still_exact()


def ended(*flags: str) -> tuple[int, list[str]]:
    command = [*COMMAND, "serve", *flags, "--web.listen-address=127.0.0.1:0"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    return found.returncode, found.stderr.splitlines()


def test_a_file_that_cannot_be_meant(tmp_path: Path) -> None:
    """Exit status 2 and a line for each mistake, before anything is loaded into the kernel."""
    config, web = tmp_path / "config.yaml", tmp_path / "web.yml"
    config.write_text("[1]")
    web.write_text("tls_server_config:\n  cert_file: nowhere.crt\nbasic_auth_user: {}\n")
    status, lines = ended(f"--config.file={config}", f"--web.config.file={web}")
    assert status == 2
    assert [line.removeprefix(f"{web}:") for line in lines] == [
        "1:1: tls_server_config.key_file: expected the path of a file, or 'key' with its text",
        f"2:14: tls_server_config.cert_file: cannot read '{tmp_path}/nowhere.crt': No such file"
        " or directory",
        "3:1: unknown key 'basic_auth_user'; did you mean 'basic_auth_users'?",
    ]

"""Whom we trust over HTTPS, and who we say we are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from exporter.publish.otlp.http import HttpTransport
from exporter.publish.otlp.outcome import Outcome
from tests.integration.kube.certificates import Pair, signed
from tests.unit import certificates
from tests.unit.otlp_delivery import LONG_NS, names, request
from tests.unit.otlp_server import OtlpServer, otlp_server

folder = certificates.folder
ca = certificates.ca
other = certificates.other
pair = certificates.pair
client = certificates.client


def send(server: OtlpServer, ca: Pair | None, own: Pair | None = None) -> Outcome:
    endpoint = server.endpoint(
        certificate=str(ca.certificate) if ca else None,
        client_certificate=str(own.certificate) if own else None,
        client_key=str(own.key) if own else None,
    )
    return HttpTransport(endpoint, {}).send(request(), LONG_NS)


def test_tls(pair: Pair, ca: Pair) -> None:
    with otlp_server(pair) as server:
        transport = HttpTransport(server.endpoint(certificate=str(ca.certificate)), {})
        for _ in range(3):
            assert transport.send(request(), LONG_NS) == Outcome(True)
        assert server.connections == 1
        assert [names(got.spans) for got in server.got] == [["span-0"]] * 3


def test_wrong_authority(pair: Pair, other: Pair) -> None:
    """Nothing is said to whom we do not trust. It may be mended: to be sent again."""
    with otlp_server(pair) as server:
        for trusted in (other, None):
            outcome = send(server, trusted)
            assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "tls", True)
        assert server.got == []


def test_system_authorities(pair: Pair, ca: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.certificate))
    with otlp_server(pair) as server:
        assert send(server, None) == Outcome(True)


@pytest.mark.parametrize("names", ["IP:127.0.0.2", "DNS:collector.example"])
def test_wrong_name(names: str, ca: Pair, tmp_path: Path) -> None:
    with otlp_server(signed(tmp_path, "other", by=ca, names=names)) as server:
        assert (send(server, ca).reason, server.got) == ("tls", [])


def test_expired(ca: Pair, tmp_path: Path) -> None:
    with otlp_server(expired(tmp_path, by=ca)) as server:
        outcome = send(server, ca)
        assert (outcome.reason, server.got) == ("tls", [])
        assert "expired" in outcome.text


def expired(folder: Path, by: Pair) -> Pair:
    pair, asked = Pair(folder / "old.crt", folder / "old.key"), folder / "old.csr"
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    commands = (
        f"req -new -newkey rsa:2048 -nodes -subj /CN=old -keyout {pair.key} -out {asked}",
        f"x509 -req -in {asked} -CA {by.certificate} -CAkey {by.key} -CAcreateserial -days -1"
        f" -extfile {folder / 'names'} -out {pair.certificate}",
    )
    for command in commands:
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
    return pair


def test_client_certificate(pair: Pair, ca: Pair, client: Pair) -> None:
    with otlp_server(pair, clients=ca) as server:
        assert send(server, ca, client) == Outcome(True)
        assert len(server.got) == 1


def test_no_client_certificate(pair: Pair, ca: Pair, other: Pair, tmp_path: Path) -> None:
    """The backend wants one, and we have none or the wrong one."""
    with otlp_server(pair, clients=ca) as server:
        for own in (None, signed(tmp_path, "stranger", by=other)):
            outcome = send(server, ca, own)
            assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "tls", True)
        assert server.got == []


def test_no_tls(ca: Pair, pair: Pair) -> None:
    """One of the two speaks it, the other does not."""
    with otlp_server() as server:
        endpoint = server.endpoint(certificate=str(ca.certificate))
        endpoint = type(endpoint)(endpoint.url.replace("http:", "https:"))
        assert HttpTransport(endpoint, {}).send(request(), LONG_NS).reason == "tls"
    with otlp_server(pair) as server:
        endpoint = type(endpoint)(server.endpoint().url.replace("https:", "http:"))
        outcome = HttpTransport(endpoint, {}).send(request(), LONG_NS)
        assert outcome.reason in ("unreachable", "bad_answer")
        assert outcome.retryable


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_unreadable(text: str | None, pair: Pair, ca: Pair, client: Pair, tmp_path: Path) -> None:
    """Which file it is, is told; nothing is sent."""
    bad = tmp_path / "bad.pem"
    if text is not None:
        bad.write_text(text)
    with otlp_server(pair) as server:
        for trusted, own in (
            (Pair(bad, bad), None),
            (ca, Pair(bad, client.key)),
            (ca, Pair(client.certificate, bad)),
        ):
            outcome = send(server, trusted, own)
            assert (outcome.reason, outcome.retryable) == ("tls", True)
            assert str(bad) in outcome.text
        assert server.got == []


def test_passphrase(pair: Pair, ca: Pair, client: Pair, tmp_path: Path) -> None:
    """Nobody is asked for one."""
    locked = tmp_path / "locked.key"
    command = ["openssl", "rsa", "-aes128", "-passout", "pass:secret", "-in", str(client.key)]
    subprocess.run([*command, "-out", str(locked)], check=True, capture_output=True)
    with otlp_server(pair) as server:
        outcome = send(server, ca, Pair(client.certificate, locked))
        assert (outcome.reason, server.got) == ("tls", [])
        assert "which nobody can enter" in outcome.text


def test_rotated(pair: Pair, ca: Pair, other: Pair, tmp_path: Path) -> None:
    """The authority that counts is the one in the file at the time of the connection."""
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(other.certificate.read_bytes())
    with otlp_server(pair) as server:
        transport = HttpTransport(server.endpoint(certificate=str(trusted)), {})
        assert transport.send(request(), LONG_NS).reason == "tls"
        trusted.write_bytes(ca.certificate.read_bytes())
        assert transport.send(request(), LONG_NS) == Outcome(True)

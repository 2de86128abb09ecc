"""Whom we trust over gRPC with TLS, and who we say we are."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.publish.otlp.grpc import GrpcTransport
from exporter.publish.otlp.outcome import Outcome
from tests.integration.kube.certificates import Pair, authority, signed
from tests.unit import certificates
from tests.unit.otlp_delivery import LONG_NS, request
from tests.unit.otlp_grpc_server import grpc_server, ran, send

folder = certificates.folder
ca = certificates.ca
pair = certificates.pair


def test_tls(pair: Pair, ca: Pair) -> None:
    with grpc_server(pair) as server:
        assert send(server.endpoint(certificate=str(ca.certificate))) == Outcome(True)


def test_wrong_authority(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """It may be mended: to be sent again, by what is in the file then."""
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(authority(tmp_path, "other").certificate.read_bytes())
    with grpc_server(pair) as server:
        transport = GrpcTransport(server.endpoint(certificate=str(trusted)), "traces")
        outcome = transport.send(request(), LONG_NS)
        assert (outcome.taken, outcome.reason, outcome.retryable) == (False, "tls", True)
        assert send(server.endpoint()).reason == "tls"
        assert server.got == []
        trusted.write_bytes(ca.certificate.read_bytes())
        assert transport.send(request(), LONG_NS) == Outcome(True)
        transport.hang_up()


def test_system_authorities(pair: Pair, ca: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.certificate))
    with grpc_server(pair) as server:
        assert send(server.endpoint()) == Outcome(True)


def test_wrong_name(ca: Pair, tmp_path: Path) -> None:
    with grpc_server(signed(tmp_path, "x", by=ca, names="DNS:collector.example")) as server:
        assert send(server.endpoint(certificate=str(ca.certificate))).reason == "tls"
        assert server.got == []


def test_client_certificate(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    own = signed(tmp_path, "client", by=ca, names="DNS:client")
    with grpc_server(pair, clients=ca) as server:
        endpoint = server.endpoint(
            certificate=str(ca.certificate),
            client_certificate=str(own.certificate),
            client_key=str(own.key),
        )
        assert send(endpoint) == Outcome(True)
        outcome = send(server.endpoint(certificate=str(ca.certificate)))
        assert not outcome.taken
        assert outcome.reason in ("tls", "unreachable")
        assert len(server.got) == 1


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_unreadable(text: str | None, pair: Pair, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    if text is not None:
        bad.write_text(text)
    with grpc_server(pair) as server:
        outcome = send(server.endpoint(certificate=str(bad)))
        assert (outcome.reason, outcome.retryable) == ("tls", True)
        assert str(bad) in outcome.text


def test_quiet(pair: Pair, tmp_path: Path) -> None:
    """stderr is the log, which machines read: grpcio's library writes nothing to it."""
    other = authority(tmp_path, "other")
    with grpc_server(pair) as server:
        found = ran("grpc", server.endpoint().url, str(other.certificate))
        assert found == (b"tls True\n", b"")

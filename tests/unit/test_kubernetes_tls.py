"""Whom we trust, whom we tell our token, and that it stays a secret."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from exporter.metadata.kubernetes.client import Client
from exporter.metadata.kubernetes.failure import Failure
from tests.integration.kube.certificates import Pair, authority, signed
from tests.unit import certificates
from tests.unit.kube_server import kube_server, listed

SECRET = "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0"


folder = certificates.folder
ca = certificates.ca
pair = certificates.pair


def get(client: Client) -> None:
    with client.pods({}, idle_s=60, whole_s=60) as answer:
        answer.read()


def failure(client: Client) -> Failure:
    with pytest.raises(Failure) as caught:
        get(client)
    return caught.value


def test_tls(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """Token and CA are those that are in their files at the time of the request."""
    token, trusted = tmp_path / "token", tmp_path / "ca.crt"
    with kube_server(pair) as server:
        client = Client(server.where(tls=True, token_file=str(token), ca_file=str(trusted)))
        trusted.write_bytes(ca.certificate.read_bytes())
        for text in ("first", "second"):
            token.write_text(f"{text}\n")
            server.will(listed())
            get(client)
            assert server.asked[-1].headers["Authorization"] == f"Bearer {text}"
        trusted.write_bytes(authority(tmp_path, "another").certificate.read_bytes())
        assert failure(client).reason == "tls"
        assert len(server.asked) == 2


@pytest.mark.parametrize("names", ["IP:127.0.0.2", "DNS:kubernetes.default.svc"])
def test_name(names: str, ca: Pair, tmp_path: Path) -> None:
    """The right authority for the wrong server."""
    with kube_server(signed(tmp_path, "other", by=ca, names=names)) as server:
        found = failure(Client(server.where(tls=True, ca_file=str(ca.certificate))))
        assert (found.reason, server.asked) == ("tls", [])


def test_no_tls(ca: Pair) -> None:
    with kube_server() as server:
        client = Client(server.where(tls=True, ca_file=str(ca.certificate)))
        assert failure(client).reason == "tls"


def test_system_authorities(
    pair: Pair, ca: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are trusted where there is no CA file, and only there."""
    with kube_server(pair) as server:
        assert failure(Client(server.where(tls=True))).reason == "tls"
        monkeypatch.setenv("SSL_CERT_FILE", str(ca.certificate))
        server.will(listed())
        get(Client(server.where(tls=True)))
        another = authority(tmp_path, "another").certificate
        assert failure(Client(server.where(tls=True, ca_file=str(another)))).reason == "tls"


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_ca_file(text: str | None, pair: Pair, tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    if text is not None:
        path.write_text(text)
    with kube_server(pair) as server:
        found = failure(Client(server.where(tls=True, ca_file=str(path))))
        assert (found.reason, server.asked) == ("tls", [])
        assert str(path) in str(found)


@pytest.mark.parametrize(
    "text", [None, "", f"{SECRET}\n{SECRET}", f"{SECRET} x", f"{SECRET}ä", f"{SECRET}\x00"]
)
def test_token_file(
    text: str | None, pair: Pair, ca: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is no token is not sent, and not told."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "token"
    if text is not None:
        path.write_text(text)
    with kube_server(pair) as server:
        where = server.where(tls=True, token_file=str(path), ca_file=str(ca.certificate))
        found = failure(Client(where))
        assert (found.reason, server.asked) == ("unauthorized", [])
        assert str(path) in str(found)
        assert SECRET not in str(found) + caplog.text


def test_token_in_clear(tmp_path: Path) -> None:
    """A token never goes over a connection that is not encrypted."""
    (tmp_path / "token").write_text(SECRET)
    with kube_server() as server:
        server.will(listed())
        get(Client(server.where(token_file=str(tmp_path / "token"))))
        assert "Authorization" not in server.asked[0].headers

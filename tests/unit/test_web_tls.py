"""TLS as clients find it, over real sockets: who gets in, who does not, and who waits for whom."""

from __future__ import annotations

import logging
import socket
import ssl
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.publish.connection import Limits
from tests.integration.kube.certificates import Pair, signed
from tests.unit import certificates
from tests.unit.http_client import Client
from tests.unit.web_server import Web, big_snapshot, tls, trusting, web_server

folder, ca, other, pair, client = (
    certificates.folder, certificates.ca, certificates.other, certificates.pair, certificates.client
)  # fmt: skip

REQUIRED = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {}\n"


def refused(web: Web, trusted: Pair, own: Pair | None = None) -> str:
    """Why, as OpenSSL tells it. With TLS 1.3 a client hears of it only after its own part."""
    with pytest.raises((OSError, EOFError)) as caught:
        web.ask(trusted=trusted, own=own)
    return str(getattr(caught.value, "reason", None) or caught.value)


def test_encrypted(pair: Pair, ca: Pair, other: Pair, tmp_path: Path) -> None:
    """The site as without TLS, connections kept; and nobody has to trust us."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        found = web.connect(ca)
        for _ in range(3):
            assert found.get("/metrics").status == 200
        assert found.sock.version() == "TLSv1.3"  # type: ignore[attr-defined]
        found.sock.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            web.ask(trusted=other)
        assert web.ask(trusted=ca).status == 200


def test_clear_text_gets_an_answer(pair: Pair, tmp_path: Path) -> None:
    """As Go answers it, to its end; and nothing of the site."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        for method, path in (("GET", "/metrics"), ("POST", "/-/reload"), ("GET", "/" + "x" * 9999)):
            found = web.connect()
            answer = found.get(path, method)
            assert answer.status == 400
            assert answer.body == b"Client sent an HTTP request to an HTTPS server.\n"
            assert found.closed()


def test_a_large_answer_over_tls(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """Of many records, read bit by bit."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        web.exporter.says = big_snapshot
        found = web.connect(ca)
        found.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        chunks = iter(lambda: found.sock.recv(5000), b"")
        head, _, body = b"".join(chunks).partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert body.count(b"proctree_syscalls_total{") == 6000


def test_versions_and_suites(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """What the file does not have is not spoken."""
    suites = "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]\n"
    with web_server(tmp_path / "web.yml", tls(pair, suites)) as web:
        found = web.connect(ca)
        assert isinstance(found.sock, ssl.SSLSocket)
        assert found.sock.cipher() == ("ECDHE-RSA-AES256-GCM-SHA384", "TLSv1.2", 256)
        found.sock.close()
        for version, suite in (
            (ssl.TLSVersion.TLSv1_3, None),
            (None, "ECDHE-RSA-AES128-GCM-SHA256"),
        ):
            context = trusting(ca)
            if version:
                context.minimum_version = version
            if suite:
                context.set_ciphers(suite)
            with pytest.raises(ssl.SSLError):
                web.connect(context=context)


def test_http_1_1_is_chosen(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """A client that would rather have HTTP/2 is told what it gets."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        context = trusting(ca)
        context.set_alpn_protocols(["h2", "http/1.1"])
        found = web.connect(context=context)
        assert isinstance(found.sock, ssl.SSLSocket)
        assert found.sock.selected_alpn_protocol() == "http/1.1"
        assert found.get("/-/healthy").status == 200
        found.sock.close()


def test_clients_with_certificates(
    pair: Pair, ca: Pair, client: Pair, other: Pair, tmp_path: Path
) -> None:
    """Ours get in, others and those without one do not."""
    stranger = signed(tmp_path, "stranger", by=other, names="DNS:client")
    text = tls(pair, REQUIRED.format(ca.certificate))
    with web_server(tmp_path / "web.yml", text) as web:
        assert web.ask(trusted=ca, own=client).status == 200
        assert "CERTIFICATE_REQUIRED" in refused(web, ca)
        assert "UNKNOWN_CA" in refused(web, ca, stranger)
        assert web.ask(trusted=ca, own=client).status == 200


def test_certificates_where_they_are_given(
    pair: Pair, ca: Pair, client: Pair, other: Pair, tmp_path: Path
) -> None:
    stranger = signed(tmp_path, "stranger", by=other)
    text = tls(pair, REQUIRED.format(ca.certificate)).replace(
        "RequireAndVerifyClientCert", "VerifyClientCertIfGiven"
    )
    with web_server(tmp_path / "web.yml", text) as web:
        assert web.ask(trusted=ca, own=client).status == 200
        assert web.ask(trusted=ca).status == 200
        assert "UNKNOWN_CA" in refused(web, ca, stranger)


def test_a_client_that_is_its_own_authority(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """As with Go: who is in client_ca_file gets in, and so does one whom an authority there
    signed that did not sign itself."""
    own = signed(tmp_path, "own", by=ca, names="DNS:own")
    text = tls(pair, REQUIRED.format(own.certificate))
    with web_server(tmp_path / "web.yml", text) as web:
        assert web.ask(trusted=ca, own=own).status == 200
        assert "UNKNOWN_CA" in refused(web, ca, signed(tmp_path, "another", by=ca))


@pytest.mark.parametrize(
    ("allowed", "names", "enters"),
    [
        ("[b.example, a.example]", "DNS:a.example", True),
        ("['2001:db8::1']", "IP:2001:db8:0:0:0:0:0:1", True),
        ("[127.0.0.1]", "DNS:x,IP:127.0.0.1", True),
        ("[a@example.org, x]", "email:a@example.org", True),
        ("['spiffe://cluster/prometheus']", "URI:spiffe://cluster/prometheus", True),
        ("[a.example]", "DNS:b.a.example,DNS:*.example", False),
        ("[client]", "RID:1.2.3.4", False),  # its common name is no such name
        ("[]", "DNS:a.example", False),
    ],
)
def test_client_allowed_sans(
    allowed: str, names: str, enters: bool, pair: Pair, ca: Pair, tmp_path: Path
) -> None:
    own = signed(tmp_path, "client", by=ca, names=names)
    more = REQUIRED.format(ca.certificate) + f"  client_allowed_sans: {allowed}\n"
    with web_server(tmp_path / "web.yml", tls(pair, more)) as web:
        if enters:
            assert web.ask(trusted=ca, own=own).status == 200
        else:
            refused(web, ca, own)


def test_renegotiation(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """Is not to be had: a client could keep us calculating with it."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        command = [
            "openssl", "s_client", "-connect", str(web.server.address), "-tls1_2",
            "-CAfile", str(ca.certificate),
        ]  # fmt: skip
        said = subprocess.run(command, input=b"R\n", capture_output=True, timeout=60)
        assert b"no renegotiation" in said.stderr
        assert web.ask(trusted=ca).status == 200


HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def test_slow_handshakes_have_an_end(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """However much of one there was, and though a byte comes again and again."""
    limits = Limits(handshake_s=0.3, linger_s=0.1, head_s=600, idle_s=600)
    with web_server(tmp_path / "web.yml", tls(pair), limits) as web:
        for begin in (b"", HELLO[:3], HELLO):
            found = Client(web.server.address)
            found.sock.settimeout(60)
            found.send(begin)
            assert found.closed()
        drip = Client(web.server.address)
        with pytest.raises(OSError):  # closed by the server, in the end
            drip.send(HELLO)
            while True:
                drip.send(b"\0")
                time.sleep(0.05)
        assert web.ask(trusted=ca).status == 200


def test_those_amid_a_handshake_do_not_hold_up_others(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """More than may be there at once; no time limit ends them."""
    limits = Limits(handshake_s=600, connections=20, linger_s=0.1)
    with web_server(tmp_path / "web.yml", tls(pair), limits) as web, ExitStack() as stack:
        for number in range(100):
            found = Client(web.server.address)
            stack.callback(found.sock.close)
            with suppress(ConnectionError):
                found.send(HELLO[: number % 11])
            if number % 10 == 0:
                assert web.ask(trusted=ca).status == 200
        assert threading.active_count() < 40


def test_a_reader_that_is_slow_has_an_end(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """`write_s` is for all of an answer, also where it is read one record after the other."""
    limits = Limits(write_s=0.5, linger_s=0.1)
    with web_server(tmp_path / "web.yml", tls(pair), limits) as web:
        web.exporter.says = big_snapshot
        found = Client(web.server.address)
        found.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        found.sock = trusting(ca).wrap_socket(found.sock, server_hostname="127.0.0.1")
        found.sock.settimeout(60)
        found.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = found.sock.recv(1 << 10).partition(b"\r\n\r\n")
        length, size = int(head.split(b"Content-Length: ")[1].split()[0]), len(body)
        with suppress(OSError):
            while chunk := found.sock.recv(1 << 16):
                size += len(chunk)
                time.sleep(0.02)
        assert size < length


def test_no_bytes_break_a_handshake(
    pair: Pair, ca: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is sent, there is an end, and nothing in the log."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:

        @given(st.binary(max_size=200), st.sampled_from([b"", HELLO, b"\x16\x03\x03\0\x05"]))
        def send(data: bytes, begin: bytes) -> None:
            found = Client(web.server.address)
            found.send(begin + data)
            found.sock.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while found.sock.recv(1 << 16):
                    pass
            found.sock.close()

        send()
        assert web.ask(trusted=ca).status == 200
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.INFO] == []


def test_stop_ends_them_all(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """Those amid a handshake, and those that are idle."""
    limits = Limits(handshake_s=600, linger_s=0.1)
    with web_server(tmp_path / "web.yml", tls(pair), limits) as web:
        begun, idle = Client(web.server.address), web.connect(ca)
        begun.send(HELLO)
        assert idle.get("/-/healthy").status == 200
    assert begun.closed()
    assert idle.closed()

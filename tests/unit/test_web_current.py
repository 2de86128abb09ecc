"""Read again while it serves: what is right holds from the next connection, the rest not at all."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import pytest

from exporter.errors import ConfigError
from exporter.publish.web import current as current_module
from tests.caller import until
from tests.integration.kube.certificates import Pair, signed
from tests.unit import certificates
from tests.unit.web_server import ALICE, BOB, Web, tls, web_server

folder, ca, other, pair, client = (
    certificates.folder, certificates.ca, certificates.other, certificates.pair, certificates.client
)  # fmt: skip

MUTUAL = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {}\n"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was not good is looked at again by the next one who comes."""
    monkeypatch.setattr(current_module, "_AGAIN_NS", 0)


def serial(web: Web, ca: Pair) -> object:
    """Of the certificate that is shown to a new connection."""
    client = web.connect(ca)
    try:
        assert isinstance(client.sock, ssl.SSLSocket)
        certificate = client.sock.getpeercert()
        assert certificate
        return certificate["serialNumber"]
    finally:
        client.sock.close()


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


class Mounted:
    """A Secret as kubelet mounts it: files are links by way of ..data, which is swapped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._number = folder, 0
        folder.mkdir()

    def put(self, **files: bytes) -> None:
        self._number += 1
        data = self.folder / f"..{self._number}"
        data.mkdir()
        for name, content in files.items():
            path = data / name.replace("_", ".")
            path.write_bytes(content)
            link = self.folder / path.name
            if not link.is_symlink():
                link.symlink_to(f"..data/{path.name}")
        fresh = self.folder / "..data_tmp"
        fresh.symlink_to(data.name)
        os.rename(fresh, self.folder / "..data")  # noqa: PTH104

    def show(self, pair: Pair) -> None:
        self.put(tls_crt=pair.certificate.read_bytes(), tls_key=pair.key.read_bytes())


def test_a_mounted_secret_rotates(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """The next connection sees the new certificate; the one that is open goes on."""
    secret = Mounted(tmp_path / "secret")
    secret.show(pair)
    text = "tls_server_config: {cert_file: secret/tls.crt, key_file: secret/tls.key}"
    with web_server(tmp_path / "web.yml", text) as web:
        kept = web.connect(ca)
        assert kept.get("/-/healthy").status == 200
        seen = {serial(web, ca)}
        for number in range(5):
            secret.show(signed(tmp_path, f"s{number}", by=ca))
            seen.add(serial(web, ca))
            assert kept.get("/-/healthy").status == 200
        assert len(seen) == 6
        assert not web.current.failing
        kept.sock.close()


def test_written_over_in_two_steps(
    pair: Pair, ca: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The certificate is there before its key: the old pair is shown until both are."""
    caplog.set_level(logging.INFO)
    crt, key = tmp_path / "x.crt", tmp_path / "x.key"
    crt.write_bytes(pair.certificate.read_bytes())
    key.write_bytes(pair.key.read_bytes())
    with web_server(tmp_path / "web.yml", tls(Pair(crt, key))) as web:
        first, new = serial(web, ca), signed(tmp_path, "new", by=ca)
        crt.write_bytes(new.certificate.read_bytes())
        for _ in range(10):
            assert serial(web, ca) == first
        assert web.current.failing
        (told,) = errors(caplog)  # once
        assert told == (
            "web config not taken, the one before still holds: "
            f"{web.file}:3:13: tls_server_config.key_file: expected the private key of the"
            " certificate beside it, found another's"
        )
        key.write_bytes(new.key.read_bytes())
        assert serial(web, ca) != first
        assert not web.current.failing
        assert caplog.messages[-1] == f"web config read again: {web.file}"


def test_what_is_gone_comes_back(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """Also where it is a file that nobody has read so far."""
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        first = serial(web, ca)
        web.file.rename(tmp_path / "away")
        assert serial(web, ca) == first
        assert web.current.failing
        new = Pair(tmp_path / "late.crt", tmp_path / "late.key")
        web.file.write_text(tls(new))
        assert serial(web, ca) == first
        signed(tmp_path, "late", by=ca)
        assert serial(web, ca) != first
        assert not web.current.failing


def test_passwords_change_on_open_connections(tmp_path: Path) -> None:
    """They are asked for with each request, so a user who is taken out is out at once."""
    with web_server(tmp_path / "web.yml", f"basic_auth_users: {{alice: {ALICE}}}") as web:
        kept = web.connect()
        basic = {"Authorization": "Basic YWxpY2U6c2VjcmV0"}
        assert kept.get("/-/healthy", **basic).status == 200
        web.file.write_text(f"basic_auth_users: {{bob: {BOB}}}")
        assert kept.get("/-/healthy", **basic).status == 401
        assert web.ask(user="bob:hunter2").status == 200
        kept.sock.close()


def test_certificates_of_clients_change(
    pair: Pair, ca: Pair, client: Pair, other: Pair, tmp_path: Path
) -> None:
    """New connections have to be of the new authority, whatever session they had before."""
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(ca.certificate.read_bytes())
    with web_server(tmp_path / "web.yml", tls(pair, MUTUAL.format(trusted))) as web:
        assert web.ask(trusted=ca, own=client).status == 200
        trusted.write_bytes(other.certificate.read_bytes())
        with pytest.raises((OSError, EOFError)):
            web.ask(trusted=ca, own=client)
        assert web.ask(trusted=ca, own=signed(tmp_path, "new", by=other)).status == 200


def test_no_part_of_a_file_opens_the_door(
    pair: Pair, ca: Pair, client: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that is written over may end anywhere when it is read: nobody gets in by that."""
    more = (
        f"{MUTUAL.format(ca.certificate)}  client_allowed_sans: [client]\n"
        f"basic_auth_users:\n  alice: {ALICE}\n"
    )
    with web_server(tmp_path / "web.yml", tls(pair, more)) as web:
        whole = web.file.read_text()
        stranger = signed(tmp_path, "stranger", by=ca, names="DNS:stranger")
        for end in range(len(whole) - 1):
            web.file.write_text(whole[:end])
            found = web.current()
            assert found.protections == (
                "tls_server_config", "client_auth_type", "client_allowed_sans", "basic_auth_users"
            )  # fmt: skip
            if end % 40 == 0:
                assert web.ask(trusted=ca, own=client).status == 401
                assert web.ask(trusted=ca, own=client, user="alice:secret").status == 200
                with pytest.raises((OSError, EOFError)):
                    web.ask(trusted=ca, own=stranger, user="alice:secret")
        web.file.write_text("")
        assert web.ask(trusted=ca, own=client).status == 401
        assert errors(caplog)[-1].endswith(
            "tls_server_config, client_auth_type, client_allowed_sans, basic_auth_users: no longer"
            " asked for; restart the exporter if so meant"
        )


def test_tls_may_come_later(pair: Pair, ca: Pair, tmp_path: Path) -> None:
    """It takes effect as everything does; only going back needs a restart."""
    with web_server(tmp_path / "web.yml", "") as web:
        assert web.ask().status == 200
        web.file.write_text(tls(pair))
        assert web.ask(trusted=ca).status == 200
        assert web.ask().status == 400
        web.file.write_text("")
        assert web.ask(trusted=ca).status == 200
        assert web.ask().status == 400


def test_the_first_one_has_to_be_right(tmp_path: Path) -> None:
    with pytest.raises(ConfigError), web_server(tmp_path / "web.yml", "tls_server_config: 1"):
        pass


def test_a_failure_is_looked_at_again_each_second(
    pair: Pair, ca: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many ask: reading is work, and may be of a slow disk."""
    monkeypatch.setattr(current_module, "_AGAIN_NS", 10**18)
    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        first = serial(web, ca)
        web.file.write_text("x")
        assert serial(web, ca) == first
        web.file.write_text(tls(signed(tmp_path, "new", by=ca)))
        for _ in range(20):
            assert serial(web, ca) == first
        monkeypatch.setattr(web.current, "_again_ns", 0)
        assert serial(web, ca) != first


def test_sessions_are_bounded(
    pair: Pair, ca: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that come for a session each, and never come back for it."""
    monkeypatch.setattr(current_module, "_MAX_SESSIONS", 10)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca.certificate)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET

    def kept() -> int:
        found = web.current().tls
        assert found
        return found.context.session_stats()["number"]

    with web_server(tmp_path / "web.yml", tls(pair)) as web:
        most = 0
        for _ in range(40):
            found = web.connect(context=context)
            found.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert found.answer().status == 200
            assert isinstance(found.sock, ssl.SSLSocket)
            found.sock.unwrap().close()
            most = max(most, kept())
        assert 1 < most <= 12
        until(lambda: kept() <= 12, "sessions of connections that are ending are in")

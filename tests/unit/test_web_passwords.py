"""Who knows a password gets in, whoever else guesses; and guessing tells nothing and holds up
nobody."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.publish.web import passwords
from exporter.publish.web.passwords import Given, Passwords, TooManyError, parse
from tests.caller import until
from tests.unit.web_server import ALICE, BOB, web_server

USERS = {b"alice": ALICE.encode(), b"bob": BOB.encode()}


def right(name: str, password: str, checked: Passwords | None = None, client: str = "1") -> bool:
    found = checked or Passwords()
    return found.are_right(Given(name.encode(), password.encode()), USERS, client)


def test_names_and_passwords() -> None:
    checked = Passwords()
    for _ in range(2):  # the second time from memory
        assert right("alice", "secret", checked)
        assert right("bob", "hunter2", checked)
        for name, password in (
            ("alice", "hunter2"), ("bob", "secret"), ("carol", "secret"), ("carol", "hunter2"),
            ("", ""), ("alice", ""), ("Alice", "secret"), ("alice", "secret "),
        ):  # fmt: skip
            assert not right(name, password, checked)


def test_long_passwords() -> None:
    """bcrypt looks at 72 bytes. htpasswd and Go leave out the rest, and so do we."""
    long = "x" * 72
    users = {b"a": bcrypt.hashpw(long.encode(), bcrypt.gensalt(4))}
    assert Passwords().are_right(Given(b"a", b"x" * 100), users, "1")
    assert not Passwords().are_right(Given(b"a", b"x" * 71), users, "1")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The hashes that something was compared with, in this order."""
    seen: list[bytes] = []
    real = bcrypt.checkpw

    def checkpw(password: bytes, hashed: bytes) -> bool:
        seen.append(hashed)
        return real(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    return seen


def test_what_was_checked_is_remembered(checks: list[bytes]) -> None:
    """Right or wrong; with another hash for the user it is looked at anew."""
    checked = Passwords()
    for _ in range(5):
        assert right("alice", "secret", checked)
        assert not right("alice", "wrong", checked)
    assert len(checks) == 2
    changed = {b"alice": bcrypt.hashpw(b"new", bcrypt.gensalt(4))}
    assert not checked.are_right(Given(b"alice", b"secret"), changed, "1")
    assert checked.are_right(Given(b"alice", b"new"), changed, "1")
    assert len(checks) == 4


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, checks: list[bytes]) -> None:
    """Guesses push out guesses only: who is in stays in."""
    monkeypatch.setattr(passwords, "_REMEMBERED", 10)
    monkeypatch.setattr(passwords, "_LONGEST_PAUSE_S", 0)
    checked = Passwords()
    assert right("alice", "secret", checked)
    for number in range(50):
        assert not right("alice", f"guess {number}", checked)
    before = len(checks)
    assert right("alice", "secret", checked)
    assert len(checks) == before == 51
    assert len(checked._wrong) == 10


def test_no_password_is_kept() -> None:
    checked = Passwords()
    assert right("alice", "secret", checked)
    assert not right("alice", "wrong-one", checked)
    assert "secret" not in repr(vars(checked)) and "wrong-one" not in repr(vars(checked))


def test_names_that_are_none_take_as_long(checks: list[bytes]) -> None:
    """As much is calculated for them, with somebody's hash and so at somebody's cost; always the
    same one for a name, so that asking twice tells nothing either."""
    checked = Passwords()
    assert not right("carol", "1", checked)
    assert not right("carol", "2", checked)
    assert checks[0] == checks[1] in USERS.values()
    for number in range(40):
        right(f"nobody {number}", "1", checked)
    assert set(checks) == set(USERS.values())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Checks of a wrong password take until it is opened."""
    opened = threading.Event()
    real = bcrypt.checkpw

    def checkpw(password: bytes, hashed: bytes) -> bool:
        if password.startswith(b"guess"):
            assert opened.wait(60)
        return real(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    monkeypatch.setattr(passwords, "_LONGEST_PAUSE_S", 0)
    yield opened
    opened.set()


def test_guesses_do_not_hold_up_those_who_are_in(gate: threading.Event) -> None:
    """Nor is there room for more than a few of them, and of one client for fewer."""
    checked = Passwords()
    assert right("alice", "secret", checked)
    with ThreadPoolExecutor(18) as pool, ExitStack() as at_the_end:
        at_the_end.callback(gate.set)
        for number in range(4):
            pool.submit(right, "alice", f"guess {number}", checked, "attacker")
        until(lambda: checked._waiting["attacker"] == 4, "four wait")
        fifth = pool.submit(right, "alice", "guess again", checked, "attacker")
        assert isinstance(fifth.exception(60), TooManyError)
        for number in range(12):
            pool.submit(right, "alice", f"guess {number}", checked, f"other {number // 4}")
        until(lambda: checked._waiting.total() == 16, "sixteen wait")
        new = pool.submit(right, "bob", "hunter2", checked, "prometheus")
        assert isinstance(new.exception(60), TooManyError)
        for _ in range(100):
            assert right("alice", "secret", checked, "prometheus")
            assert right("alice", "secret", checked, "attacker")
    assert checked._waiting.total() == 0
    assert right("bob", "hunter2", checked, "prometheus")


@given(st.text())
def test_any_header(text: str) -> None:
    found = parse(text)
    assert found is None or text[:6].lower() == "basic "


@given(st.binary(), st.binary())
def test_what_clients_write(name: bytes, password: bytes) -> None:
    """A colon ends the name; a password may have some."""
    name = name.replace(b":", b"")
    header = base64.b64encode(name + b":" + password).decode()
    assert parse(f"Basic {header}") == parse(f"bAsIc {header}") == Given(name, password)
    assert parse(f"Bearer {header}") is None
    assert parse(f"Basic !{header}") is None


def test_all_paths_are_behind_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Health as well, and what is not there; nothing of it in the log."""
    caplog.set_level(logging.DEBUG)
    text = f"basic_auth_users: {{alice: {ALICE}}}"
    with web_server(tmp_path / "web.yml", text) as web:
        for path, status in (
            ("/metrics", 200), ("/", 200), ("/-/healthy", 200), ("/-/ready", 200),
            ("/-/reload", 405), ("/api/v1/targets", 403), ("/nothing", 404),
        ):  # fmt: skip
            for user in (None, "alice:wrong-one", "bob:secret", "alice", ""):
                answer = web.ask(path, user=user)
                assert answer.status == 401
                assert answer.body == b"Unauthorized\n"
                assert answer.headers["www-authenticate"].startswith("Basic realm=")
            assert web.ask(path, user="alice:secret").status == status
        assert web.ask("/-/reload", user="alice:wrong-one", method="POST").status == 401
        kept = web.connect()
        assert kept.get("/-/healthy").status == 401
        basic = base64.b64encode(b"alice:secret").decode()
        assert kept.get("/-/healthy", Authorization=f"Basic {basic}").status == 200
        kept.sock.close()
    for secret in ("secret", "wrong-one", basic, ALICE):
        assert secret not in caplog.text


def test_headers_and_rate(tmp_path: Path) -> None:
    """Headers are on all answers, nosniff once; what is too much gets 429, before any password."""
    text = (
        "http_server_config: {headers: {X-Frame-Options: deny, X-Content-Type-Options: nosniff}}\n"
        "rate_limit: {interval: 1h, burst: 3}\n"
        f"basic_auth_users: {{alice: {ALICE}}}"
    )
    with web_server(tmp_path / "web.yml", text) as web:
        statuses = []
        for user in ("alice:secret", None, "alice:secret", "alice:secret", None):
            answer = web.ask(user=user)
            statuses.append(answer.status)
            assert answer.headers["x-frame-options"] == "deny"
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert statuses == [200, 401, 200, 429, 429]
        web.file.write_text(text.replace("1h", "1ns"))
        assert [web.ask(user="alice:secret").status for _ in range(5)] == [200] * 5

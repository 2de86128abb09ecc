"""`check --web.config.file`: what is told before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter import cli
from tests.integration.kube.certificates import Pair
from tests.unit import certificates
from tests.unit.web_server import ALICE, tls

folder, ca, pair = certificates.folder, certificates.ca, certificates.pair


def check(tmp_path: Path, web: str, config: str = "[1]") -> int:
    (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "web.yml").write_text(web)
    files = [f"--config.file={tmp_path}/config.yaml", f"--web.config.file={tmp_path}/web.yml"]
    return cli.run(["check", *files])


def test_good(pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside what the config means: warnings, and what is asked of clients."""
    text = tls(pair, f"  min_version: TLS11\nbasic_auth_users: {{alice: {ALICE}}}")
    assert check(tmp_path, text) == 0
    file = tmp_path / "web.yml"
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"{file}:4:16: warning: tls_server_config.min_version: TLS11 is not spoken any more: TLS12"
        " is the least",
        f"{file}: good: HTTPS, no certificates of clients, passwords for 1 user(s)",
    ]


def test_wrong(pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, all mistakes of the file, and no hash among them."""
    assert check(tmp_path, tls(pair, "basic_auth_users: {alice: hunter2, bob: 7}")) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.split(":")[1:3] for line in said.err.splitlines()] == [["4", "27"], ["4", "41"]]
    assert "hunter2" not in said.err
    assert check(tmp_path, tls(pair), config="[]") == 2

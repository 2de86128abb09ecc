"""What `otlp` names must be on this machine: certificates in order, and what a protocol needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from exporter.config.load import load, parse
from exporter.config.model import Otlp
from exporter.errors import ConfigError
from exporter.model.otlp import INSTALL_GRPC
from tests.integration.kube.certificates import Pair, authority

TRUSTED = "expected a file with certificates in PEM"
CLIENT = "expected a file with a certificate in PEM"
KEY = "expected a file with a private key in PEM"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def pair(folder: Path) -> Pair:
    return authority(folder, "one")


def written(folder: Path, otlp: str) -> Path:
    file = folder / "config.yaml"
    file.write_text(f"targets: [1]\notlp:\n{otlp}")
    return file


def problems(file: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(file)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def trusting(folder: Path, certificate: Path) -> list[str]:
    return problems(written(folder, f"  metrics: true\n  certificate: {certificate}\n"))


def showing(folder: Path, certificate: Path, key: Path) -> list[str]:
    return problems(written(folder, f"  client_certificate: {certificate}\n  client_key: {key}\n"))


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def test_files_in_order(folder: Path, pair: Pair, tmp_path: Path) -> None:
    """A bundle with comments, a key apart, and both in one file."""
    text, key = pair.certificate.read_text(), pair.key.read_text()
    bundle, both = tmp_path / "bundle.pem", tmp_path / "both.pem"
    bundle.write_text(f"# Größte CA\n{text}\n# the same\n{text}")
    both.write_text(f"{key}{text}")
    for certificate, secret in ((pair.certificate, pair.key), (both, both), (both, pair.key)):
        files = f"  client_certificate: {certificate}\n  client_key: {secret}\n"
        config = load(written(tmp_path, f"  certificate: {bundle}\n{files}"))
        assert config.otlp == Otlp(
            certificate=str(bundle), client_certificate=str(certificate), client_key=str(secret)
        )


def test_unreadable_files(folder: Path, pair: Pair, tmp_path: Path) -> None:
    """Each says why, at the place of its path; a FIFO is not waited for."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    empty, text = tmp_path / "empty", tmp_path / "text"
    empty.write_text(" \n")
    text.write_text("no certificate\n")
    broken = tmp_path / "broken"
    lines = pair.certificate.read_text().splitlines()
    broken.write_text("\n".join([*lines[:3], "AAAA", *lines[4:]]))
    der = tmp_path / "der"
    openssl("x509", "-in", pair.certificate, "-outform", "der", "-out", der)
    found = {
        tmp_path / "none": "cannot read it: No such file or directory",
        tmp_path: "cannot read it: Is a directory",
        fifo: "cannot read it: it is no regular file",
        empty: "found an empty file",
        text: "found no PEM",
        broken: "found one that OpenSSL cannot read",
        der: "found no PEM; convert DER: openssl x509 -inform der -in FILE",
        pair.key: "found 'PRIVATE KEY'",
    }
    for path, fault in found.items():
        assert trusting(tmp_path, path) == [f"4:16: otlp.certificate: {TRUSTED}, {fault}"]


@pytest.fixture
def not_root() -> Iterator[None]:
    """Root reads everything, so it is somebody else for a while."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def test_a_file_that_may_not_be_read(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Its mode counts, and that of its folders."""
    secret = tmp_path / "secret.pem"
    secret.touch(0o000)
    request.getfixturevalue("not_root")
    with pytest.raises(ConfigError) as caught:
        parse(f"targets: [1]\notlp: {{metrics: true, certificate: {secret}}}", "c", here=True)
    assert [p.message for p in caught.value.problems] == [
        f"otlp.certificate: {TRUSTED}, cannot read it: Permission denied"
    ]


def test_keys(folder: Path, pair: Pair, tmp_path: Path) -> None:
    """Of another certificate, with a passphrase (nobody is asked for it), in each other's place."""
    another = authority(tmp_path, "another")
    of_other = "expected the private key of the client certificate, found another's"
    assert showing(tmp_path, pair.certificate, another.key) == [
        f"4:15: otlp.client_key: {of_other}"
    ]
    curve = tmp_path / "curve.key"
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-out", curve)
    assert showing(tmp_path, pair.certificate, curve) == [f"4:15: otlp.client_key: {of_other}"]
    for form in ((), ("-traditional",)):
        locked = tmp_path / "locked.key"
        openssl("rsa", *form, "-aes256", "-passout", "pass:x", "-in", pair.key, "-out", locked)
        assert showing(tmp_path, pair.certificate, locked) == [
            f"4:15: otlp.client_key: {KEY}, found one with a passphrase; "
            "write it without: openssl pkey -in FILE -out NEW"
        ]
    assert showing(tmp_path, pair.key, pair.certificate) == [
        f"3:23: otlp.client_certificate: {CLIENT}, found 'PRIVATE KEY'",
        f"4:15: otlp.client_key: {KEY}, found 'CERTIFICATE'",
    ]


def test_files_are_looked_at_with_all_other_mistakes(tmp_path: Path) -> None:
    """In the order of the file."""
    text = "  certificate: /nope\n  timeout: 1\n"
    assert [line.split(": ")[:2] for line in problems(written(tmp_path, text))] == [
        ["3:16", "otlp.certificate"],
        ["4:12", "otlp.timeout"],
    ]


def test_text_alone_needs_no_files() -> None:
    """Who checks a text (an editor, a test) has another machine's file system."""
    assert parse("targets: [1]\notlp: {metrics: true, certificate: /nope}", "c").otlp


def test_grpc_must_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the mend is said; with it nothing is."""
    file = written(tmp_path, "  metrics: true\n  protocol: grpc\n")
    monkeypatch.setitem(sys.modules, "grpc", None)  # Python's own way to say: it is not there
    assert problems(file) == [
        "4:13: otlp.protocol: expected what is installed, found 'grpc', which needs grpcio; "
        f"{INSTALL_GRPC}, or write http/protobuf"
    ]
    there = ModuleType("grpc")
    there.__spec__ = ModuleSpec("grpc", None)
    monkeypatch.setitem(sys.modules, "grpc", there)
    assert load(file).otlp == Otlp(metrics=True, protocol="grpc")

"""What is in the image, and what is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tarfile import TarFile

import pytest

from exporter import __version__
from tests.image import CONFIG, about, contents

#: Programs that would help who got in: shells, interpreters, compilers, ways to fetch and install.
TOOLS = re.compile(
    r"(ba|da|z|k|c|tc)?sh|busybox|perl.*|gcc.*|g\+\+.*|cc|c\+\+|clang.*|ld(\..*)?|as|make|pip[\d.]*"
    r"|apt.*|dpkg.*|curl|wget|nc|su|sudo|mount|chroot|setpriv|[Aa]ctivate.*"
)


@pytest.fixture(scope="module")
def files() -> Iterator[TarFile]:
    with contents() as tar:
        yield tar


def test_it_has_at_most_300_mb() -> None:
    """Unpacked. The page docs/image.md says what they are."""
    size = about()["Size"]
    assert isinstance(size, int)
    assert size <= 300_000_000


def test_programs(files: TarFile) -> None:
    """Python, the exporter and its health check are all that can be run by a name."""
    found = {
        member.name
        for member in files
        if not member.isdir() and PurePosixPath(member.name).parent.name in ("bin", "sbin")
    }
    venv = "opt/proctree-exporter/bin"
    assert found == {
        "usr/bin/python3", "usr/bin/python3.11", f"{venv}/healthcheck", f"{venv}/proctree-exporter",
        f"{venv}/python", f"{venv}/python3", f"{venv}/python3.11",
    }  # fmt: skip


def test_no_tools(files: TarFile) -> None:
    """No shell, compiler driver or package manager, wherever it might lie, and no package pip."""
    for member in files:
        path = PurePosixPath(member.name)
        assert "pip" not in path.parts
        assert not (member.isfile() and member.mode & 0o111 and TOOLS.fullmatch(path.name)), path
        assert not path.name.endswith(".sh"), path


def test_no_shell_scripts(files: TarFile) -> None:
    for member in files:
        if member.isfile() and member.mode & 0o111 and (stream := files.extractfile(member)):
            first = stream.readline(100)
            assert not re.match(rb"#!.*sh\b", first), member.name


def test_nothing_gives_privileges(files: TarFile) -> None:
    """No file is setuid or setgid, and none that is not root's or that others may write."""
    for member in files:
        assert member.mode & 0o6000 == 0, member.name
        assert (member.uid, member.gid) == (0, 0), member.name
        if not member.issym() and member.name not in ("tmp", "var/tmp"):
            assert member.mode & 0o002 == 0, member.name


def test_nothing_of_the_build_is_left(files: TarFile) -> None:
    """Neither settings of apt or pip, nor certificates that only the build trusted."""
    names = {member.name for member in files}
    assert not [name for name in names if name.startswith(("etc/apt", "root/", "build/"))]
    assert not names & {"etc/pip.conf", "run/secrets", "run/secrets/ca"}


def test_labels() -> None:
    """Of OCI: what it is, of which version and licence, and when it was made."""
    labels = about()["Labels"]
    assert isinstance(labels, dict)
    found = {k.removeprefix("org.opencontainers.image."): v for k, v in labels.items()}
    assert found["title"] == "proctree-exporter"
    assert found["version"] == __version__
    assert found["licenses"] == "GPL-2.0-only"
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", found["revision"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["created"])


def test_what_runs_by_default() -> None:
    """Without arguments it serves its own config; with arguments, these are the exporter's."""
    config = about()["Config"]
    assert isinstance(config, dict)
    assert config["Entrypoint"] == ["proctree-exporter"]
    assert config["Cmd"] == ["serve", f"--config.file={CONFIG}"]
    assert config["User"] == "0:0"
    assert list(config["ExposedPorts"]) == ["9847/tcp"]
    assert about()["Healthcheck"]["Test"] == ["CMD", "healthcheck"]  # type: ignore[index]


def test_the_dockerfile_names_no_architecture() -> None:
    """The same file builds for amd64 and arm64: paths come from the system that is built from."""
    root = Path(__file__).parent.parent.parent
    for path in (root / "Dockerfile", *(root / "scripts/image").iterdir()):
        assert not re.search(r"x86.64|amd64|aarch64|arm64", path.read_text()), path

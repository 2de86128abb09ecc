"""What a pidfile says, whatever somebody put in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.kernel.pidfile import Found, read
from exporter.kernel.rootfs import open_in_root


def said(path: Path) -> Found:
    return read(Path("/"), str(path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "it.pid"


@pytest.mark.parametrize(
    ("content", "pid"),
    [
        (b"4711\n", 4711), (b"4711", 4711), (b" 4711 \n", 4711), (b"4711\r\n", 4711), (b"1\n", 1),
        (b"4711\n/var/lib/postgresql\n1700000000\n5432\n", 4711), (b"004711\n", 4711),
        (b"4194304\n", 4194304), (b"4711\n" + b"x" * 1_000_000, 4711),
    ],
)  # fmt: skip
def test_the_first_line_is_the_pid(file: Path, content: bytes, pid: int) -> None:
    """As daemons write it, PostgreSQL's longer file too; and when it was written."""
    file.write_bytes(content)
    os.utime(file, ns=(1, 10**18 + 7))
    status = file.stat()
    assert said(file) == Found(pid, 10**18 + 7, file=(status.st_dev, status.st_ino))


@pytest.mark.parametrize(
    "content",
    [
        b"none\n", b"-4711\n", b"+4711\n", b"4711 4712\n", b"0x12\n", b"47.0\n", b"0\n",
        b"4194305\n", b"\n4711\n", b"\xff\xfe\n", "٤٧١١\n".encode(), b"\0" * 1_000_000,
        b"9" * 1_000_000, b"pid=4711\n", b"4711\0\n",
    ],
)  # fmt: skip
def test_rubbish_is_no_pid(file: Path, content: bytes) -> None:
    """What was found is in the message, cut."""
    file.write_bytes(content)
    found = said(file)
    assert (found.pid, found.missing) == (0, False)
    assert found.fault.startswith("expected a PID in its first line, found ")
    assert len(found.fault) < 150


@pytest.mark.parametrize("content", [b"", b"\n", b" \n \n"])
def test_empty_is_no_fault_of_anybody(file: Path, content: bytes) -> None:
    """Somebody is about to write it."""
    file.write_bytes(content)
    assert said(file) == Found(missing=True, fault="is empty, looked at again")


def test_not_there(file: Path) -> None:
    """The file, its folder, or what a link leads to."""
    there_is_none = Found(missing=True, fault="there is no such file yet, looked for again")
    assert said(file) == there_is_none
    assert said(file / "deeper") == there_is_none
    file.symlink_to("nowhere")
    assert said(file) == there_is_none


def test_what_is_no_file_is_not_opened(file: Path) -> None:
    """A FIFO, a folder, a socket's or a device's node: a fault, at once."""
    os.mkfifo(file)
    assert said(file).fault == "cannot be opened: it is neither a file nor a folder"
    file.unlink()
    file.mkdir()
    assert said(file).fault == "is a folder, not a file"
    assert said(Path("/dev/null")).fault == "cannot be opened: it is neither a file nor a folder"
    assert not any(found.missing for found in (said(file), said(Path("/dev/null"))))


def test_a_fifo_without_a_reader_keeps_its_writers(file: Path) -> None:
    """It is only looked at: who waits for a reader goes on waiting."""
    os.mkfifo(file)
    assert said(file).fault
    with pytest.raises(OSError, match="No such device or address"):
        os.open(file, os.O_WRONLY | os.O_NONBLOCK)


def test_links_that_lead_nowhere(file: Path) -> None:
    """A loop of links, and a file in the place of a folder."""
    file.symlink_to(file.name)
    assert said(file) == Found(fault="cannot be opened: Too many levels of symbolic links")
    file.unlink()
    file.write_text("1\n")
    assert said(file / "x") == Found(fault="cannot be opened: Not a directory")


def test_links_stay_beneath_the_root(tmp_path: Path) -> None:
    """An absolute link is the node's, and none leads out of --path.rootfs."""
    root = tmp_path / "root"
    (root / "run").mkdir(parents=True)
    (tmp_path / "outside.pid").write_text("666\n")
    (root / "run/real.pid").write_text("4711\n")
    (root / "run/absolute.pid").symlink_to("/run/real.pid")
    (root / "run/out.pid").symlink_to("../../outside.pid")
    (root / "var").symlink_to("/run")
    assert read(root, "/run/absolute.pid").pid == 4711
    assert read(root, "/var/real.pid").pid == 4711
    assert read(root, "/run/out.pid").missing
    assert read(root, "/../outside.pid").missing
    assert read(root / "nothing", "/run/real.pid").missing


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_file_that_may_not_be_read(file: Path) -> None:
    """By a user who is not root, in a child."""
    file.write_text("4711\n")
    file.chmod(0)
    for folder in file.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    child = os.fork()
    if not child:
        os.setresuid(65534, 65534, 65534)
        os._exit(said(file) != Found(fault="cannot be opened: Permission denied"))
    assert os.waitpid(child, 0)[1] == 0


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_nothing_stays_open(file: Path) -> None:
    """Whether it was read or refused."""
    before = descriptors()
    file.write_text("4711\n")
    said(file)
    said(file.parent)
    said(Path("/dev/null"))
    said(file / "x")
    assert descriptors() == before


def test_a_replaced_file_is_another(file: Path) -> None:
    """Also where it says the same, at the same time."""
    file.write_text("4711\n")
    os.utime(file, ns=(1, 10**18))
    before = said(file)
    new = file.with_suffix(".new")
    new.write_text("4711\n")
    os.utime(new, ns=(1, 10**18))
    assert said(file) == before
    new.rename(file)
    assert said(file) != before


def test_a_folder_may_be_opened(tmp_path: Path) -> None:
    """Whoever asks tells the two apart."""
    root = os.open("/", os.O_PATH)
    descriptor = open_in_root(root, str(tmp_path))
    assert os.fstat(descriptor).st_ino == tmp_path.stat().st_ino
    os.close(descriptor)
    os.close(root)

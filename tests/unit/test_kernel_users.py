"""Users by name, from a passwd(5) made of ordinary files."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.kernel.users import find_uid

PASSWD = """\
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/:
# daemon2:x:2:2::/:
broken
no-number:x:a:1::/:
negative:x:-5:1::/:
twice:x:7:7::/:
twice:x:8:8::/:
:x:9:9::/:
ünï:x:10:10::/:
last:x:4294967294:1"""


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(PASSWD)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "uid"),
    [("root", 0), ("daemon", 1), ("twice", 7), ("ünï", 10), ("last", 2**32 - 2)],
)
def test_users(rootfs: Path, name: str, uid: int) -> None:
    """Each by its name; of two with one name the first, as the C library does."""
    assert find_uid(rootfs, name) == uid


@pytest.mark.parametrize(
    "name", ["daemon2", "broken", "no-number", "negative", "nobody", "Root", "x"]
)
def test_who_is_none(rootfs: Path, name: str) -> None:
    """Unknown ones, and lines that are none."""
    assert find_uid(rootfs, name) is None


def test_without_a_file(tmp_path: Path) -> None:
    """A node without /etc/passwd knows nobody, as one with a folder there; rubbish is skipped."""
    assert find_uid(tmp_path, "root") is None
    (tmp_path / "etc/passwd").mkdir(parents=True)
    assert find_uid(tmp_path, "root") is None
    (tmp_path / "etc/passwd").rmdir()
    (tmp_path / "etc/passwd").write_bytes(b"\xff\0\n\nroot:x:0:0\xff\n")
    assert find_uid(tmp_path, "root") == 0


def test_a_link_is_the_nodes(rootfs: Path) -> None:
    """An absolute one, too, leads to a file of the node."""
    (rootfs / "etc/passwd").rename(rootfs / "users")
    (rootfs / "etc/passwd").symlink_to("/users")
    assert find_uid(rootfs, "daemon") == 1

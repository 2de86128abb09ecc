"""A file that cannot be read is a mistake in the config like any other: one line, exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.config.load import MAX_BYTES, load
from exporter.errors import ConfigError


def refused(path: str | Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value)


def test_a_file_is_read(tmp_path: Path) -> None:
    """The config knows the file it came from; a byte order mark and CRLF do no harm."""
    file = tmp_path / "c.yaml"
    file.write_bytes(b"\xef\xbb\xbf- 1\r\n- name: \xc3\xa4\r\n  pid: 2\r\n")
    config = load(file)
    assert config.file == str(file)
    assert [(t.name, t.line) for t in config.targets] == [("pid:1", 1), ("ä", 2)]


def test_the_cgroup_root_is_passed_on(tmp_path: Path) -> None:
    """`load` strips the cgroup root that it is given."""
    file = tmp_path / "c.yaml"
    file.write_text("- /mnt/cg/a\n")
    assert load(file, "/mnt/cg").targets[0].cgroup == "/a"


def test_a_missing_file(tmp_path: Path) -> None:
    """The message is the system's."""
    file = tmp_path / "no.yaml"
    assert refused(file) == f"{file}:1:1: cannot read the config: No such file or directory"


def test_a_directory(tmp_path: Path) -> None:
    """A directory is no config."""
    assert refused(tmp_path) == f"{tmp_path}:1:1: cannot read the config: Is a directory"


def test_a_path_with_a_nul() -> None:
    """A path that no system call takes is refused like any other."""
    assert refused("a\0b").endswith(":1:1: cannot read the config: embedded null byte")


def test_not_utf_8(tmp_path: Path) -> None:
    """The byte and its line are named."""
    file = tmp_path / "c.yaml"
    file.write_bytes(b"- 1\n- name: \xe4\n")
    assert refused(file) == f"{file}:1:1: expected UTF-8, found the byte 0xe4 on line 2"


def test_too_big(tmp_path: Path) -> None:
    """One MiB is read, one byte more is not."""
    file = tmp_path / "c.yaml"
    file.write_bytes(b"- 1\n#".ljust(MAX_BYTES, b"x"))
    assert len(load(file).targets) == 1
    file.write_bytes(b"- 1\n#".ljust(MAX_BYTES + 1, b"x"))
    assert refused(file) == (
        f"{file}:1:1: expected a config of at most 1048576 bytes, found a larger file"
    )

"""Which machine this is, from files that are not always what they should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.model.host import Host, parse_hostname, parse_machine_id, read_host

ID = "0123456789abcdef" * 2
BOOT = "f4c5a9c8-7d3b-4a54-8a0e-9a8d3a2c5e11\n"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for folder in ("root/etc", "root/var/lib/dbus", "proc/sys/kernel/random"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text(BOOT)
    return tmp_path


def read(node: Path, name: str = "") -> Host:
    return read_host(node / "root", node / "proc", name)


def test_a_machine_and_its_name(node: Path) -> None:
    """As the node's own files say, wherever the exporter runs."""
    (node / "root/etc/machine-id").write_text(f"{ID}\n")
    (node / "root/etc/hostname").write_text("# ours\n\n node-7\nno\n")
    assert read(node, "n7.example") == Host("node-7", ID, "n7.example")


def test_an_absolute_link_leads_to_the_nodes_file(node: Path) -> None:
    """Not to one of our own container."""
    (node / "root/var/lib/dbus/machine-id").write_text(ID)
    (node / "root/etc/machine-id").symlink_to("/var/lib/dbus/machine-id")
    assert read(node).id == ID


@pytest.mark.parametrize("text", ["", "uninitialized\n", "x" * 32, ID + "0", "\udcff"])
def test_without_an_id_the_boot_tells(node: Path, text: str) -> None:
    """Another one after each boot, of the same form, and not the boot's id itself."""
    (node / "root/etc/machine-id").write_bytes(os.fsencode(text))
    first = read(node).id
    assert parse_machine_id(first) == first != BOOT.strip().replace("-", "")
    assert read(node).id == first
    (node / "proc/sys/kernel/random/boot_id").write_text(BOOT.replace("f", "e"))
    assert read(node).id not in (first, "")


def test_the_older_place_of_the_id(node: Path) -> None:
    """Where /etc has none."""
    (node / "root/var/lib/dbus/machine-id").write_text(ID)
    assert read(node).id == ID


def test_nothing_can_be_read(tmp_path: Path) -> None:
    """No machine is made up, and nothing raises."""
    assert read_host(tmp_path / "no", tmp_path / "proc") == Host(os.uname().nodename, "", "")
    assert read_host(tmp_path / "no", tmp_path / "proc", "n7").name == "n7"


def test_what_is_no_file_is_not_read(node: Path) -> None:
    """A FIFO in its place would never end."""
    os.mkfifo(node / "root/etc/hostname")
    os.mkfifo(node / "root/etc/machine-id")
    assert read(node, "n7").name == "n7"


def test_this_machine() -> None:
    """Its own root: the kernel's name for it."""
    here = read_host(Path("/"), Path("/proc"))
    assert here.name == os.uname().nodename
    assert parse_machine_id(here.id) == here.id != ""


@pytest.mark.parametrize(
    ("text", "name"),
    [("a\n", "a"), ("\n#x\n a.b \n", "a.b"), ("", ""), ("# a\n", ""), ("a b", "a b")],
)
def test_hostname(text: str, name: str) -> None:
    """The first line that says something."""
    assert parse_hostname(text) == name

"""Files of engines that are wrong, too long, no files at all, or lead elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from exporter.metadata.runtimes import Runtimes
from exporter.metadata.runtimes.rooted import Rooted
from exporter.model.metadata import ContainerRef, Facts

ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
REFS = [ContainerRef(runtime, ID, "") for runtime in ("docker", "containerd", "cri-o", "podman")]
PLACES = [
    f"var/lib/docker/containers/{ID}/config.v2.json",
    f"run/containerd/io.containerd.runtime.v2.task/default/{ID}/config.json",
    f"var/lib/containers/storage/overlay-containers/{ID}/userdata/config.json",
    "var/lib/containers/storage/overlay-containers/containers.json",
    "home/eve/.local/share/containers/storage/overlay-containers/containers.json",
]
GOOD = json.dumps({"Name": "/web", "Config": {"Image": "nginx"}})
WEB = Facts(container="web", image="nginx")


def answers(root: Path) -> list[Facts | None]:
    runtimes = Runtimes(root)
    return [runtimes.facts(ref) for ref in REFS]


def fill(root: Path, content: bytes) -> None:
    for place in PLACES:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(content)


NONSENSE = [
    b"", b"{", b"null", b"7", b'"text"', b"[]", b"{}", b"[[]]", b"[null, 7, {}]", b"\xff\xfe\x00",
    b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b"nan", b'{"Name": 7}', b'{"Name": "/"}',
    b'{"Name": null, "Config": 7}', b'{"Config": {"Labels": []}}', b'{"annotations": "no"}',
    b'{"annotations": {"nerdctl/name": {}}}', b'[{"id": [], "names": ["x"]}]',
    b'[{"id": 7, "names": {}}]', b'[{"id": "' + ID.encode() + b'", "names": [null]}]',
    b'[{"id": "' + ID.encode() + b'", "names": "web"}]',
    b'[{"id": "' + ID.encode() + b'", "names": {"web": 1}}]',
]  # fmt: skip


@pytest.mark.parametrize("content", NONSENSE)
def test_nonsense_is_not_known(tmp_path: Path, content: bytes) -> None:
    """Wrong types, broken texts and nestings without end."""
    fill(tmp_path, content)
    assert answers(tmp_path) == [None] * 4


@pytest.mark.parametrize(
    "metadata", [7, "", "{", "[]", "[" * 1000, '{"image-name": 7}', "x" * 2000]
)
def test_a_list_whose_inner_json_is_broken_still_has_names(
    tmp_path: Path, metadata: object
) -> None:
    """Only the image is not known then."""
    fill(tmp_path, json.dumps([{"id": ID, "names": ["web"], "metadata": metadata}]).encode())
    assert answers(tmp_path) == [None, None, None, Facts(container="web")]


def test_texts_can_be_published(tmp_path: Path) -> None:
    """Half a surrogate pair has no UTF-8; a name of megabytes is none."""
    fill(tmp_path, b'{"Name": "/a\\ud800b", "Config": {"Image": "' + b"x" * 1025 + b'"}}')
    assert answers(tmp_path)[0] == Facts(container="a?b")
    fill(tmp_path, b'{"Name": "/web", "Config": {"Image": "' + b"x" * 1024 + b'"}}')
    assert answers(tmp_path)[0] == Facts(container="web", image="x" * 1024)


def test_long_files_are_not_read(tmp_path: Path) -> None:
    """A megabyte is more than any engine writes of a container; one byte less is read."""
    limit = 1 << 20
    fill(tmp_path, GOOD.encode().ljust(limit + 1))
    assert answers(tmp_path)[0] is None
    fill(tmp_path, GOOD.encode().ljust(limit))
    assert answers(tmp_path)[0] == WEB


def test_long_lists_are_not_read(tmp_path: Path) -> None:
    """Of Podman's, 8 MiB would be more than ten thousand containers."""
    place = tmp_path / PLACES[3]
    place.parent.mkdir(parents=True)
    for size, expected in (((8 << 20) + 1, None), (8 << 20, Facts(container="web"))):
        place.write_bytes(json.dumps([{"id": ID, "names": ["web"]}]).encode().ljust(size))
        assert answers(tmp_path)[3] == expected


def test_of_a_home_less_is_read(tmp_path: Path) -> None:
    """Parsed JSON takes thirty times its size, and any user can write it."""
    entry = json.dumps([{"id": ID, "names": ["web"]}]).encode()
    place = tmp_path / PLACES[4]
    place.parent.mkdir(parents=True)
    for size, expected in (((256 << 10) + 1, None), (256 << 10, Facts(container="web"))):
        place.write_bytes(entry.ljust(size))
        assert answers(tmp_path)[3] == expected


def test_what_is_no_file_does_not_block(tmp_path: Path) -> None:
    """FIFOs nobody writes to, folders, sockets' names that lead nowhere."""
    for place in PLACES[:3]:
        (tmp_path / place).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / PLACES[0])
    (tmp_path / PLACES[1]).mkdir()
    (tmp_path / PLACES[2]).symlink_to("nowhere")
    os.mkfifo(tmp_path / PLACES[3])
    assert answers(tmp_path) == [None] * 4


def test_links_stay_inside(tmp_path: Path) -> None:
    """An absolute link leads to the host's file, as on the host; `..` ends at the root."""
    root, outside = tmp_path / "root", tmp_path / "outside.json"
    outside.write_text(GOOD)
    place = root / PLACES[0]
    place.parent.mkdir(parents=True)
    for target in (str(outside), "../" * 40 + str(outside), f"/proc/self/root{outside}"):
        place.symlink_to(target)
        assert answers(root)[0] is None
        place.unlink()
    (root / "data").mkdir()
    (root / "data/config.json").write_text(GOOD)
    for target in ("/data/config.json", "../" * 40 + "data/config.json"):
        place.symlink_to(target)
        assert answers(root)[0] == WEB
        place.unlink()


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    """Docker's data moved to another disk, /home that leads to /var/home."""
    fill(tmp_path, GOOD.encode())
    (tmp_path / "srv").mkdir()
    (tmp_path / "var/lib/docker").rename(tmp_path / "srv/docker")
    (tmp_path / "var/lib/docker").symlink_to("/srv/docker")
    assert answers(tmp_path)[0] == WEB


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    """The kernel gives up after 40."""
    place = tmp_path / PLACES[0]
    place.parent.mkdir(parents=True)
    place.symlink_to(place.name)
    assert answers(tmp_path)[0] is None


def test_many_homes_are_bounded(tmp_path: Path) -> None:
    """A folder with more entries than a machine has users is read in part."""
    for number in range(1100):
        (tmp_path / f"home/user{number}").mkdir(parents=True)
    assert len(Rooted(tmp_path).names("home")) == 1024


def test_only_known_storage_is_looked_into(tmp_path: Path) -> None:
    """A thousand folders named like a driver's would be a thousand files to read."""
    place = tmp_path / PLACES[4].replace("overlay", "my")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps([{"id": ID, "names": ["web"]}]))
    assert answers(tmp_path)[3] is None


def test_descriptors_are_closed(tmp_path: Path) -> None:
    """Asked each second for weeks, for containers that nobody knows."""
    fill(tmp_path, b"{")
    runtimes = Runtimes(tmp_path)
    for ref in REFS:
        runtimes.facts(ref)
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    for _ in range(50):
        for ref in REFS:
            runtimes.facts(ref)
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208

"""Cgroup hierarchies from the texts of /proc, on machines with v1, v2 and both."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.kernel.cgroupfs import Cgroups, Hierarchy, parse_hierarchies, parse_mounts
from exporter.kernel.named_cgroups import Place
from exporter.kernel.records import CgroupKey

TOP = Path("/sys/fs/cgroup")
V2_CGROUP = "0::/user.slice/user-0.slice\n"
V2_MOUNTS = "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_CGROUP = "12:pids:/\n4:cpu,cpuacct:/x\n1:name=systemd:/init.scope\n"
V1_MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /sys/fs/cgroup ro shared:4 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/systemd rw shared:5 - cgroup cgroup rw,xattr,name=systemd
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
"""
HYBRID_CGROUP = V1_CGROUP + "0::/init.scope\n"
HYBRID_MOUNTS = (
    V1_MOUNTS + "34 30 0:30 / /sys/fs/cgroup/unified rw shared:7 - cgroup2 cgroup2 rw,nsdelegate\n"
)


def parsed(mounts: str, cgroup: str, top: Path = TOP) -> list[Hierarchy]:
    return parse_mounts(mounts, parse_hierarchies(cgroup), top)


def test_v2() -> None:
    """One hierarchy, number 0."""
    assert parsed(V2_MOUNTS, V2_CGROUP) == [Hierarchy(0, TOP, "v2")]


def test_v1() -> None:
    """One for each mount, by the number of its first controller or its name."""
    assert parsed(V1_MOUNTS, V1_CGROUP) == [
        Hierarchy(4, TOP / "cpu,cpuacct", "cpu,cpuacct"),
        Hierarchy(12, TOP / "pids", "pids"),
        Hierarchy(1, TOP / "systemd", "name=systemd"),
    ]


def test_hybrid() -> None:
    """v2 first, the rest as on v1."""
    found = parsed(HYBRID_MOUNTS, HYBRID_CGROUP)
    assert found[0] == Hierarchy(0, TOP / "unified", "v2")
    assert found[1:] == parsed(V1_MOUNTS, V1_CGROUP)


def test_colons_in_paths_and_names() -> None:
    """A path may hold colons; only the first two part the fields."""
    assert parse_hierarchies("0::/a:b:c\n7:name=x:/y:z\n") == {"": 0, "name=x": 7}


def test_mounts_elsewhere_are_left_out() -> None:
    """--path.cgroupfs says where ours are: not every cgroup mount of a machine is."""
    other = V2_MOUNTS.replace("/sys/fs/cgroup", "/var/lib/x/cgroup")
    assert parsed(V2_MOUNTS + other, V2_CGROUP) == parsed(V2_MOUNTS, V2_CGROUP)
    assert [h.root for h in parsed(V2_MOUNTS + other, V2_CGROUP, Path("/var/lib/x/cgroup"))] == [
        Path("/var/lib/x/cgroup")
    ]
    assert parsed(V2_MOUNTS, V2_CGROUP, Path("/sys/fs/cgro")) == []


def test_escapes_in_mount_points() -> None:
    """A blank is \\040 (fs/seq_file.c: mangle_path); what is not ASCII is as it is."""
    mounts = V2_MOUNTS.replace("/sys/fs/cgroup", "/mnt/my\\040own\\134/\u00e9")
    assert [h.root for h in parsed(mounts, V2_CGROUP, Path("/mnt"))] == [
        Path("/mnt/my own\\/\u00e9")
    ]


def test_a_mount_that_is_not_utf8(tmp_path: Path) -> None:
    """Anybody's mount may have any name: ours are found all the same."""
    (tmp_path / "self").mkdir()
    odd = b"99 1 8:1 / /mnt/\xff\xfe rw - tmpfs tmpfs rw\n"
    (tmp_path / "self/mountinfo").write_bytes(odd + V2_MOUNTS.encode())
    (tmp_path / "self/cgroup").write_bytes(b"0::/\xff\n")
    assert Cgroups(TOP, tmp_path).version() == "v2"


def test_nothing_mounted() -> None:
    """No hierarchy, no error."""
    assert parsed("", "") == []


@pytest.fixture
def machine(tmp_path: Path) -> Cgroups:
    """A hybrid machine whose cgroup file system is an ordinary folder."""
    top, proc = tmp_path / "cgroup", tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    for name in ("systemd", "cpu,cpuacct", "pids", "unified"):
        (top / name / "app").mkdir(parents=True)
    (top / "pids" / "only").mkdir()
    (top / "pids" / "file").touch()
    (top / "pids" / "link").symlink_to("only")
    (proc / "self/mountinfo").write_text(HYBRID_MOUNTS.replace("/sys/fs/cgroup", str(top)))
    (proc / "self/cgroup").write_text(HYBRID_CGROUP)
    return Cgroups(top, proc)


def inode(machine: Cgroups, path: str) -> int:
    return (machine.top / path).stat().st_ino


def test_a_relative_path_is_in_every_hierarchy_that_has_it(machine: Cgroups) -> None:
    """Each is a cgroup of its own: the key is the hierarchy and the id."""
    assert machine.version() == "hybrid"
    assert machine.find("/app", False) == {
        CgroupKey(0, inode(machine, "unified/app")),
        CgroupKey(1, inode(machine, "systemd/app")),
        CgroupKey(4, inode(machine, "cpu,cpuacct/app")),
        CgroupKey(12, inode(machine, "pids/app")),
    }
    assert machine.find("/only", False) == {CgroupKey(12, inode(machine, "pids/only"))}


def test_an_absolute_path_names_its_hierarchy(machine: Cgroups) -> None:
    """As it is beneath the cgroup root; the root of a hierarchy, too."""
    assert machine.find("/pids/app", True) == {CgroupKey(12, inode(machine, "pids/app"))}
    assert machine.find("/unified", True) == {CgroupKey(0, inode(machine, "unified"))}
    assert machine.find("/app", True) == frozenset()
    assert machine.find("/", True) == frozenset()


def test_where_the_kernel_finds_a_path(machine: Cgroups) -> None:
    """A relative one in any hierarchy; an absolute one in its own, by the path there."""
    assert machine.locate("/app", False) == [Place(None, "/app")]
    assert machine.locate("/pids/app/*", True) == [Place(12, "/app/*")]
    assert machine.locate("/unified/a/b", True) == [Place(0, "/a/b")]
    assert machine.locate("/app", True) == []


def test_all_there_are(machine: Cgroups) -> None:
    """In each hierarchy, with their paths there; files and links are none."""
    (machine.top / "pids/app/below").mkdir()
    found = dict(machine.walk())
    assert found == {
        CgroupKey(0, inode(machine, "unified/app")): "/app",
        CgroupKey(1, inode(machine, "systemd/app")): "/app",
        CgroupKey(4, inode(machine, "cpu,cpuacct/app")): "/app",
        CgroupKey(12, inode(machine, "pids/app")): "/app",
        CgroupKey(12, inode(machine, "pids/app/below")): "/app/below",
        CgroupKey(12, inode(machine, "pids/only")): "/only",
    }


@pytest.mark.parametrize("path", ["/nothing", "/file", "/file/more", "/link", "/" + "x" * 5000])
def test_what_is_no_cgroup_is_none(path: str, machine: Cgroups) -> None:
    """Gone, a file, a link, or impossible: the target is down, and nothing breaks."""
    assert machine.find(path, False) == frozenset()
    assert machine.find(f"/pids{path}", True) == frozenset()


@pytest.mark.parametrize(
    ("mounts", "cgroup", "version"),
    [(V2_MOUNTS, V2_CGROUP, "v2"), (V1_MOUNTS, V1_CGROUP, "v1"), ("", "", "none")],
)
def test_version(mounts: str, cgroup: str, version: str, tmp_path: Path) -> None:
    """As systemd names them."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(mounts)
    (tmp_path / "self/cgroup").write_text(cgroup)
    assert Cgroups(TOP, tmp_path).version() == version


def test_this_machines_own() -> None:
    """The root of each hierarchy is found, with the inode that the kernel gave it."""
    for hierarchy in (machine := Cgroups(TOP, Path("/proc"))).hierarchies:
        path = "/" + str(hierarchy.root.relative_to(TOP))
        assert machine.find(path, True) == {
            CgroupKey(hierarchy.number, hierarchy.root.stat().st_ino)
        }

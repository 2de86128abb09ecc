#!/usr/bin/python3
"""Copies what the exporter needs of this Debian into a folder, the image's root.

Files, not packages: packages would bring a shell, tools and documentation along. What a file is
linked with comes with it. The packages that files come from are listed where scanners look for
them in an image without a package manager (var/lib/dpkg/status.d), with their copyright.
"""

from __future__ import annotations

import compileall
import fnmatch
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

LIBRARIES = Path("/usr/lib") / sysconfig.get_config_var("MULTIARCH")
STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path("/usr/lib/python3/dist-packages")
FILES = (
    Path("/etc/debian_version"),
    Path("/etc/os-release"),
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/usr/bin/python3"),
    LIBRARIES / "libbcc.so.0",
    LIBRARIES / "librt.so.1",  # bcc opens it by its name, which is not linked
    *PACKAGES.glob("seccomp.*.so"),
)
FOLDERS = (STDLIB, PACKAGES / "bcc")
#: Of the standard library what a server has no use for: consoles, windows, tests, tools.
UNUSED = (
    "__pycache__", "_aix_support.py", "_curses*", "_dbm*", "_osx_support.py", "_sqlite3*", "_test*",
    "_xx*", "audioop*", "config-*", "curses", "dbm", "distutils", "doctest.py", "ensurepip",
    "idlelib", "lib2to3", "nis.*", "ossaudiodev*", "pydoc.py", "pydoc_data", "readline*", "sqlite3",
    "test", "tkinter", "turtle.py", "turtledemo", "unittest", "venv", "xxlimited*",
)  # fmt: skip
#: Written, not copied: the builder's have users of its own.
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/:/nonexistent\nnobody:x:65534:65534:nobody:/:/nonexistent\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
MOUNTED = ("dev", "proc", "run", "sys", "tmp", "var/tmp")
#: Made by a package, when it was installed.
MADE_BY = {FILES[2]: "ca-certificates"}


def listed(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if any(fnmatch.fnmatch(entry.name, pattern) for pattern in UNUSED):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from listed(entry)
        else:
            yield entry


def linked(file: Path) -> list[Path]:
    """All that the loader would load with a file, itself included; nothing for other files."""
    with file.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return []
    said = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
    if "not found" in said:
        sys.exit(f"collect: {file} lacks a library:\n{said}")
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", said)]


def links(file: Path) -> Iterator[Path]:
    """A path without links in its folders; where it is a link itself, what it leads to as well."""
    while True:
        file = file.parent.resolve() / file.name
        yield file
        if not file.is_symlink():
            return
        file = file.parent / file.readlink()


def closure(seeds: Iterable[Path]) -> set[Path]:
    found: set[Path] = set()
    waiting = list(seeds)
    while waiting:
        for file in links(waiting.pop()):
            if file not in found:
                found.add(file)
                waiting += linked(file)
    return found


def owners() -> dict[Path, str]:
    """The package (with its architecture, where it may have several) of each installed file."""
    found = {}
    for listing in Path("/var/lib/dpkg/info").glob("*.list"):
        for line in listing.read_text().splitlines():
            file = Path(line)
            found[file.parent.resolve() / file.name] = listing.stem
    return found


def copy(file: Path, root: Path) -> None:
    place = root / file.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, place, follow_symlinks=False)


def register(package: str, root: Path) -> None:
    """Says in the image that a package is there, and under which licence."""
    status = subprocess.run(["dpkg", "--status", package], capture_output=True, check=True).stdout
    name = package.partition(":")[0]
    place = root / "var/lib/dpkg/status.d" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(status)
    copyright_ = root / "usr/share/doc" / name / "copyright"
    copyright_.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path("/usr/share/doc") / name / "copyright", copyright_)


def main(root: Path) -> None:
    files = closure((*FILES, *(file for folder in FOLDERS for file in listed(folder))))
    for file in files:
        copy(file, root)
    for link in (path for path in Path("/").glob("lib*") if path.is_symlink()):
        (root / link.name).symlink_to(link.readlink())
    known = owners()
    for package in sorted({MADE_BY.get(file) or known[file] for file in files}):
        register(package, root)
    shutil.copytree("/usr/share/common-licenses", root / "usr/share/common-licenses", symlinks=True)
    for folder in MOUNTED:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder).chmod(0o1777 if folder.endswith("tmp") else 0o755)
    for name, text in TEXTS.items():
        (root / name).write_text(text)
    for folder in FOLDERS:
        compileall.compile_dir(
            root / folder.relative_to("/"), stripdir=os.fspath(root), prependdir="/", quiet=1,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))

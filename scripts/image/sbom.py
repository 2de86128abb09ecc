"""Writes what an image consists of to standard output, as CycloneDX in JSON.

    python scripts/image/sbom.py IMAGE        ENGINE is podman or docker

Read from the image itself: Debian's packages where its build has listed them
(var/lib/dpkg/status.d), Python's where pip has. Equal images have equal lists.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from email import message_from_bytes
from pathlib import PurePosixPath

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, License, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.spdx import fixup_id
from packageurl import PackageURL

ENGINE = os.environ.get("ENGINE", "podman")
OURS = "proctree-exporter"  # not from PyPI
#: By source package, of those whose copyright file is for people and not for programs.
UNDER = {
    "base-files": ["GPL-2.0-or-later"],
    "gcc": ["GPL-3.0-or-later WITH GCC-exception-3.1"],
    "glibc": ["LGPL-2.1-or-later", "GPL-2.0-or-later"],
    "libseccomp": ["LGPL-2.1-only"],
    "libxcrypt": ["LGPL-2.1-or-later"],
    "python": ["Python-2.0"],
    "python-defaults": ["Python-2.0"],
}
#: Where Debian's short names are not SPDX's.
SPDX = {"Expat": "MIT", "APACHE-2-LLVM-EXCEPTIONS": "Apache-2.0 WITH LLVM-exception"}
_GNU = re.compile(r"(A?GPL|LGPL)-(\d)(?:\.(\d))?(\+?)", re.ASCII)
#: As setuptools knew the licence before there was SPDX.
_LONG = {"3-Clause BSD License": "BSD-3-Clause"}


def files(image: str) -> dict[str, bytes]:
    """What is needed of an image's files, by their paths."""
    container = _engine("create", image).decode().strip()
    try:
        with tempfile.NamedTemporaryFile() as archive:
            _engine("export", f"--output={archive.name}", container)
            with tarfile.open(archive.name) as tar:
                return {
                    member.name.removeprefix("./"): stream.read()
                    for member in tar
                    if _wanted(member.name) and (stream := tar.extractfile(member))
                }
    finally:
        _engine("rm", container)


def _engine(*arguments: str) -> bytes:
    return subprocess.run([ENGINE, *arguments], check=True, stdout=subprocess.PIPE).stdout


def _wanted(path: str) -> bool:
    return bool(
        re.search(r"var/lib/dpkg/status\.d/|usr/share/doc/.*/copyright$|os-release$", path)
        or path.endswith(".dist-info/METADATA")
    )


def spdx(name: str) -> str:
    """SPDX's name of a licence that Debian knows by this short name, where it has one."""
    if found := _GNU.fullmatch(name):
        kind, major, minor, later = found.groups()
        return f"{kind}-{major}.{minor or 0}-{'or-later' if later else 'only'}"
    return SPDX.get(name) or fixup_id(name) or name


def debian_licences(source: str, copyright_: str) -> Iterable[str]:
    """All that a package's files are under, as its copyright file has it."""
    if not copyright_.startswith("Format:"):
        return UNDER.get(re.sub(r"-?\d[\d.]*", "", source), [])
    names = re.findall(r"^License:[ \t]*(\S.*?)[ \t]*$", copyright_, re.MULTILINE)
    return sorted({spdx(name) for name in names})


def licences(names: Iterable[str]) -> list[License]:
    """CycloneDX has either several licences or one expression."""
    made = [LicenseFactory().make_from_string(name) for name in names]
    if len(made) == 1:
        return made
    return [
        DisjunctiveLicense(name=one.value) if isinstance(one, LicenseExpression) else one
        for one in made
    ]


def debian(found: dict[str, bytes], release: Mapping[str, str]) -> Iterator[Component]:
    for path, text in found.items():
        if not path.startswith("var/lib/dpkg/status.d/"):
            continue
        package = message_from_bytes(text)
        name, version = package["Package"], package["Version"]
        source = package.get("Source", name).split()[0]
        copyright_ = found[f"usr/share/doc/{name}/copyright"].decode(errors="replace")
        yield Component(
            type=ComponentType.LIBRARY, name=name, version=version, bom_ref=f"deb:{name}",
            licenses=licences(debian_licences(source, copyright_)),
            purl=PackageURL(
                "deb", "debian", name, version,
                {"arch": package["Architecture"], "upstream": source,
                 "distro": f"debian-{release['VERSION_ID']}"},
            ),
        )  # fmt: skip


def python(found: dict[str, bytes]) -> Iterator[Component]:
    for path, text in found.items():
        if PurePosixPath(path).name != "METADATA":
            continue
        package = message_from_bytes(text)
        name, version = package["Name"].lower().replace("_", "-"), package["Version"]
        licence = package["License-Expression"] or package["License"]
        yield Component(
            type=ComponentType.LIBRARY, name=name, version=version, bom_ref=f"pypi:{name}",
            licenses=licences([_LONG.get(licence, licence)]),
            purl=PackageURL("generic" if name == OURS else "pypi", None, name, version),
        )  # fmt: skip


def bom(image: str) -> Bom:
    found = files(image)
    (about,) = json.loads(_engine("image", "inspect", image))
    labels = about.get("Labels") or about["Config"]["Labels"]
    label = {key.rpartition(".")[2]: value for key, value in labels.items()}
    release = dict(re.findall(r'^(\w+)="?(.*?)"?$', found["usr/lib/os-release"].decode(), re.M))
    root = Component(
        type=ComponentType.CONTAINER, name=label["title"], version=label["version"],
        bom_ref="image", licenses=licences([label["licenses"]]),
    )  # fmt: skip
    system = Component(
        type=ComponentType.OPERATING_SYSTEM, name=release["ID"], version=release["VERSION_ID"],
        bom_ref="system",
    )  # fmt: skip
    parts = [system, *debian(found, release), *python(found)]
    made = Bom(components=parts, serial_number=uuid.uuid5(uuid.NAMESPACE_OID, about["Id"]))
    made.metadata.timestamp = datetime.fromisoformat(label["created"])
    made.metadata.component = root
    made.register_dependency(root, parts)
    return made


if __name__ == "__main__":
    print(JsonV1Dot6(bom(sys.argv[1])).output_as_string(indent=2))

"""The SBOM of the image is valid, and has what the image has: no more and no less."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import PurePosixPath
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from exporter import __version__
from tests.harness import ROOT
from tests.image import contents, image

SCRIPTS = ROOT / "scripts/image"


def _made() -> str:
    return subprocess.run(
        [sys.executable, SCRIPTS / "sbom.py", image()], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def text() -> str:
    return _made()


@pytest.fixture(scope="module")
def sbom(text: str) -> Mapping[str, Any]:
    return dict(json.loads(text))


def versions(sbom: Mapping[str, Any], *kinds: str) -> dict[str, str]:
    purls = [PackageURL.from_string(c["purl"]) for c in sbom["components"] if "purl" in c]
    return {purl.name: purl.version or "" for purl in purls if purl.type in kinds}


def test_it_is_valid(text: str) -> None:
    """CycloneDX 1.6, by the schema."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_it_is_the_same_each_time(text: str) -> None:
    """Of one image: neither time nor chance is in it."""
    assert _made() == text


def test_it_is_of_this_image(sbom: Mapping[str, Any]) -> None:
    assert sbom["metadata"]["component"]["name"] == "proctree-exporter"
    assert sbom["metadata"]["component"]["version"] == __version__


def test_debian_packages(sbom: Mapping[str, Any]) -> None:
    """Each that the image lists, with its version. The build lists the owner of each file."""
    with contents() as tar:
        listed = [
            message_from_bytes(stream.read())
            for member in tar
            if member.name.startswith("var/lib/dpkg/status.d/")
            and (stream := tar.extractfile(member))
        ]
    assert versions(sbom, "deb") == {package["Package"]: package["Version"] for package in listed}


def test_python_distributions(sbom: Mapping[str, Any]) -> None:
    """Each that is installed, and all of the lock file among them; ours is not from PyPI."""
    with contents() as tar:
        folders = {
            PurePosixPath(member.name).parts[-2]
            for member in tar
            if member.name.endswith(".dist-info/METADATA")
        }
    found = versions(sbom, "pypi", "generic")
    assert {f"{name.replace('-', '_')}-{version}.dist-info" for name, version in found.items()} == (
        folders
    )
    locked = {
        line.partition("==")[0]: line.partition("==")[2].split()[0]
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if "==" in line and not line.startswith(" ")
    }
    assert versions(sbom, "pypi") == locked
    assert versions(sbom, "generic") == {"proctree-exporter": __version__}


def test_every_part_has_a_licence(sbom: Mapping[str, Any]) -> None:
    assert [c["name"] for c in sbom["components"] if "purl" in c and not c.get("licenses")] == []


def test_the_page_of_licences_is_up_to_date(text: str) -> None:
    """`make sbom` writes it."""
    page = subprocess.run(
        [sys.executable, SCRIPTS / "licences.py"], input=text, check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    assert (ROOT / "docs/licences.md").read_text() == page

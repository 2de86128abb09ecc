"""Makes a page of the licences in an SBOM: from standard input to standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

ORIGINS = {"pkg:deb": "Debian", "pkg:pypi": "PyPI"}
HEAD = """\
# Licences of what the image has

Made by `make sbom` from the image's SBOM; `make test` compares. The texts are in the image: of
Debian's packages in `/usr/share/doc/PACKAGE/copyright` (all that occur in their sources are named
here, not only those of what is shipped), of Python's in their `.dist-info`. The exporter itself is
under {own}.

| part | from | licences |
|---|---|---|
"""


def words(component: dict[str, Any]) -> str:
    found = [
        one.get("expression") or one["license"].get("id") or one["license"]["name"]
        for one in component.get("licenses", [])
    ]
    return ", ".join(found)


def page(sbom: dict[str, Any]) -> str:
    rows = []
    for component in sbom["components"]:
        kind = component.get("purl", "").partition("/")[0]
        if origin := ORIGINS.get(kind):
            rows.append(f"| {component['name']} | {origin} | {words(component)} |\n")
    return HEAD.format(own=words(sbom["metadata"]["component"])) + "".join(sorted(rows))


if __name__ == "__main__":
    sys.stdout.write(page(json.load(sys.stdin)))

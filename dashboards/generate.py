"""Writes the dashboards' JSON beside it, and the list of panels in docs/dashboards.md:
`python -m dashboards.generate`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import exporter, overview, tree

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "docs/dashboards.md"
DASHBOARDS: Mapping[str, Callable[[], Dashboard]] = {
    "overview": overview.build,
    "tree": tree.build,
    "exporter": exporter.build,
}
_BEGIN, _END = "<!-- panels -->\n", "<!-- /panels -->\n"


def model(name: str) -> dict[str, Any]:
    """As Grafana imports it."""
    found: dict[str, Any] = json.loads(json.dumps(DASHBOARDS[name]().build(), cls=JSONEncoder))
    for number, panel in enumerate(found["panels"], start=1):
        panel["id"] = number
    return found


def text(name: str) -> str:
    """The file as it is checked in."""
    return json.dumps(model(name), indent=2, ensure_ascii=False) + "\n"


def document(old: str) -> str:
    """The document, with the list of panels that there are."""
    before, _, rest = old.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    lines = "".join(f"{line}\n" for name in DASHBOARDS for line in _listed(name))
    return f"{before}{_BEGIN}{lines}{_END}{after}"


def _listed(name: str) -> Iterator[str]:
    found = model(name)
    yield f"**{found['title']}**\n"
    yield "| question | answer |"
    yield "|---|---|"
    for panel in found["panels"]:
        if panel["type"] != "row":
            yield f"| {panel['title']} | {panel['description']} |"
    yield ""


def main() -> None:
    for name in DASHBOARDS:
        (HERE / f"{name}.json").write_text(text(name))
    DOCUMENT.write_text(document(DOCUMENT.read_text()))


if __name__ == "__main__":
    main()

"""docs/reference/ says what the code reads: it is written from the same catalogs."""

from __future__ import annotations

import re

import pytest

from exporter.config.catalog import KEYS
from exporter.publish.catalog import CATALOG
from scripts import reference

PAGES = reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_checked_in_is_the_one_generated(name: str) -> None:
    """After a change of a catalog or of the command line: python scripts/reference.py."""
    assert (reference.PLACE / name).read_text() == PAGES[name]


def test_there_is_no_other_page() -> None:
    """What is no longer generated is not left behind."""
    assert {path.name for path in reference.PLACE.iterdir()} == set(PAGES)


def test_nothing_is_left_out() -> None:
    """Each metric, each key and each flag has a line, and each line all its columns."""
    rows = {name: re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE) for name, text in PAGES.items()}
    assert {metric.name for metric in CATALOG} <= set(rows["metrics.md"])
    assert rows["config.md"] == [key.name for key in KEYS]
    assert {"--config.file FILE", "--explain PID", "--json"} <= set(rows["command-line.md"])
    for text in PAGES.values():
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_links_lead_somewhere() -> None:
    """To a file, and to a heading where one is named."""
    for text in PAGES.values():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            file, _, heading = link.partition("#")
            target = (reference.PLACE / file).resolve() if file else None
            found = target.read_text() if target else text
            headings = re.findall(r"^#+ (.+)$", found, re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert not heading or heading in anchors, link

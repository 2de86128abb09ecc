"""Reads the checked in dashboards as Grafana does: what is asked, and with which variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.harness import ROOT

FOLDER = ROOT / "dashboards"
NAMES = ("overview", "tree", "exporter")
MODELS: Mapping[str, Any] = {
    name: json.loads((FOLDER / f"{name}.json").read_text()) for name in NAMES
}
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")


class Query(NamedTuple):
    """One that a dashboard asks. `panel` is a title, or the name of an annotation."""

    dashboard: str
    panel: str
    ref: str
    expr: str
    instant: bool

    @property
    def id(self) -> str:
        return f"{self.dashboard}: {self.panel} {self.ref}"


def panels(name: str) -> list[dict[str, Any]]:
    """Without the rows."""
    return [panel for panel in MODELS[name]["panels"] if panel["type"] != "row"]


def variables(name: str) -> list[dict[str, Any]]:
    return list(MODELS[name]["templating"]["list"])


def annotations(name: str) -> list[dict[str, Any]]:
    return list(MODELS[name]["annotations"]["list"])


def queries(name: str) -> Iterator[Query]:
    """Of the panels, then of the annotations."""
    for panel in panels(name):
        for target in panel["targets"]:
            instant = target.get("instant", False)
            yield Query(name, panel["title"], target["refId"], target["expr"], instant)
    for annotation in annotations(name):
        yield Query(name, annotation["name"], "Anno", annotation["expr"], False)


ALL = [query for name in NAMES for query in queries(name)]


def chosen(name: str) -> dict[str, str]:
    """Every variable as when nothing is chosen, and all jobs have recording rules."""
    values = {"unrecorded": "()"}
    for variable in variables(name):
        if variable["type"] == "query":
            values.setdefault(variable["name"], variable.get("allValue"))
        elif variable["type"] in ("constant", "custom"):
            values[variable["name"]] = variable["current"]["value"]
    return values


def asked(expr: str, values: Mapping[str, str]) -> str:
    """The query as Prometheus gets it; what has no value is an error."""
    return _VARIABLE.sub(lambda found: values[found[1] or found[2]], expr)


def variable_query(variable: Mapping[str, Any]) -> tuple[str, str]:
    """The function that Grafana applies, and what is in its parentheses."""
    found = re.fullmatch(r"(\w+)\((.*)\)", variable["query"], re.DOTALL)
    assert found, variable["query"]
    return found[1], found[2]

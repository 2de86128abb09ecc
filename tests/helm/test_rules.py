"""The chart has the rules of dashboards/rules; what they tell of is tested there."""

from __future__ import annotations

from typing import Any

import yaml

from tests.harness import ROOT
from tests.helm.chart import needs_helm, one, render

pytestmark = needs_helm
RULES = ROOT / "dashboards/rules"


def groups(**values: str) -> list[dict[str, Any]]:
    rendered = render({"prometheusRule": {"enabled": True, **values}})
    return list(one(rendered, "PrometheusRule")["spec"]["groups"])


def written(runbooks: str = "docs/runbooks") -> list[dict[str, Any]]:
    texts = [(RULES / name).read_text() for name in ("alerts.yaml", "recording.yaml")]
    return [
        group
        for text in texts
        for group in yaml.safe_load(text.replace("docs/runbooks/", runbooks + "/"))["groups"]
    ]


def test_all_rules_are_there() -> None:
    """Each group, as it is written."""
    assert groups() == written()


def test_runbooks_are_where_the_values_say() -> None:
    """With a slash at the end or without."""
    place = "https://git.example.com/runbooks"
    assert groups(runbookUrl=place) == groups(runbookUrl=place + "/") == written(place)

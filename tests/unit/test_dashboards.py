"""The dashboards as files: what was generated, what each panel says of itself, what it asks for."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
import yaml

from dashboards.rules.generate import names_of
from exporter.model.classes import CLASSES
from exporter.model.labels import TREE_LABELS
from exporter.publish.catalog import BY_NAME, Metric
from tests import dashboards
from tests.dashboards import ALL, FOLDER, MODELS, NAMES, Query, annotations, panels, variables

PANELS = [(name, panel) for name in NAMES for panel in panels(name)]
every_panel = pytest.mark.parametrize(
    ("name", "panel"), PANELS, ids=[f"{name}: {panel['title']}" for name, panel in PANELS]
)
every_query = pytest.mark.parametrize("query", ALL, ids=[query.id for query in ALL])
every_dashboard = pytest.mark.parametrize("name", NAMES)

#: Prometheus' own of each scrape, and the client library's of the process.
OTHERS = {
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
}
SCRAPED = {"job", "instance"}
OF_TREES = {*TREE_LABELS, "comm", "exe"}
RECORDED = {
    rule["record"]
    for group in yaml.safe_load((FOLDER / "rules/recording.yaml").read_text())["groups"]
    for rule in group["rules"]
}
_SELECTOR = re.compile(r"([a-zA-Z_][\w:]*)\{([^}]*)\}")
_BARE = re.compile(r"\b(?:[\w:]*proctree_|process_|scrape_|up\b)[\w:]*(?![\w:{])")
_LABEL = re.compile(r'(\w+)(?:=~|!~|!=|=)"')


@every_dashboard
def test_checked_in(name: str) -> None:
    """The file is what `python -m dashboards.generate` writes."""
    from dashboards import generate

    assert (FOLDER / f"{name}.json").read_text() == generate.text(name)


def test_document() -> None:
    """docs/dashboards.md lists every panel; its pictures are there."""
    from dashboards import generate

    found = generate.DOCUMENT.read_text()
    assert found == generate.document(found)
    pictures = re.findall(r"\]\((pictures/[^)]*)\)", found)
    assert pictures
    assert all((generate.DOCUMENT.parent / picture).is_file() for picture in pictures)


@every_panel
def test_panel(name: str, panel: dict[str, Any]) -> None:
    """A question as title, a description, a unit, words for when there is nothing, queries."""
    assert panel["title"].endswith("?")
    assert panel["description"].endswith(".")
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"]
    assert defaults["noValue"]
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert panel["datasource"] == source
    assert panel["targets"]
    for target in panel["targets"]:
        assert target["datasource"] == source
        assert target["instant"] is (panel["type"] == "table")
        assert target["exemplar"] is (panel["type"] == "heatmap")


@every_dashboard
def test_places(name: str) -> None:
    """Ids and titles are unique, and no panel lies on another."""
    everything = MODELS[name]["panels"]
    ids = [panel["id"] for panel in everything]
    assert len(set(ids)) == len(ids)
    titles = [panel["title"] for panel in panels(name)]
    assert len(set(titles)) == len(titles)
    for one, other in combinations([panel["gridPos"] for panel in everything], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    assert all(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 for p in everything)


@every_panel
def test_long_names(name: str, panel: dict[str, Any]) -> None:
    """In legends names of any length keep both their ends, in about 80 characters; others are as
    they are. Cells of tables can be looked at whole."""
    steps = {step["id"]: step["options"] for step in panel.get("transformations") or []}
    if panel["type"] in ("timeseries", "bargauge"):
        options = steps["renameByRegex"]
        pattern, new = options["regex"], options["renamePattern"].replace("$", "\\")
        for length in (*range(200), 500, 1000):
            text = ("0123456789" * 100)[:length]
            shown = re.sub(pattern, new, text)
            assert shown == text if length <= 100 else len(shown) == 81
            assert shown[:40] == text[:40]
            assert shown[-40:] == text[-40:]
    elif panel["type"] == "table":
        assert panel["fieldConfig"]["defaults"]["custom"]["inspect"] is True


@every_dashboard
def test_refs(name: str) -> None:
    """The queries of a panel have a name each, and columns are called by them."""
    for panel in panels(name):
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs)
        values = {f"Value #{ref}" for ref in refs} if len(refs) > 1 else {"Value"}
        for step in panel.get("transformations") or []:
            if step["id"] == "organize":
                options = step["options"]
                named = {*options["renameByName"], *options["excludeByName"]}
                assert {field for field in named if field.startswith("Value")} == values


@every_query
def test_metrics(query: Query) -> None:
    """What is asked for is in the catalog with these labels, is recorded, or is Prometheus' own."""
    found = _SELECTOR.findall(query.expr)
    assert found
    assert _BARE.findall(query.expr) == []
    for metric, matchers in found:
        labels = set(_LABEL.findall(matchers))
        assert labels <= _labels_of(metric), metric
        chosen = matchers.startswith('job=~"$job",instance=~"$instance"')
        assert chosen, f"{metric} is asked of exporters that were not chosen"


@every_query
def test_groups(query: Query) -> None:
    """Series are summed and matched by labels that there are."""
    known = SCRAPED | OF_TREES | {"le"}.union(*(metric.labels for metric in BY_NAME.values()))
    for names in re.findall(r"\b(?:by|without|on) \(([^)]*)\)", query.expr):
        assert set(names.split(", ")) <= known


def test_all_metrics() -> None:
    """Every metric of the catalog is asked for by some panel."""
    asked = {_family(metric) for query in ALL for metric, _ in _SELECTOR.findall(query.expr)}
    assert {name for name in BY_NAME if name not in asked} == set()


@every_dashboard
def test_no_variable_is_missing_or_idle(name: str) -> None:
    """Each `$x` of a query is a variable, and each variable is in a query."""
    own = {"__rate_interval", "__range", "__interval", "__interval_ms"}
    listed = {variable["name"] for variable in variables(name)}
    texts = [query.expr for query in dashboards.queries(name)]
    texts += [v["query"] for v in variables(name) if v["type"] == "query"]
    used = {word for text in texts for word in re.findall(r"\$(\w+)", text)}
    assert used - own == listed - {"datasource"}


@every_dashboard
def test_variables(name: str) -> None:
    """Several can be chosen at once, and All fits series without the label."""
    for variable in variables(name):
        if variable["type"] != "query":
            continue
        assert variable["datasource"]["uid"] == "${datasource}"
        assert variable["multi"] is variable["includeAll"] is True
        assert variable["refresh"] == 2  # when the time range changes
        if variable["name"] != "unrecorded":
            everywhere = variable["name"] in SCRAPED
            assert variable["allValue"] == (".+" if everywhere else ".*")
            assert variable["query"].startswith("label_values(proctree_")


@pytest.mark.parametrize("name", ["overview", "tree"])
def test_classes(name: str) -> None:
    """The hidden variables hold the exporter's own table of what each call is for."""
    values = dashboards.chosen(name)
    for class_ in CLASSES:
        assert values[f"class_{class_}"] == names_of(class_)
    waiting = (names_of(class_) for class_ in ("wait", "futex", "sleep"))
    assert values["waiting"] == "|".join(waiting)


@every_dashboard
def test_links(name: str) -> None:
    """Links lead to dashboards that there are, and set variables that these have."""
    uids = {MODELS[other]["uid"]: other for other in NAMES}
    for panel in panels(name):
        for link in panel["fieldConfig"]["defaults"].get("links") or []:
            if link["url"].startswith("/d/"):
                uid, _, parameters = link["url"].removeprefix("/d/").partition("?")
                known = {variable["name"] for variable in variables(uids[uid])}
                assert set(re.findall(r"var-(\w+)=", parameters)) <= known
            else:
                assert link["url"] == "http://${__data.fields.instance}/api/v1/targets"


@every_dashboard
def test_tables_have_a_row_for_each_thing(name: str) -> None:
    """Grafana joins rows of several queries only where all labels are equal, the metric's name too;
    and it writes what stands for an empty table into each empty cell, unless that is overridden."""
    for panel in panels(name):
        if panel["type"] == "table":
            first, second, *_ = panel["transformations"]
            assert first == {
                "id": "filterFieldsByName", "options": {"exclude": {"names": ["__name__"]}},
            }  # fmt: skip
            assert second["id"] == "merge"
            assert panel["fieldConfig"]["overrides"][0] == {
                "matcher": {"id": "byRegexp", "options": ".*"},
                "properties": [{"id": "noValue", "value": ""}],
            }


@every_dashboard
def test_heatmaps_say_that_they_are_empty(name: str) -> None:
    """As time series an empty answer is a frame without fields, at which the panel fails."""
    for panel in panels(name):
        if panel["type"] == "heatmap":
            assert [target["format"] for target in panel["targets"]] == ["heatmap"]


@every_dashboard
def test_annotations(name: str) -> None:
    """Restarts are on all dashboards, deploys where trees are; each says what and where."""
    found = {annotation["name"]: annotation for annotation in annotations(name)}
    assert {"Exporter started", "Config loaded"} <= set(found)
    assert name == "exporter" or {"Deploys", "Restarts", "Kills"} <= set(found)
    for annotation in found.values():
        assert annotation["datasource"]["uid"] == "${datasource}"
        assert annotation["target"]["expr"] == annotation["expr"]
        assert annotation["titleFormat"]
        assert "{{" in annotation["textFormat"]


def _family(metric: str) -> str:
    """The name in the catalog."""
    for suffix in ("", "_bucket", "_sum", "_count"):
        name = metric.removesuffix(suffix)
        if name in BY_NAME and (not suffix or BY_NAME[name].kind == "histogram"):
            return name
    return metric


def _labels_of(metric: str) -> set[str]:
    if metric in OTHERS:
        return SCRAPED
    if metric in RECORDED:
        level = metric.partition(":")[0].split("_")
        return SCRAPED | OF_TREES | {"target"} | set(level) - {"tree", "instance"}
    family: Metric = BY_NAME[_family(metric)]
    trees = OF_TREES if family.about_targets and not family.per_target else set()
    le = {"le"} if metric.endswith("_bucket") else set()
    return SCRAPED | trees | set(family.labels) | le

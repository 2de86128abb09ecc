"""Both worlds' names stand side by side, and the documents say so."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.semconv import _incubating, attributes, schemas

from exporter.config.label_names import OUR_LABELS
from exporter.model.host import Host
from exporter.model.labels import TREE_LABELS
from exporter.model.metadata import Facts
from exporter.model.resource import Place
from exporter.publish.catalog import CATALOG
from exporter.publish.otlp.names import (
    ATTRIBUTES,
    BY_PROMETHEUS,
    SCHEMA_URL,
    TWINS,
    WITHOUT_TWIN,
    Twin,
)
from exporter.publish.otlp.resources import own_resource
from tests.unit import test_model_resource as resources

DOCUMENT = Path(__file__).parents[2] / "docs/opentelemetry.md"


def test_every_metric_has_a_twin() -> None:
    """In the order of the catalog; but for those whose labels Resources tell."""
    expected = [metric.name for metric in CATALOG if metric.name not in WITHOUT_TWIN]
    assert [twin.prometheus for twin in TWINS] == expected
    assert len({twin.name for twin in TWINS}) == len(TWINS) == len(BY_PROMETHEUS)


def test_every_label_has_an_attribute_or_is_told_by_resources() -> None:
    """No two are one."""
    own = {label for twin in TWINS for label in twin.metric.labels}
    assert own <= set(ATTRIBUTES)
    assert set(OUR_LABELS) - set(ATTRIBUTES) == {*TREE_LABELS, "kind", "root"}
    assert len(set(ATTRIBUTES.values())) == len(ATTRIBUTES)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_names_are_of_the_form_that_the_conventions_have(twin: Twin) -> None:
    """Lower case, no unit and no `total` in it; a unit of UCUM, or what is counted in braces."""
    assert re.fullmatch(r"proctree(\.[a-z][a-z0-9_]*)+", twin.name)
    assert not re.search(r"(_total|_seconds|_count)$", twin.name)
    assert re.fullmatch(r"s|1|\{[a-z]+\}", twin.unit)
    assert (twin.metric.unit == "seconds") == (twin.unit == "s")


def conventions() -> set[str]:
    """The names of all attributes there are, stable or not, as OpenTelemetry generates them."""
    found: set[str] = set()
    for package in (attributes, importlib.import_module(f"{_incubating.__name__}.attributes")):
        for module in pkgutil.iter_modules(package.__path__):
            names = vars(importlib.import_module(f"{package.__name__}.{module.name}"))
            found |= {value for value in names.values() if isinstance(value, str)}
    return found


def test_names_are_the_conventions() -> None:
    """What is not under our prefix is theirs, of metrics and of Resources."""
    named = {*ATTRIBUTES.values(), *resource_keys()}
    assert {key for key in named if not key.startswith("proctree.")} <= conventions()
    assert SCHEMA_URL in {schema.value for schema in schemas.Schemas}


def table(rows: list[tuple[str, ...]]) -> str:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])


def metrics_table() -> str:
    rows = [("Prometheus", "type", "labels", "OTLP", "instrument", "unit", "attributes")]
    for twin in TWINS:
        labels = ["LABELS" if label == "target" else label for label in twin.metric.labels]
        if twin.metric.per_target:
            labels = ["target"]
        rows.append(
            (
                f"`{twin.prometheus}`", twin.metric.kind, ", ".join(labels),
                f"`{twin.name}`", twin.instrument, f"`{twin.unit}`",
                ", ".join(f"`{ATTRIBUTES[label]}`" for label in twin.metric.labels),
            )
        )  # fmt: skip
    return table(rows)


def document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


def test_the_document_has_the_table() -> None:
    """`GOLDEN=write` accepts what the code has now."""
    pattern = re.compile(r"(?<=<!-- metrics -->\n).*?(?=\n<!-- /metrics -->)", re.DOTALL)
    if os.environ.get("GOLDEN") == "write":
        text = pattern.sub(lambda _: metrics_table(), document())
        DOCUMENT.write_text(text, encoding="utf-8")
    found = pattern.search(document())
    assert found
    assert found[0] == metrics_table()


def resource_keys() -> set[str]:
    """Of the document's table of Resources."""
    rows = re.findall(r"^\| `([^|]*)` \|", document().partition("## Resources")[2], re.MULTILINE)
    listed = {key for row in rows for key in row.split("`, `")}
    kinds = "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob"
    listed |= {f"k8s.{kind}.name" for kind in (*kinds, "replicationcontroller")}
    return listed - {"k8s.KIND.name"}


def test_the_document_has_what_resources_have() -> None:
    """Of a pod, of a container without one, of a PID, and of the exporter."""
    facts = [
        resources.KNOWN,
        Facts(container="a", image="b@sha256:1"),
        Facts("shop", image="sha256:1"),
    ]
    made = [
        resources.of((("target", "pods"), ("cgroup", resources.PATH)), facts=one) for one in facts
    ]
    made.append(
        resources.of(
            (("target", "x"), ("cgroup", f"/docker/{resources.ID}")),
            resources.Target("x", "container"), f"/docker/{resources.ID}", facts[1],
        )
    )  # fmt: skip
    made.append(resources.of((("target", "x"),), resources.Target("x", "pid", pid=7), "", None))
    made.append(dict(own_resource(resources.PLACE, {}, None, "1")))
    found = {key for one in made for key in one} - {"team"}
    assert found <= resource_keys()
    kinds = {key for key in resource_keys() if re.fullmatch(r"k8s\.[a-z]+\.name", key)}
    assert resource_keys() - found <= kinds


def test_the_exporters_own_resource() -> None:
    """What its deployment says goes first; the name of the service is its own variable's."""
    place = Place.of(Host("node-7", "f" * 32, ""), {"host.id": "i-0abc"})
    own = own_resource(place, {"host.id": "i-0abc", "team": "x"}, None, "1.2")
    assert own == (
        ("host.id", "i-0abc"), ("host.name", "node-7"), ("service.instance.id", "i-0abc"),
        ("service.name", "proctree-exporter"), ("service.version", "1.2"), ("team", "x"),
    )  # fmt: skip
    said = {"service.instance.id": "mine", "service.version": "9"}
    found = dict(own_resource(place, said, "watcher", "1.2"))
    assert {key: found[key] for key in said} == said
    assert found["service.name"] == "watcher"


def test_names_and_resources_import_nothing_of_opentelemetry() -> None:
    """Who does not send by OTLP does not pay for it."""
    code = (
        "import sys, exporter.service, exporter.model.resources, exporter.publish.otlp.names;"
        "import exporter.publish.otlp.resources;"
        "print([m for m in sys.modules if m.split('.')[0] in ('opentelemetry', 'google', 'grpc')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

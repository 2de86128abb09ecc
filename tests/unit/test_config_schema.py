"""Catalog, loader, model, schema and examples tell one story."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.config import schema
from exporter.config.catalog import (
    API,
    CLIENT_PAIR,
    CONTAINER,
    KEYS,
    OTLP,
    PODS,
    SECTIONS,
    SPANS,
    TARGET,
    TARGET_KINDS,
    TOP,
    WORDS,
    Key,
    keys_of,
)
from exporter.config.load import load, parse
from exporter.config.model import Config, Histograms, KubernetesApi, Limits, Otlp, Target
from exporter.errors import ConfigError
from exporter.model.target import ContainerWords, PodWords, SpanWords, Words

CONFIG = Path(__file__).parents[2] / "config"
FILES = [CONFIG / "default.yaml", *sorted((CONFIG / "examples").glob("*.yaml"))]
SCHEMA = schema.generate()


def fits(value: Any, rule: dict[str, Any]) -> bool:
    """JSON Schema, as much of it as ours uses; a keyword unknown here fails the test."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    types = {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "number": number,
        "integer": number and value == int(value),
    }
    text, items = isinstance(value, str), isinstance(value, list)
    properties = set(rule.get("properties", ()))
    checks: dict[str, Callable[[Any], bool]] = {
        "$schema": lambda _: True,
        "$defs": lambda _: True,
        "title": lambda _: True,
        "description": lambda _: True,
        "default": lambda _: True,
        "$ref": lambda ref: fits(value, SCHEMA["$defs"][ref.removeprefix("#/$defs/")]),
        "anyOf": lambda rules: any(fits(value, rule) for rule in rules),
        "oneOf": lambda rules: sum(fits(value, rule) for rule in rules) == 1,
        "type": lambda name: types[name],
        "const": lambda const: value is const,
        "enum": lambda words: any(type(value) is type(word) and value == word for word in words),
        "not": lambda rule: not fits(value, rule),
        "minimum": lambda low: not number or value >= low,
        "maximum": lambda high: not number or value <= high,
        "exclusiveMinimum": lambda low: not number or value > low,
        "minLength": lambda low: not text or len(value) >= low,
        "maxLength": lambda high: not text or len(value) <= high,
        "pattern": lambda pattern: not text or re.search(pattern, value) is not None,
        "minItems": lambda low: not items or len(value) >= low,
        "maxItems": lambda high: not items or len(value) <= high,
        "items": lambda rule: not items or all(fits(item, rule) for item in value),
        "uniqueItems": lambda _: not items or len(set(map(json.dumps, value))) == len(value),
        "required": lambda names: not types["object"] or set(names) <= set(value),
        "properties": lambda rules: (
            not types["object"]
            or all(fits(value[name], rules[name]) for name in rules if name in value)
        ),
        "additionalProperties": lambda rule: (
            not types["object"]
            or all(
                rule is not False and fits(value[name], rule) for name in set(value) - properties
            )
        ),
        "propertyNames": lambda rule: (
            not types["object"] or all(fits(name, rule) for name in value)
        ),
        "minProperties": lambda low: not types["object"] or len(value) >= low,
        "dependentRequired": lambda rules: (
            not types["object"]
            or all(set(rules[name]) <= set(value) for name in rules if name in value)
        ),
    }
    return all(checks[word](argument) for word, argument in rule.items())


def loads(document: Any) -> bool:
    try:
        parse(json.dumps(document), "c.yaml")  # JSON is YAML
    except ConfigError:
        return False
    return True


def document_with(key: Key, value: Any) -> Any:
    """A config that is good if `value` is good for `key`."""
    if key.section == TARGET:
        root = {"name": "x"} if key.name in TARGET_KINDS else {"pid": 4711}
        return [root | {key.name: value}]
    if key.section == TOP:
        return {"targets": [4711]} | {key.name: value}
    if key.section in (WORDS, CONTAINER, PODS):
        kind = "kubernetes" if key.section == PODS else key.section
        return [{"name": "x", kind: {key.name: value}}]
    if key.section == SPANS:
        return [{"pid": 4711, "spans": {key.name: value}}]
    above = "kubernetes" if key.section == API else key.section
    more = {"by": "both"} if key.name == "classic" else {}
    if key.name in CLIENT_PAIR:
        more = dict.fromkeys(CLIENT_PAIR, "/x")
    return {"targets": [4711], above: more | {key.name: value}}


VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 4, 15, 16, 999, 1000, 4096, 4097, 4194304, 4194305,
    10_000_001, 1.5, "", " ", "x", "x" * 200, "x" * 201, "/", "/a", "a", "/a*", "syscall", "1",
    [], [1], ["/a"], [0], ["a"], [None], [-0.5], [True], [{"pid": 1}], [{"pid": 1, "all": True}],
    [{}], {}, {"x": 1}, "a.b", "5m", "1m30s", "0s", "5x", "1m1h", "x.service", "x@1.slice",
    "@.scope", "x@.service", "x.timer", "http://x", "https://10.0.0.1:6443/a", "ftp://x",
    "https://a b", "class", "comm", ["comm"], ["comm", "exe"], ["exe", "exe"], ["pod"],
    ["pod", "node"], "**/x", "**", ".*",
    "x" * 15, "x" * 16, "*" * 16, "*" + "x" * 15, "?" * 16, "x" * 1024, "x" * 1025, 2**32 - 2,
    2**32 - 1, "www-data", "a:b", ["x", "y"], ["x", 1], ["app", "a.b/c"], ["-a"], ["/a"], ["A.b/c"],
    {"exe": "/x"}, {"comm": ["x", "y*"]}, {"comm": []}, {"user": 0}, {"user": "0"}, [{"comm": "x"}],
    [{"comm": "x"}, {"exe": "x"}], {"name": "x"}, {"image_re": "x.*"}, {"pod": "x"},
    {"labels": {"app": "web"}}, {"labels": {"a/b": ["x", "y"]}}, {"labels": {"a b": "x"}},
    {"labels": {}},
    {"team": "x"}, {"__x": "x"}, {"job": "x"}, {"le": "x"}, {"pod": 1}, {"a-b": "x"},
    {"server": "https://x"}, {"node": "n1"}, {"node": "N1"}, {"token_file": "/t"}, {"app": ["x"]},
    "http/protobuf", "http/json", "grpc", "gzip", "none", "http://x:4318/a?b", "http://u@x",
    "500us", "250ms", "openat", ["openat", "fsync"], ["openat", "x"], "EIO", ["EIO", "ENOSPC"],
    "enoent", 0.001, 1e-10, {"a-b": "x y"}, {"a": " x"}, {"a b": "x"}, {"host": "x"}, {"a": ""},
    {"metrics": True}, {"traces": 1}, {"endpoint": "http://x"}, {"client_key": "/k"},
    {"client_key": "/k", "client_certificate": "/c"}, {"sample": 0}, {"sample": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_schema_and_loader_agree_on_each_key(key: Key) -> None:
    """What the schema lets through for a key, the loader does, and the other way round.

    Whether text is a regular expression, no schema says: none of ours begins with what repeats.
    """
    regex = key.name.endswith("_re")
    values = [v for v in VALUES if not (regex and isinstance(v, str) and v.startswith(("*", "?")))]
    documents = [document_with(key, value) for value in values]
    agreed = [(document, fits(document, SCHEMA)) for document in documents]
    assert agreed == [(document, loads(document)) for document in documents]
    assert any(good for _, good in agreed)
    assert not all(good for _, good in agreed)


def test_schema_knows_the_keys_of_the_catalog_and_no_others() -> None:
    """Every section has its keys, in the order of the catalog, with defaults and docs."""
    for section in SECTIONS:
        properties = SCHEMA["$defs"][section]["properties"]
        assert list(properties) == list(keys_of(section))
        for name, key in keys_of(section).items():
            assert properties[name]["description"] == key.doc
            assert properties[name].get("default") == key.default


def test_the_schema_checked_in_is_the_one_generated() -> None:
    """After a change of the catalog: python -m exporter.config.schema > config/schema.json."""
    assert (CONFIG / "schema.json").read_text() == schema.text()


@pytest.mark.parametrize(
    ("model", "section", "more"),
    [
        (Config, TOP, {"file", "warnings"}),
        (Target, TARGET, {"kind", "line", "absolute", "pattern"}),
        (Words, WORDS, set()),
        (ContainerWords, CONTAINER, set()),
        (PodWords, PODS, set()),
        (KubernetesApi, API, set()),
        (Histograms, "histograms", set()),
        (Limits, "limits", set()),
        (SpanWords, SPANS, set()),
        (Otlp, OTLP, set()),
    ],
)
def test_the_model_has_a_field_for_each_key(model: Any, section: str, more: set[str]) -> None:
    """A key that is read reaches the config by its own name.

    `all` is a kind of target; what all targets inherit is in each; `x_re` is another `x`.
    """
    elsewhere = {"all"} if section == TARGET else set()
    elsewhere |= {TOP: {"static_labels"}, "histograms": {"buckets"}}.get(section, set())
    fields = {field.name.removesuffix("_ns") for field in dataclasses.fields(model)}
    keys = {name.removesuffix("_re") for name in keys_of(section)}
    assert fields - more == keys - elsewhere


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_example_loads(file: Path) -> None:
    """What we ship is good, warns of nothing, and fits the schema."""
    assert load(file).warnings == ()
    assert fits(yaml.safe_load(file.read_text()), SCHEMA)


def test_the_default_config_follows_pid_1_with_the_defaults() -> None:
    """config/default.yaml spells out the defaults and changes none of them."""
    shipped, bare = load(FILES[0]), parse("- {name: init, pid: 1}", "c.yaml")
    assert dataclasses.replace(shipped.targets[0], line=1) == bare.targets[0]
    assert len(shipped.targets) == 1
    for field in ("histograms", "limits", "self_cost"):
        assert getattr(shipped, field) == getattr(bare, field)


def test_the_default_config_names_every_setting() -> None:
    """Who opens it sees all there is to set beside targets; what has no default, as a comment."""
    text = FILES[0].read_text()
    for section in (TOP, API, "histograms", "limits", OTLP):
        indent = "" if section == TOP else "  "
        for name in keys_of(section):
            assert re.search(rf"^(# )?{indent}{name}:", text, re.MULTILINE), name


def test_what_the_default_config_has_as_comments_is_good() -> None:
    """The comment sign taken away from the settings, the file is a config with all of them."""
    text = re.sub(r"^# (?=( *)(- )?[a-z_]+:( |$))", "", FILES[0].read_text(), flags=re.MULTILINE)
    written = yaml.safe_load(text)
    assert set(written) == set(keys_of(TOP))
    assert parse(text, "c.yaml").warnings == ()

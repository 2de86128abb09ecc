"""JSON Schema of the config, for editors; generated from the catalog and checked in.

    python -m exporter.config.schema > config/schema.json

The schema says what stands where. What concerns several values at once (names used twice, bounds
at the scale set) only the loader knows: `proctree-exporter check` has the last word.
"""

from __future__ import annotations

import json
from typing import Any

from exporter.config.calls import definitions
from exporter.config.catalog import (
    CLIENT_PAIR,
    NAMELESS,
    NOT_EMPTY,
    OTLP,
    SECTIONS,
    TARGET,
    TARGET_KINDS,
    TOP,
    keys_of,
)


def generate() -> dict[str, Any]:
    """The whole schema."""
    sections = {section: _section(section) for section in SECTIONS}
    sections[TOP]["required"] = ["targets"]
    sections[TARGET]["oneOf"] = [{"required": [kind]} for kind in TARGET_KINDS]
    sections[TARGET]["dependentRequired"] = {kind: ["name"] for kind in NAMELESS}
    first, second = CLIENT_PAIR
    sections[OTLP]["dependentRequired"] = {first: [second], second: [first]}
    for section in NOT_EMPTY:
        sections[section]["minProperties"] = 1
    keys = keys_of(TARGET)
    item = [keys["pid"].kind.schema(), keys["cgroup"].kind.schema(), _ref(TARGET)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "proctree-exporter: config file",
        "anyOf": [_ref("targets"), _ref(TOP)],
        "$defs": {
            "targets": {"type": "array", "minItems": 1, "items": {"anyOf": item}},
            **sections,
            **definitions(),
        },
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _section(section: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, key in keys_of(section).items():
        default = {} if key.default is None else {"default": key.default}
        properties[name] = {"description": key.doc, **key.kind.schema(), **default}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def text() -> str:
    """The schema as it is checked in."""
    return json.dumps(generate(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")

"""Puts config/schema.json into the chart's values.schema.json, whose value `config` it describes.

    .venv/bin/python scripts/helm/values_schema.py

What is the chart's own is written by hand, its definitions named `chart.…`; all other definitions
are the config's. Left to the exporter, which has the last word in any case, is what Helm does not
do well: its regular expressions (RE2) have no lookarounds and count to 1,000, and of names of
properties (`propertyNames`) it says the wrong place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config/schema.json"
VALUES = ROOT / "helm/proctree-exporter/values.schema.json"
_NOT_FOR_RE2 = re.compile(r"\(\?[=!<]|[{,][0-9]{4,}\}")


def for_helm(schema: object) -> object:
    """Without the patterns that Go's regexp cannot compile, and `propertyNames`."""
    if isinstance(schema, list):
        return [for_helm(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: for_helm(value)
        for key, value in schema.items()
        if key != "propertyNames"
        and not (key == "pattern" and isinstance(value, str) and _NOT_FOR_RE2.search(value))
    }


def generate() -> str:
    """The whole of values.schema.json as it should be."""
    values = json.loads(VALUES.read_text())
    own = {name: made for name, made in values["$defs"].items() if name.startswith("chart.")}
    values["$defs"] = {**own, **for_helm(json.loads(CONFIG.read_text())["$defs"])}
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    VALUES.write_text(generate())

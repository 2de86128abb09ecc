"""Plain text is read by YAML 1.2, where PyYAML would read it by 1.1."""

from __future__ import annotations

import math

import pytest

from exporter.config.scalar import Value, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4711", 4711),
        ("-5", -5),
        ("+5", 5),
        ("0", 0),
        ("0o17", 15),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("9.53674316e-07", 9.53674316e-07),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
    ],
)
def test_values(text: str, value: Value) -> None:
    """Numbers, bools and null of the core schema, with their types."""
    assert (resolve(text), type(resolve(text))) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    ["0777", "1:30", "1_000", "0b1", "yes", "no", "on", "off", "y", "tRUE", "2001-12-14", "-0x1",
     "0O17", "٣", "1 ", "nan", "inf", "<<", "=", "9" * 5000],
)  # fmt: skip
def test_text(text: str) -> None:
    """All else is the text itself: 1.1's octals, dates and words, the digits of other scripts."""
    assert resolve(text) == text


def test_nan() -> None:
    """.nan is a number, if no useful one."""
    value = resolve(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)

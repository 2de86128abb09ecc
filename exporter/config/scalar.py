"""What plain (unquoted) text is: YAML 1.2's core schema, less its one trap.

PyYAML resolves by YAML 1.1, where `no` is false, `1:30` is 90, `1_000` is 1000 and `0777` is 511.
Here all of these are text. In 1.2 `0777` is 777, which few who write it mean: it is text too.

Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import re

# No number of a config has forty digits; CPython refuses to read those of more than 4300.
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,39})")
_OCTAL = re.compile(r"0o[0-7]{1,40}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,40}")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)"
)
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}

Value = str | int | float | bool | None


def resolve(text: str) -> Value:
    """The value of plain text: null, a bool, a number or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text

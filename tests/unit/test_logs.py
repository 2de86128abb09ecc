"""One event is one line, whatever is in it."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import logs

PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s"=]+)(?: |$)')
HOSTILE = [
    "", " ", "=", '"', "\\", "a=b level=error", "two\nlines", "\r", "\x1b[31mred", "\0", "tab\t",
    "\u2028", "\u0085", "\u202eright to left", "\udcff", "é☃", '{"level": "error"}', "%s %d",
]  # fmt: skip
Said = Callable[..., str]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger("exporter")
    before = (root.handlers[:], root.level, root.propagate)
    yield
    root.handlers[:], root.level, root.propagate = before


def said(format_: str, message: str, *arguments: object, level: str = "info") -> str:
    stream = io.StringIO()
    logs.configure(level, format_, stream)
    logging.getLogger("exporter.some.part").warning(message, *arguments)
    return stream.getvalue()


def fields(line: str) -> dict[str, str]:
    """logfmt read back, strictly: nothing but pairs."""
    assert "".join(match[0] for match in PAIR.finditer(line)) == line
    pairs = [(key, json.loads(v) if v[0] == '"' else v) for key, v in PAIR.findall(line)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def one_line(text: str) -> str:
    assert text.endswith("\n")
    assert len(text.splitlines()) == 1
    return text.removesuffix("\n")


@pytest.mark.parametrize("message", HOSTILE)
def test_hostile_text(message: str) -> None:
    """It stays in its field: it makes no line, no field and no colour of its own."""
    for argument in ((message,), ("%s", message)):
        if "%" in message and len(argument) == 1:
            continue
        line = one_line(said("logfmt", *argument))
        assert "\x1b" not in line
        found = fields(line)
        assert found["msg"] == message
        assert (found["level"], found["source"]) == ("warn", "some.part")
        parsed = json.loads(one_line(said("json", *argument)))
        assert parsed == {**found, "time": parsed["time"]}


@given(st.text())
def test_any_text(message: str) -> None:
    """Both formats give it back as it was."""
    assert fields(one_line(said("logfmt", "%s", message)))["msg"] == message
    assert json.loads(one_line(said("json", "%s", message)))["msg"] == message


def test_the_time_is_utc() -> None:
    """RFC 3339, in milliseconds."""
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields(one_line(said("logfmt", "x")))["time"]
    )


def test_levels() -> None:
    """What is below the level is not said."""
    assert said("logfmt", "x", level="error") == ""
    for level in ("debug", "info", "warn"):
        assert said("logfmt", "x", level=level)


def test_configuring_twice_says_it_once() -> None:
    """The last configuration counts."""
    logs.configure("info", "json", io.StringIO())
    one_line(said("logfmt", "x"))


@pytest.mark.parametrize("format_", logs.FORMATS)
def test_an_exception_is_named(format_: str) -> None:
    """What nobody expected is said with its reason, in one line all the same."""
    stream = io.StringIO()
    logs.configure("info", format_, stream)
    try:
        raise ValueError("very\nodd")
    except ValueError:
        logging.getLogger("exporter.x").exception("tending failed")
    line = one_line(stream.getvalue())
    assert "ValueError" in line
    assert "odd" in line
    assert fields(line) if format_ == "logfmt" else json.loads(line)

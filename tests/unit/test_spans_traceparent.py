"""A trace is joined where the environment names one by the letter of the standard, and only so."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from exporter.model.spans.traceparent import Joined, joined_by

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01".encode()
JOINED = Joined(bytes.fromhex(TRACE), bytes.fromhex(SPAN), 1)


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (f"00-{TRACE}-{SPAN}-00", 0),
        (f"00-{TRACE}-{SPAN}-01", 1),
        (f"00-{TRACE}-{SPAN}-03", 3),  # level 2: the trace id is random
        (f"00-{TRACE}-{SPAN}-ff", 3),  # flags that nobody has defined
        (f"01-{TRACE}-{SPAN}-03", 1),  # of a version to come only the one that it must have
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", 1),
        (f"fe-{TRACE}-{SPAN}-01-", 1),
    ],
)
def test_what_is_valid(value: str, flags: int) -> None:
    """Version 00, and what is known of others."""
    assert joined_by(value.encode()) == JOINED._replace(flags=flags)


@pytest.mark.parametrize(
    "value",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-",
        f"00-{TRACE}-{SPAN}-01-extra",
        f"00-{TRACE}-{SPAN}-011",
        f"cc-{TRACE}-{SPAN}-01.what",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"0A-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0A",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}g-01",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01 ",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00_{TRACE}_{SPAN}_01",
        f"٠٠-{TRACE}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"cc-{'0' * 32}-{SPAN}-01-x",
    ],
)
def test_what_is_refused(value: str) -> None:
    """Nothing is guessed: hostile and careless values name no trace."""
    assert joined_by(value.encode()) is None


NEARLY = st.builds(
    "{}-{}-{}-{}{}".format,
    st.from_regex("[0-9a-f]{2}|ff|00|[0-9A-F]{1,2}", fullmatch=True),
    st.from_regex("[0-9a-f]{32}|0{32}|[0-9A-Fa-f]{31,33}", fullmatch=True),
    st.from_regex("[0-9a-f]{16}|0{16}|[0-9A-Fa-f]{15,17}", fullmatch=True),
    st.from_regex("[0-9a-f]{2}|0[0-3]|[0-9A-F]{1,3}", fullmatch=True),
    st.sampled_from(["", "-", "-x", ".", "-" * 300, "x"]),
)


@given(NEARLY | st.text(max_size=70))
@example(GOOD.decode())
def test_the_library_agrees(value: str) -> None:
    """Where there are no blanks around it, opentelemetry-api's propagator reads the same."""
    ours = joined_by(value.encode(errors="surrogatepass"))
    if re.search(r"^\s|\s$|\n", value):
        return
    context = TraceContextTextMapPropagator().extract({"traceparent": value})
    theirs = get_current_span(context).get_span_context()
    assert theirs.is_valid is isinstance(ours, Joined)
    if isinstance(ours, Joined):
        assert theirs.trace_id == int.from_bytes(ours.trace_id)
        assert theirs.span_id == int.from_bytes(ours.span_id)
        assert theirs.trace_flags & (3 if value.startswith("00") else 1) == ours.flags


@given(st.sampled_from([0, 1, 204]), st.text("0123456789abcdef-x", max_size=20))
def test_56_bytes_say_all(version: int, more: str) -> None:
    """That is what the kernel tells of a longer value: it is valid where the whole is."""
    value = b"%02x" % version + GOOD[2:] + more.encode()
    assert joined_by(value[:56]) == joined_by(value)

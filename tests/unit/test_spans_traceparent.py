"""A trace is joined where the environment names one by the letter of the standard, and only so."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from exporter.model.spans.traceparent import Environment, Joined, Refusal, joined_by, parse

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
    assert parse(value.encode()) == JOINED._replace(flags=flags)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-1", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-01-", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-01-extra", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-011", Refusal.FORM),
        (f"cc-{TRACE}-{SPAN}-01.what", Refusal.FORM),
        (f"00-{TRACE.upper()}-{SPAN}-01", Refusal.FORM),
        (f"00-{TRACE}-{SPAN.upper()}-01", Refusal.FORM),
        (f"0A-{TRACE}-{SPAN}-01", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-0A", Refusal.FORM),
        (f"00-{TRACE[1:]}-{SPAN}-01", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}g-01", Refusal.FORM),
        (f" 00-{TRACE}-{SPAN}-01", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-01 ", Refusal.FORM),
        (f"00-{TRACE}-{SPAN}-01\n", Refusal.FORM),
        (f"00_{TRACE}_{SPAN}_01", Refusal.FORM),
        (f"٠٠-{TRACE}-{SPAN}-01", Refusal.FORM),
        (f"ff-{TRACE}-{SPAN}-01", Refusal.VERSION),
        (f"00-{'0' * 32}-{SPAN}-01", Refusal.ZEROS),
        (f"00-{TRACE}-{'0' * 16}-01", Refusal.ZEROS),
        (f"cc-{'0' * 32}-{SPAN}-01-x", Refusal.ZEROS),
    ],
)
def test_what_is_refused(value: str, reason: Refusal) -> None:
    """Nothing is guessed: hostile and careless values name no trace."""
    assert parse(value.encode()) is reason


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
    ours = parse(value.encode(errors="surrogatepass"))
    if re.search(r"^\s|\s$|\n", value):
        return
    context = TraceContextTextMapPropagator().extract({"traceparent": value})
    theirs = get_current_span(context).get_span_context()
    assert theirs.is_valid is isinstance(ours, Joined)
    if isinstance(ours, Joined):
        assert theirs.trace_id == int.from_bytes(ours.trace_id)
        assert theirs.span_id == int.from_bytes(ours.span_id)
        assert theirs.trace_flags & (3 if value.startswith("00") else 1) == ours.flags


def test_the_first_variable_counts() -> None:
    """As getenv(3) has it, whether it is valid or not; and names that only end so are none."""
    assert joined_by(b"A=b\0TRACEPARENT=" + GOOD + b"\0TRACEPARENT=x\0") == JOINED
    assert joined_by(b"A=b\0TRACEPARENT=x\0TRACEPARENT=" + GOOD + b"\0") is None
    assert joined_by(b"XTRACEPARENT=" + GOOD + b"\0") is None
    assert joined_by(b"A=TRACEPARENT=" + GOOD + b"\0") is None
    assert joined_by(b"traceparent=" + GOOD + b"\0") is None
    assert joined_by(b"TRACEPARENT=" + GOOD) == JOINED, "the last one may come without its NUL"
    assert joined_by(b"") is None


def test_a_value_is_read_to_its_end() -> None:
    """What comes after 55 characters makes version 00 invalid, wherever the parts are cut."""
    for begin in (b"TRACEPARENT=" + GOOD, b"TRACEPARENT=" + GOOD + b"x" * 5000):
        environment = Environment()
        environment.feed(begin)
        environment.feed(b"y\0TRACEPARENT=" + GOOD + b"\0")
        assert environment.value is not None
        assert parse(environment.value) is Refusal.FORM


OTHERS = st.binary(max_size=80).map(lambda data: data.replace(b"\0", b""))
ENTRIES = st.lists(
    st.one_of(
        st.just(b"TRACEPARENT=" + GOOD), st.just(b"TRACEPARENT="), st.just(b"TRACEPARENT"),
        st.just(b"XTRACEPARENT=" + GOOD), OTHERS,
        st.just(b"A=" + b"TRACEPARENT=" * 20), st.just(b"TRACEPARENT=" + GOOD + b"-" * 99),
    )
)  # fmt: skip


@given(ENTRIES, st.lists(st.integers(0, 1000), max_size=20))
def test_parts_say_what_the_whole_says(entries: list[bytes], cuts: list[int]) -> None:
    """However an environment is cut, byte by byte included; and hardly anything is kept of it."""
    whole = b"".join(entry + b"\0" for entry in entries)
    values = [e.removeprefix(b"TRACEPARENT=") for e in entries if e.startswith(b"TRACEPARENT=")]
    edges = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})
    for parts in (
        [whole[a:b] for a, b in pairwise(edges)],
        [whole[i : i + 1] for i in range(len(whole))],
    ):
        environment = Environment()
        for part in parts:
            environment.feed(part)
            assert len(environment._begun) < 100
        assert environment.value == (values[0][:56] if values else None)

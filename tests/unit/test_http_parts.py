"""The small parts that the HTTP side is made of: choice of format, addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import UsageError
from exporter.publish.listen import Address, parse_address
from exporter.publish.negotiate import Format, accepts_gzip, choose_format

PROM = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;"
    "q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "format_"),
    [
        (PROM, Format.PROTOBUF),
        (PROM.partition(",")[2], Format.OPENMETRICS),
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Format.TEXT),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("application/openmetrics-text; version=0.0.1", Format.TEXT),
        ("application/openmetrics-text;version=2.0.0,text/plain;q=0.1", Format.TEXT),
        ("application/openmetrics-text;version=1.0.0;q=0", Format.TEXT),
        ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;q=0.9", Format.TEXT),
        ('Application/OpenMetrics-Text ; Version="1.0.0" ; Q=0.9 , */*;q=0.1', Format.OPENMETRICS),
        ("application/vnd.google.protobuf", Format.TEXT),
        ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
         "encoding=text", Format.TEXT),
        ("application/openmetrics-text;q=nan", Format.TEXT),
        ("application/openmetrics-text;q=2", Format.TEXT),
        ("application/openmetrics-text;q=", Format.TEXT),
        (";;;,,=,q=;;\x00\xff", Format.TEXT),
    ],
)  # fmt: skip
def test_negotiation(accept: str, format_: Format) -> None:
    """The highest q that we have; nonsense gets text."""
    assert choose_format(accept) is format_


@given(st.text())
def test_no_accept_header_is_an_error(header: str) -> None:
    """Whatever it says, there is an answer."""
    assert choose_format(header) in Format
    assert accepts_gzip(header) in (True, False)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [("gzip", True), ("deflate, GZIP;q=0.5", True), ("gzip;q=0", False), ("gzip;q=0.0", False),
     ("", False), ("identity", False), ("*", False), ("gzipped", False), ("gzip;q=x", False)],
)  # fmt: skip
def test_gzip_only_where_it_is_accepted(header: str, wanted: bool) -> None:
    """By Accept-Encoding, where q=0 means no."""
    assert accepts_gzip(header) is wanted


@pytest.mark.parametrize(
    ("text", "address"),
    [(":9847", Address("", 9847)), ("127.0.0.1:9847", Address("127.0.0.1", 9847)),
     ("[::1]:9847", Address("::1", 9847)), ("localhost:0", Address("localhost", 0)),
     ("[fe80::1%eth0]:1", Address("fe80::1%eth0", 1)), ("[::]:65535", Address("::", 65535))],
)  # fmt: skip
def test_listen_addresses(text: str, address: Address) -> None:
    """The spellings of Prometheus' exporters, and back."""
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "9847", "localhost", ":", ":http", ":-1", ":65536", "::1:9847", "[::1]", "[]:1", "[a]:1",
     "http://localhost:9847", "a b:1", "x@y:1", ":１", ":1 ", "\x00:1", "[::1:9847", "::1]:9847"],
)  # fmt: skip
def test_bad_listen_addresses(text: str) -> None:
    """One clear line that quotes what was found."""
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)

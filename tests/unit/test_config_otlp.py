"""`otlp`: what it becomes, what is refused, and what contradicts itself."""

from __future__ import annotations

import dataclasses

import pytest

from exporter.config.catalog import OTLP, keys_of
from exporter.config.fixed import fixed_at_start
from exporter.config.load import parse
from exporter.config.model import Config, Otlp
from exporter.errors import ConfigError
from exporter.model.otlp import MIN_INTERVAL_NS, OUR_HEADERS

MS = 1_000_000
SECRET = "hunter2"


def config(otlp: str, spans: str = "") -> Config:
    """With a target whose spans stand on the first line, and `otlp` on the second."""
    return parse(f"targets: [{{pid: 1{spans}}}]\notlp: {otlp}", "c.yaml")


def problems(otlp: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config(otlp)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def warnings(otlp: str, spans: str = "") -> list[str]:
    found = config(otlp, spans).warnings
    return [f"{w.line}:{w.column}: {w.message}" for w in found]


def test_every_key() -> None:
    """Each is taken as it is written; durations in ns."""
    text = """
  metrics: true
  traces: true
  endpoint: https://collector.example:4317
  protocol: grpc
  headers: {Authorization: Bearer x=, x-scope-orgid: "7"}
  compression: gzip
  timeout: 10s
  certificate: /ca.pem
  client_certificate: /c.pem
  client_key: /k.pem
  interval: 100ms
  shutdown_timeout: 0s
"""
    assert config(text, ", spans: {intervals: true}") == dataclasses.replace(
        config("{}", ", spans: {intervals: true}"),
        otlp=Otlp(
            True, True, "https://collector.example:4317", "grpc",
            (("Authorization", "Bearer x="), ("x-scope-orgid", "7")), "gzip", 10_000 * MS,
            "/ca.pem", "/c.pem", "/k.pem", MIN_INTERVAL_NS, 0,
        ),
        warnings=(),
    )  # fmt: skip


def test_what_is_left_out_is_not_decided_here() -> None:
    """The environment may say it. No `otlp` at all is none, and one without keys sends nothing."""
    assert parse("[1]", "c.yaml").otlp is None
    assert config("{metrics: true}").otlp == Otlp(metrics=True)
    assert config("{}").otlp == Otlp()
    assert config("{headers: {}}").otlp == Otlp(headers=())  # none, whatever the environment has


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:4318", "https://x", "http://x:", "http://x:65535/", "http://[::1]:4318",
        "http://a_b.example/base/path%20x/", "http://x/v1/other",
    ],
)  # fmt: skip
def test_endpoints(url: str) -> None:
    """As they were written."""
    found = config(f"{{metrics: true, endpoint: '{url}'}}")
    assert found.otlp
    assert found.otlp.endpoint == url
    assert found.warnings == ()


SCHEME = "2:18: otlp.endpoint: expected a URL that begins with http:// or https://, found the text"
URL = "2:18: otlp.endpoint: expected a URL such as http://127.0.0.1:4318, found the text"
BRACKETS = "; write an IPv6 address as in http://[::1]:4318"
PORT = "2:18: otlp.endpoint: expected a URL with a port from 1 to 65535, found the text"
OTHER = "; percent-encode blanks and other characters"
ENDPOINTS = {
    "otelcol:4318": f"{SCHEME} 'otelcol:4318'; write http://otelcol:4318, or https:// for TLS",
    "localhost": f"{SCHEME} 'localhost'; write http://localhost, or https:// for TLS",
    "/v1/traces": f"{SCHEME} '/v1/traces'",
    "": f"{SCHEME} ''",
    "ftp://x": f"{SCHEME} 'ftp://x'",
    "HTTP://x": f"{SCHEME} 'HTTP://x'",
    "grpc://x:4317": f"{SCHEME} 'grpc://x:4317'; write http:// beside 'protocol: grpc'",
    "http://": "2:18: otlp.endpoint: expected a URL with a host, found the text 'http://'",
    "http://:4318": "2:18: otlp.endpoint: expected a URL with a host, found the text 'http://:4318'",
    "http://x:0": f"{PORT} 'http://x:0'",
    "http://x:65536": f"{PORT} 'http://x:65536'",
    "http://x:otlp": f"{PORT} 'http://x:otlp'",
    "http://::1:4318": f"{URL} 'http://::1:4318'{BRACKETS}",
    "http://[::1": f"{URL} 'http://[::1'{BRACKETS}",
    "http://[x]:1": f"{URL} 'http://[x]:1'{BRACKETS}",
    "http://[abc]:1": f"{URL} 'http://[abc]:1'{BRACKETS}",
    "http://[::1]x": f"{URL} 'http://[::1]x'{BRACKETS}",
    "http://x y": f"{URL} 'http://x y'{OTHER}",
    "http://x/ä": f"{URL} 'http://x/ä'{OTHER}",
    r"http://x/\\": rf"{URL} 'http://x/\'{OTHER}",
    r"http://x\n": rf"{URL} 'http://x\n'{OTHER}",
    f"http://u:{SECRET}@x": (
        "2:18: otlp.endpoint: expected a URL without '@', found one with it; send a password as a "
        "header, and write '%40' for an '@' in a path"
    ),
    f"https://x/?key={SECRET}": (
        "2:18: otlp.endpoint: expected a URL without query and fragment, found one with them; "
        "remove what follows the path, and send a key as a header"
    ),
}


@pytest.mark.parametrize(("url", "message"), ENDPOINTS.items(), ids=ENDPOINTS)
def test_what_is_no_endpoint(url: str, message: str) -> None:
    """The part that is wrong, and how it is written right; what may be a secret is not printed."""
    assert problems(f'{{endpoint: "{url}"}}') == [message]


LEAST = "2:17: otlp.{}: expected at least {}, found the text '{}'"
OTHERS = {
    "{protocol: http/json}": (
        "2:18: otlp.protocol: expected one of http/protobuf, grpc, found the text 'http/json'; "
        "it speaks protobuf, not JSON: write http/protobuf"
    ),
    "{protocol: gRPC}": (
        "2:18: otlp.protocol: expected one of http/protobuf, grpc, found the text 'gRPC'; "
        "did you mean 'grpc'?"
    ),
    "{protocol: 4317}": (
        "2:18: otlp.protocol: expected one of http/protobuf, grpc, found the number 4317"
    ),
    "{compression: zstd}": (
        "2:21: otlp.compression: expected one of none, gzip, found the text 'zstd'"
    ),
    "{compression: false}": "2:21: otlp.compression: expected one of none, gzip, found false",
    "{timeout: 10}": (
        "2:17: otlp.timeout: expected a duration such as 1h30m, 5m or 500ms, found the number 10; "
        "add a unit: 10s, or 10m if minutes are meant"
    ),
    "{timeout: 0s}": "2:17: otlp.timeout: expected at least 1ms, found the text '0s'",
    "{interval: 99ms}": "2:18: otlp.interval: expected at least 100ms, found the text '99ms'",
    "{timeout: 5us}": (
        "2:17: otlp.timeout: expected a duration such as 1h30m, 5m or 500ms, found the text '5us'; "
        "write whole numbers with d, h, m, s or ms, the largest unit first"
    ),
    "{interval: 25h}": "2:18: otlp.interval: expected at most 24h, found the text '25h'",
    "{traces: yes}": "2:16: otlp.traces: expected true or false, found the text 'yes'",
    "{certificate: ca.pem}": (
        "2:21: otlp.certificate: expected the absolute path of a file, found the text 'ca.pem'; "
        "begin it with '/'"
    ),
    "{client_key: /k}": (
        "2:8: otlp.client_key: expected 'client_certificate' beside it, found none; add it"
    ),
    "{client_certificate: /c}": (
        "2:8: otlp.client_certificate: expected 'client_key' beside it, found none; add it"
    ),
    "{endpont: x}": "2:8: unknown key 'endpont'; did you mean 'endpoint'?",
    "": "2:6: otlp: expected a mapping, found nothing; give it keys or remove it",
    "true": "2:7: otlp: expected a mapping, found true; give it keys or remove it",
}


@pytest.mark.parametrize(("text", "message"), OTHERS.items(), ids=OTHERS)
def test_other_mistakes(text: str, message: str) -> None:
    """One line each."""
    assert problems(text) == [message]


NAME = "expected the name of a header, of letters, digits, '-', '_' and '.', found the text"
HEADERS = {
    f"authorization={SECRET}": (
        "2:17: otlp.headers: expected a mapping of headers to values, such as "
        "{x-scope-orgid: shop}, found text"
    ),
    f"[authorization={SECRET}]": (
        "2:17: otlp.headers: expected a mapping of headers to values, such as "
        "{x-scope-orgid: shop}, found a list"
    ),
    "{a b: x}": f"2:18: otlp.headers: {NAME} 'a b'",
    "{'': x}": f"2:18: otlp.headers: {NAME} ''",
    '{"a\\nb": x}': rf"2:18: otlp.headers: {NAME} 'a\nb'",
    "{ä: x}": f"2:18: otlp.headers: {NAME} 'ä'",
    "{a: }": "2:20: otlp.headers.a: expected text, found nothing",
    "{a: [x]}": "2:21: otlp.headers.a: expected text, found a list",
    f"{{a: {2**40}}}": (
        "2:21: otlp.headers.a: expected text, found a number, true or false; quote it"
    ),
    f'{{a: "{SECRET}\\n"}}': (
        "2:21: otlp.headers.a: expected one line, found several; remove the line break"
    ),
    f'{{a: "{SECRET}\\r\\nb: c"}}': (
        "2:21: otlp.headers.a: expected one line, found several; remove the line break"
    ),
    f"{{a: ' {SECRET}'}}": (
        "2:21: otlp.headers.a: expected text without blanks at its ends, found one with them; "
        "remove them"
    ),
    f"{{a: {SECRET}ä}}": (
        "2:21: otlp.headers.a: expected printable ASCII, found other characters; remove them"
    ),
    f"{{a: {SECRET * 1171}}}": (
        "2:21: otlp.headers.a: expected at most 8192 characters, found 8197; shorten it"
    ),
    f"{{a: {SECRET}, A: x}}": (
        "2:30: otlp.headers: the header 'A' is listed twice, first on line 2; remove one of them"
    ),
    "{grpc-timeout: 1S}": (
        "2:18: otlp.headers: expected a header that the exporter does not set itself, found the "
        "text 'grpc-timeout'; remove it"
    ),
}


@pytest.mark.parametrize(("text", "message"), HEADERS.items(), ids=lambda text: text[:30])
def test_what_is_no_header(text: str, message: str) -> None:
    """No value is ever printed."""
    assert problems(f"{{headers: {text}}}") == [message]


def test_headers_that_are_ours() -> None:
    """In whichever case."""
    for name in OUR_HEADERS:
        assert len(problems(f"{{headers: {{{name.title()}: x}}}}")) == 1


def test_the_longest_value_of_a_header() -> None:
    """8 KiB; and an empty one is one."""
    for value in ("x" * 8192, "''"):
        assert config(f"{{headers: {{a: {value}}}}}").otlp
    assert len(problems(f"{{headers: {{a: {'x' * 8193}}}}}")) == 1


def test_at_most_64_headers() -> None:
    """The first that is too many is named."""
    headers = ", ".join(f"h{i}: x" for i in range(65))
    assert problems(f"{{headers: {{{headers}}}}}") == [
        "2:520: otlp.headers: expected at most 64 headers, found 65"
    ]


def test_ports_of_the_other_protocol() -> None:
    """4317 is gRPC's and 4318 is HTTP's; other ports are anybody's."""
    for scheme in ("http", "https"):
        for default, protocol in ((", the default,", ""), ("", ", protocol: http/protobuf")):
            assert warnings(f"{{metrics: true, endpoint: '{scheme}://x:4317'{protocol}}}") == [
                f"2:33: otlp.endpoint: 4317 is the port of grpc, http/protobuf{default} has 4318; "
                "write that, or 'protocol: grpc'"
            ]
    assert warnings("{metrics: true, endpoint: 'http://x:4318', protocol: grpc}") == [
        "2:33: otlp.endpoint: 4318 is the port of http/protobuf, grpc has 4317; write that, or "
        "'protocol: http/protobuf'"
    ]
    assert warnings("{metrics: true, endpoint: 'http://x:4317', protocol: grpc}") == []
    assert warnings("{metrics: true, endpoint: 'http://x:4319'}") == []


@pytest.mark.parametrize("end", ["/v1/traces", "/v1/metrics", "/v1/traces/"])
def test_a_path_that_is_added_anyway(end: str) -> None:
    """Who copies the URL of one signal would send to /v1/traces/v1/traces."""
    shown = end.rstrip("/")
    for base in ("", "/base"):
        assert warnings(f"{{metrics: true, endpoint: 'http://x{base}{end}'}}") == [
            f"2:33: otlp.endpoint: '{shown}' is added for each signal; write the URL without it"
        ]
    assert warnings(f"{{metrics: true, protocol: grpc, endpoint: 'http://x{end}'}}") == [
        f"2:49: otlp.endpoint: '{shown}' is not sent by gRPC; write the URL without it"
    ]


def test_certificates_without_tls() -> None:
    """One warning, at the first of them."""
    files = "certificate: /ca, client_certificate: /c, client_key: /k"
    said = "nothing is encrypted with http://, so it is not used; write https://, or remove it"
    assert warnings(f"{{metrics: true, endpoint: 'http://x', {files}}}") == [
        f"2:45: otlp.certificate: {said}"
    ]
    assert warnings(f"{{metrics: true, endpoint: 'https://x', {files}}}") == []
    assert warnings(f"{{metrics: true, {files}}}") == []  # the environment may have the endpoint


def test_nothing_is_sent() -> None:
    """A warning where neither is said; not where both are switched off on purpose."""
    said = "2:7: otlp: nothing is sent; add 'metrics: true' or 'traces: true'"
    assert warnings("{}") == [said]
    assert warnings("{endpoint: 'http://x'}") == [said]
    assert warnings("{metrics: false, traces: false}") == []


def test_spans_that_nothing_sends() -> None:
    """Where no traces are sent, the first target that asks for spans is named."""
    spans = ", spans: {intervals: true}"
    said = "1:20: spans: nothing sends those of target 'pid:1'"
    mend = "add 'otlp: {traces: true}' at the top of the file"
    for text in ("{metrics: true}", "{metrics: true, traces: false}"):
        assert warnings(text, spans) == [f"{said}; {mend}"]
    three = f"[{{pid: 1{spans}}}, {{pid: 2}}, {{pid: 3, spans: {{processes: true}}}}]"
    found = parse(three, "c.yaml").warnings
    assert [w.message for w in found] == [
        f"spans: nothing sends those of target 'pid:1' and 1 more; {mend}"
    ]
    assert warnings("{traces: true}", spans) == []


@pytest.mark.parametrize("spans", ["", ", spans: {processes: false}"])
def test_traces_without_spans(spans: str) -> None:
    """No target asks for any."""
    assert warnings("{traces: true}", spans) == [
        "2:8: otlp.traces: no target asks for spans; add 'spans: {processes: true}' to one"
    ]


def test_fixed_at_start() -> None:
    """Each key of `otlp`, and each change of one; a config without it is one with nothing in it."""
    base = fixed_at_start(parse("[1]", "c.yaml"))
    assert base == fixed_at_start(config("{}"))
    assert {key for key in base if key.startswith("otlp.")} == {
        f"otlp.{name}" for name in keys_of(OTLP)
    }
    changes = {
        "metrics: true": "true",
        "endpoint: 'http://x'": "http://x",
        "timeout: 1500ms": "1.5s",
        "interval: 5m": "300s",
        "shutdown_timeout: 0s": "0s",
        "headers: {}": "[]",
        "compression: none": "none",
    }
    for text, written in changes.items():
        key = f"otlp.{text.split(':')[0]}"
        found = fixed_at_start(config(f"{{{text}}}"))
        assert found == base | {key: written}
        assert base[key] == ("false" if key == "otlp.metrics" else "not given")


def test_a_header_that_changes_is_told_without_its_value() -> None:
    """Different values differ, equal ones do not, and neither is printed."""
    first, same, other = (
        fixed_at_start(config(f"{{headers: {{authorization: {value}}}}}"))["otlp.headers"]
        for value in (SECRET, SECRET, f"{SECRET}x")
    )
    assert first == same != other
    assert first.startswith("[authorization: (")
    assert SECRET not in first + other
    assert SECRET not in repr(config(f"{{headers: {{authorization: {SECRET}}}}}"))

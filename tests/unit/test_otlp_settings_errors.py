"""A variable that cannot be meant is named, with what was expected; no secret is printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exporter.errors import UsageError
from exporter.model.otlp import INSTALL_GRPC, Otlp
from exporter.publish.otlp.settings import resolve
from tests.integration.kube.certificates import authority

BOTH = Otlp(metrics=True, traces=True)
OTLP = "OTEL_EXPORTER_OTLP_"
SECRET = "hunter2"
URL = "expected a URL that begins with http:// or https://, found"
WHOLE = "expected a whole number"
TRUSTED = "expected a file with certificates in PEM"


def refused(variables: dict[str, str], otlp: Otlp = BOTH) -> str:
    with pytest.raises(UsageError) as caught:
        resolve(otlp, variables)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (f"{OTLP}ENDPOINT", "x:4318", f"{URL} 'x:4318'; write http://x:4318, or https:// for TLS"),
        (f"{OTLP}TRACES_ENDPOINT", "unix:///x", f"{URL} 'unix:///x'"),
        (f"{OTLP}ENDPOINT", f"http://u:{SECRET}@x", "expected a URL without '@', found one with it;"
         " send a password as a header, and write '%40' for an '@' in a path"),
        (f"{OTLP}METRICS_ENDPOINT", f"http://x/?k={SECRET}",
         "expected a URL without query and fragment, found one with them; remove what follows the"
         " path, and send a key as a header"),
        (f"{OTLP}PROTOCOL", "http/json", "expected one of http/protobuf, grpc, found 'http/json'"),
        (f"{OTLP}TRACES_COMPRESSION", "zstd", "expected one of none, gzip, found 'zstd'"),
        (f"{OTLP}TIMEOUT", "10s", f"{WHOLE} of milliseconds from 0 to 2147483647, found '10s'"),
        (f"{OTLP}TIMEOUT", "-1", f"{WHOLE} of milliseconds from 0 to 2147483647, found '-1'"),
        (f"{OTLP}TIMEOUT", "٣", rf"{WHOLE} of milliseconds from 0 to 2147483647, found '\u0663'"),
        (f"{OTLP}METRICS_TIMEOUT", "2147483648",
         f"{WHOLE} of milliseconds from 0 to 2147483647, found '2147483648'"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "99",
         f"{WHOLE} of milliseconds from 100 to 2147483647, found '99'"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0",
         f"{WHOLE} of milliseconds from 1 to 2147483647, found '0'"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", f"{WHOLE} from 1 to 2147483647, found '0'"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "32769",
         "expected at most what OTEL_BSP_MAX_QUEUE_SIZE is (32768), found '32769'"),
        (f"{OTLP}METRICS_TEMPORALITY_PREFERENCE", "sum",
         "expected one of cumulative, delta, lowmemory, found 'sum'"),
        ("OTEL_TRACES_EXPORTER", "oltp", "expected otlp or none, found 'oltp'"),
        ("OTEL_METRICS_EXPORTER", "otlp;none", "expected otlp or none, found 'otlp;none'"),
        (f"{OTLP}HEADERS", SECRET, "expected a list such as a=b,c=d, found no '=' in the 1. entry"),
        (f"{OTLP}HEADERS", f"a=b,={SECRET}",
         "expected a list such as a=b,c=d, found no '=' in the 2. entry"),
        (f"{OTLP}HEADERS", f"a={SECRET}%",
         "expected percent-encoded text, found a bare '%' in the 1. entry; write %25"),
        (f"{OTLP}HEADERS", f"a={SECRET}%ff",
         "expected UTF-8, percent-encoded, found other bytes in the 1. entry"),
        (f"{OTLP}HEADERS", f"a={SECRET}\udcff",
         "expected UTF-8, percent-encoded, found other bytes"),
        (f"{OTLP}TRACES_HEADERS", f"a={SECRET}%0d%0ahost:%20x",
         "expected one line as the value of a, found several; remove the line break"),
        (f"{OTLP}HEADERS", f"a={SECRET}%C3%A4",
         "expected printable ASCII as the value of a, found other characters; remove them"),
        (f"{OTLP}HEADERS", "a%20b=c", "expected the name of a header, of letters, digits, '-', '_'"
         " and '.', found 'a b'"),
        (f"{OTLP}HEADERS", "Content-Length=5", "expected a header that the exporter does not set"
         " itself, found 'Content-Length'; remove it"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a=b,c",
         "expected a list such as a=b,c=d, found no '=' in the 2. entry"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a=%E4",
         "expected UTF-8, percent-encoded, found other bytes in the 1. entry"),
        ("OTEL_SERVICE_NAME", "a\udcff", r"expected UTF-8, found 'a\udcff'"),
        (f"{OTLP}CERTIFICATE", "/nope/ca.pem",
         f"{TRUSTED}, cannot read it: No such file or directory"),
        (f"{OTLP}CLIENT_KEY", "/k",
         f"expected its certificate beside it, found none; set {OTLP}CLIENT_CERTIFICATE"),
        (f"{OTLP}TRACES_CLIENT_CERTIFICATE", "/c",
         f"expected its key beside it, found none; set {OTLP}CLIENT_KEY; one file may hold both"),
    ],
)  # fmt: skip
def test_refused(name: str, value: str, message: str) -> None:
    """One variable, one line."""
    assert refused({name: value}) == f"{name}: {message}"


def test_the_variable_that_counts_is_named() -> None:
    """That of the signal, where both are set and wrong; and none that does not count."""
    both = {f"{OTLP}TIMEOUT": "x", f"{OTLP}METRICS_TIMEOUT": "y"}
    assert refused(both).startswith(f"{OTLP}METRICS_TIMEOUT:")
    resolve(Otlp(metrics=True), {f"{OTLP}TIMEOUT": "x", f"{OTLP}METRICS_TIMEOUT": "5"})
    resolve(Otlp(metrics=True, traces=True, timeout_ns=5), both)


def test_endpoints_without_a_scheme() -> None:
    """For gRPC they are good; what else is wrong with them is told all the same."""
    variables = {f"{OTLP}PROTOCOL": "grpc", f"{OTLP}ENDPOINT": "x:0"}
    assert refused(variables) == (
        f"{OTLP}ENDPOINT: expected a URL with a port from 1 to 65535, found 'x:0'"
    )


def test_grpc_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for it is named: the variable, or the key."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    mend = f"expected what is installed, found 'grpc'; {INSTALL_GRPC}, or write http/protobuf"
    assert refused({f"{OTLP}TRACES_PROTOCOL": "grpc"}) == f"{OTLP}TRACES_PROTOCOL: {mend}"
    config = Otlp(traces=True, protocol="grpc")
    assert refused({f"{OTLP}PROTOCOL": "http/protobuf"}, config) == f"otlp.protocol: {mend}"


def test_files(tmp_path: Path) -> None:
    """They are read, whoever names them; in order, nothing is said."""
    one, two = authority(tmp_path, "one"), authority(tmp_path, "two")
    variables = {
        f"{OTLP}ENDPOINT": "https://x",
        f"{OTLP}CERTIFICATE": str(one.certificate),
        f"{OTLP}CLIENT_CERTIFICATE": str(one.certificate),
        f"{OTLP}TRACES_CLIENT_KEY": str(one.key),
        f"{OTLP}CLIENT_KEY": str(one.key),
    }
    found = resolve(BOTH, variables)
    assert found.traces
    assert found.traces.endpoint.client_key == str(one.key)
    assert refused(variables | {f"{OTLP}TRACES_CLIENT_KEY": str(two.key)}) == (
        f"{OTLP}TRACES_CLIENT_KEY: expected the private key of the client certificate, found "
        "another's"
    )
    config = Otlp(metrics=True, certificate="/nope")
    assert refused(variables, config) == (
        f"otlp.certificate: {TRUSTED}, cannot read it: No such file or directory"
    )

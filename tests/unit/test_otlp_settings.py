"""What is sent where: the config, over the signal's variable, over the general one, over defaults.

The names and meanings of the variables are the specification's:
https://opentelemetry.io/docs/specs/otel/protocol/exporter/
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import environment_variables as api_variables
from opentelemetry.sdk import environment_variables as sdk_variables
from opentelemetry.util.re import parse_env_headers

from exporter.errors import UsageError
from exporter.model.otlp import Otlp
from exporter.publish.otlp import environment, settings, signals
from exporter.publish.otlp.describe import describe
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.settings import Settings, resolve
from exporter.publish.otlp.signals import Signal

MS = 1_000_000
BOTH = Otlp(metrics=True, traces=True)
OTLP = "OTEL_EXPORTER_OTLP_"
TRACES, METRICS = f"{OTLP}TRACES_", f"{OTLP}METRICS_"
LONGEST_NS = (2**31 - 1) * MS


def resolved(variables: dict[str, str], otlp: Otlp = BOTH) -> Settings:
    """Of files that need not be there."""
    return resolve(otlp, variables, read_files=False)


def metrics(variables: dict[str, str], otlp: Otlp = BOTH) -> Signal:
    found = resolved(variables, otlp).metrics
    assert found
    return found


def traces(variables: dict[str, str], otlp: Otlp = BOTH) -> Signal:
    found = resolved(variables, otlp).traces
    assert found
    return found


def urls(variables: dict[str, str], otlp: Otlp = BOTH) -> tuple[str, str]:
    """Of metrics and of traces."""
    return metrics(variables, otlp).endpoint.url, traces(variables, otlp).endpoint.url


def test_defaults() -> None:
    """Without a variable, and with all of them empty, which is the same."""
    local = "http://localhost:4318/v1"
    expected = Settings(
        metrics=Signal("http/protobuf", Endpoint(f"{local}/metrics")),
        traces=Signal("http/protobuf", Endpoint(f"{local}/traces")),
        interval_ns=30_000 * MS,
        shutdown_timeout_ns=1_000 * MS,
        temporality="cumulative",
        resource=(),
        service_name=None,
        queue_size=32_768,
        batch_size=4_096,
        schedule_delay_ns=1_000 * MS,
        warnings=(),
    )
    assert expected.metrics
    assert expected.metrics.endpoint.timeout_ns == 10_000 * MS
    assert resolved({}) == expected
    for blank in ("", " \t"):
        assert resolved(dict.fromkeys(names_we_read(), blank)) == expected


def names_we_read() -> set[str]:
    """Those in the source, with what is put together there."""
    source = "".join(Path(it.__file__).read_text() for it in (environment, settings, signals))
    whole = set(re.findall(r"\b(OTEL_[A-Z_]+[A-Z])\b", source))
    options = set(re.findall(r'_(?:names|file)\("([A-Z_]+)"', source))
    assert options
    return whole | {
        "OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER",
        *(f"{prefix}{option}" for option in options for prefix in (OTLP, METRICS, TRACES)),
    }  # fmt: skip


def test_the_names_are_those_of_the_sdk() -> None:
    """Every variable we read is one that OpenTelemetry's own SDK, or its API, knows."""
    known = {it for module in (sdk_variables, api_variables) for it in vars(module)}
    ours = names_we_read()
    assert {f"{OTLP}ENDPOINT", f"{TRACES}CLIENT_KEY", "OTEL_BSP_MAX_QUEUE_SIZE"} <= ours
    assert ours <= known


# Endpoints: the three examples of the specification.


def test_all_signals_to_one_collector() -> None:
    """Example 1: the paths are added."""
    assert urls({f"{OTLP}ENDPOINT": "http://collector:4318"}) == (
        "http://collector:4318/v1/metrics",
        "http://collector:4318/v1/traces",
    )


def test_signals_to_different_collectors() -> None:
    """Example 2: what is of one signal is taken as it is; no path is the root."""
    variables = {
        f"{TRACES}ENDPOINT": "http://collector:4318",
        f"{METRICS}ENDPOINT": "https://collector.example.com/v1/metrics",
    }
    assert urls(variables) == (
        "https://collector.example.com/v1/metrics",
        "http://collector:4318/",
    )


def test_all_signals_but_one_to_one_collector() -> None:
    """Example 3: a base with a path, with a slash at its end."""
    variables = {
        f"{OTLP}ENDPOINT": "http://collector:4318/mycollector/",
        f"{METRICS}ENDPOINT": "https://collector.example.com/v1/metrics/",
    }
    assert urls(variables) == (
        "https://collector.example.com/v1/metrics/",
        "http://collector:4318/mycollector/v1/traces",
    )


def test_the_config_goes_before_all_variables() -> None:
    """Its endpoint is a base, for both signals; what they say is not even looked at."""
    rubbish = dict.fromkeys((f"{OTLP}ENDPOINT", f"{METRICS}ENDPOINT", f"{TRACES}ENDPOINT"), "?")
    for base in ("https://x/a", "https://x/a/"):
        given = Otlp(metrics=True, traces=True, endpoint=base)
        assert urls(rubbish, given) == ("https://x/a/v1/metrics", "https://x/a/v1/traces")


def test_grpc() -> None:
    """Its own port by default, no path, and a scheme that INSECURE decides where there is none."""
    local = "http://localhost:4317"
    assert urls({f"{OTLP}PROTOCOL": "grpc"}) == (local, local)
    variables = {f"{OTLP}PROTOCOL": "GRPC", f"{OTLP}ENDPOINT": "https://x:1/v1/traces"}
    assert urls(variables) == ("https://x:1", "https://x:1")
    mixed = {f"{TRACES}PROTOCOL": "grpc", f"{TRACES}INSECURE": "True"}
    assert urls(mixed) == ("http://localhost:4318/v1/metrics", local)
    bare = {**mixed, f"{TRACES}ENDPOINT": "collector:4317"}
    assert traces(bare) == Signal("grpc", Endpoint("http://collector:4317"))
    for insecure in ("false", ""):
        assert urls({**bare, f"{TRACES}INSECURE": insecure})[1] == "https://collector:4317"
    # A scheme says more than the variable.
    assert urls({**bare, f"{TRACES}ENDPOINT": "https://c:1"})[1] == "https://c:1"
    assert urls({**mixed, f"{TRACES}ENDPOINT": "[::1]:4317"})[1] == "http://[::1]:4317"


@pytest.mark.parametrize(
    ("option", "general", "own", "given", "attribute", "values"),
    [
        ("HEADERS", "a=1", "b=2", {"headers": (("C", "3"),)}, "headers",
         ((), (("a", "1"),), (("b", "2"),), (("C", "3"),))),
        ("HEADERS", "a=1", "b=2", {"headers": ()}, "headers",
         ((), (("a", "1"),), (("b", "2"),), ())),
        ("COMPRESSION", "gzip", "None", {"compression": "gzip"}, "gzip",
         (False, True, False, True)),
        ("TIMEOUT", "5", "2147483647", {"timeout_ns": 7}, "timeout_ns",
         (10_000 * MS, 5 * MS, LONGEST_NS, 7)),
        ("CERTIFICATE", "/a", "/b", {"certificate": "/c"}, "certificate",
         (None, "/a", "/b", "/c")),
    ],
)  # fmt: skip
def test_precedence(
    option: str, general: str, own: str, given: dict[str, object], attribute: str,
    values: tuple[object, ...],
) -> None:  # fmt: skip
    """Default, general, of the signal, config: each goes over those before; never mixed."""
    variables: dict[str, str] = {f"{OTLP}ENDPOINT": "https://x"}

    def found(name: str, otlp: Otlp = BOTH) -> object:
        signal = metrics(variables, otlp) if name == "metrics" else traces(variables, otlp)
        return getattr(signal.endpoint, attribute)

    default, of_all, of_one, of_config = values
    assert found("traces") == found("metrics") == default
    variables[f"{OTLP}{option}"] = general
    assert found("traces") == found("metrics") == of_all
    variables[f"{TRACES}{option}"] = own
    assert (found("traces"), found("metrics")) == (of_one, of_all)
    config = Otlp(metrics=True, traces=True, **given)  # type: ignore[arg-type]
    assert found("traces", config) == found("metrics", config) == of_config


def test_protocol() -> None:
    """The same for it; each signal may have its own."""
    variables = {f"{OTLP}PROTOCOL": "grpc"}
    assert metrics(variables).protocol == traces(variables).protocol == "grpc"
    variables[f"{METRICS}PROTOCOL"] = "HTTP/protobuf"
    assert (metrics(variables).protocol, traces(variables).protocol) == ("http/protobuf", "grpc")
    config = Otlp(metrics=True, traces=True, protocol="http/protobuf")
    assert traces(variables, config).protocol == "http/protobuf"


def test_a_client_certificate() -> None:
    """Each of the two by its own variable, and one file may be both."""
    variables = {f"{OTLP}CLIENT_CERTIFICATE": "/c", f"{OTLP}CLIENT_KEY": "/k",
                 f"{TRACES}CLIENT_KEY": "/c"}  # fmt: skip
    found = metrics(variables).endpoint
    assert (found.client_certificate, found.client_key) == ("/c", "/k")
    found = traces(variables).endpoint
    assert (found.client_certificate, found.client_key) == ("/c", "/c")


def test_a_timeout_of_zero_is_none() -> None:
    """As long as there is; the config has no such thing."""
    assert metrics({f"{OTLP}TIMEOUT": "0"}).endpoint.timeout_ns == LONGEST_NS


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("OTEL_METRIC_EXPORT_INTERVAL", "60000", "interval_ns", 60_000 * MS),
        ("OTEL_METRIC_EXPORT_INTERVAL", "100", "interval_ns", 100 * MS),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "2147483647", "queue_size", 2**31 - 1),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100", "batch_size", 100),  # no batch is larger
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "32768", "batch_size", 32_768),
        ("OTEL_BSP_SCHEDULE_DELAY", "1", "schedule_delay_ns", MS),
        (f"{METRICS}TEMPORALITY_PREFERENCE", "Delta", "temporality", "delta"),
        (f"{METRICS}TEMPORALITY_PREFERENCE", "LowMemory", "temporality", "lowmemory"),
        ("OTEL_SERVICE_NAME", " shop ä ", "service_name", "shop ä"),
    ],
)
def test_the_rest(name: str, value: str, attribute: str, expected: object) -> None:
    """One variable each."""
    assert getattr(resolved({name: value}), attribute) == expected


def test_intervals_of_the_config() -> None:
    """They go first; no wait at the end is one, too."""
    config = Otlp(metrics=True, interval_ns=5, shutdown_timeout_ns=0)
    found = resolved({"OTEL_METRIC_EXPORT_INTERVAL": "60000"}, config)
    assert (found.interval_ns, found.shutdown_timeout_ns) == (5, 0)


@pytest.mark.parametrize("value", ["none", "None", "prometheus", "otlp,none", " none , console"])
def test_exporters_that_are_not_ours(value: str) -> None:
    """A signal whose exporters do not have `otlp` among them is off, and that is told."""
    found = resolved({"OTEL_TRACES_EXPORTER": value})
    assert found.metrics
    assert found.traces is None
    told = f"OTEL_TRACES_EXPORTER is {value.strip()!r}: otlp.traces is off"
    assert found.warnings == (told,)
    found = resolved({"OTEL_METRICS_EXPORTER": value})
    assert (found.metrics, bool(found.traces)) == (None, True)


@pytest.mark.parametrize("value", ["otlp", "OTLP", "prometheus, otlp"])
def test_exporters_that_are_ours(value: str) -> None:
    """What else is listed is somebody else's."""
    both = {"OTEL_TRACES_EXPORTER": value, "OTEL_METRICS_EXPORTER": value}
    assert resolved(both) == resolved({})


def test_switched_off() -> None:
    """By the variable of the whole SDK: then no other counts, whatever it holds."""
    rubbish = dict.fromkeys(names_we_read(), "%")
    for value in ("true", "True", "TRUE"):
        assert resolved({**rubbish, "OTEL_SDK_DISABLED": value}) == Settings(
            warnings=("OTEL_SDK_DISABLED is true: nothing is sent by OTLP",)
        )
    assert resolved({"OTEL_SDK_DISABLED": "False"}) == resolved({})
    found = resolved({"OTEL_SDK_DISABLED": "yes"})
    assert found.traces
    assert found.warnings == (
        "OTEL_SDK_DISABLED: expected true or false, found 'yes': it is false, by the specification",
    )


def test_only_what_is_asked_for() -> None:
    """The config asks; variables of a signal that is not sent are not looked at."""
    assert resolved({f"{TRACES}ENDPOINT": "?"}, Otlp(metrics=True)).traces is None
    assert resolved({f"{METRICS}ENDPOINT": "?"}, Otlp(traces=True)).metrics is None
    assert resolved({f"{OTLP}ENDPOINT": "?"}, Otlp()) == Settings()


def test_resource_attributes() -> None:
    """Percent-encoded, blanks around them no part; the service's name stands by itself."""
    text = "service.name=a%2Cb, deployment.environment.name = pr%C3%B6d ,x=%20,k%3D=a=b,x=2,,"
    found = resolved({"OTEL_RESOURCE_ATTRIBUTES": text})
    assert found.resource == (
        ("deployment.environment.name", "pröd"), ("k=", "a=b"), ("x", "2"),
    )  # fmt: skip
    assert found.service_name == "a,b"
    both = {"OTEL_RESOURCE_ATTRIBUTES": text, "OTEL_SERVICE_NAME": "shop"}
    assert resolved(both).service_name == "shop"
    assert resolved(both).resource == found.resource


def test_headers() -> None:
    """Names in lower case, values decoded; of equal names the last one holds."""
    text = "Authorization=Basic%20dXNlcjpw==,x-a=1;p=2, X-A = 3 ,empty="
    assert metrics({f"{OTLP}HEADERS": text}).endpoint.headers == (
        ("authorization", "Basic dXNlcjpw=="),
        ("x-a", "3"),
        ("empty", ""),
    )


_NAMES = st.text("abcdefgXYZ-_.019", min_size=1, max_size=5)
_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8)


@given(st.dictionaries(_NAMES.map(str.lower), _VALUES.map(str.strip), max_size=5))
def test_headers_as_the_sdk_reads_them(wanted: dict[str, str]) -> None:
    """What is well encoded comes out as it went in, there and here."""
    encoded = ",".join(
        f"{name}={''.join(f'%{byte:02x}' for byte in value.encode())}"
        for name, value in wanted.items()
    )
    assert dict(metrics({f"{OTLP}HEADERS": encoded}).endpoint.headers) == wanted
    assert parse_env_headers(encoded) == wanted


def test_warnings() -> None:
    """The other protocol's port, and certificates that go unused; each once for both signals."""
    variables = {f"{OTLP}ENDPOINT": "http://x:4317", f"{OTLP}CERTIFICATE": "/a"}
    assert resolved(variables).warnings == (
        f"{OTLP}ENDPOINT: 4317 is the port of grpc, http/protobuf has 4318",
        f"{OTLP}CERTIFICATE: nothing is encrypted with http://, so it is not used",
    )
    # Of what stands in the config alone, its own check has warned.
    config = Otlp(metrics=True, endpoint="http://x:4317", certificate="/a")
    assert resolved({}, config).warnings == ()
    config = Otlp(metrics=True, endpoint="http://x:4318")
    assert resolved({f"{OTLP}PROTOCOL": "grpc"}, config).warnings == (
        "otlp.endpoint: 4318 is the port of http/protobuf, grpc has 4317",
    )


def test_in_words() -> None:
    """A line for each signal, with names of headers and without their values."""
    variables = {
        f"{TRACES}ENDPOINT": "https://x/t", f"{TRACES}HEADERS": "authorization=secret",
        f"{OTLP}COMPRESSION": "gzip", f"{OTLP}CLIENT_CERTIFICATE": "/c", f"{OTLP}CLIENT_KEY": "/k",
    }  # fmt: skip
    assert describe(resolved(variables)) == [
        "otlp: metrics every 30s to http://localhost:4318/v1/metrics (http/protobuf, gzip)",
        "otlp: spans to https://x/t (http/protobuf, gzip, trusting the system, showing /c, header "
        "authorization)",
    ]
    assert describe(Settings()) == ["otlp: nothing is sent"]


_HOSTILE = st.text(st.characters(exclude_characters="\0")) | st.sampled_from(
    ["http://x", "a=b,c=d", "a=%zz", "=", "%", "http://[", "0", "-1", "9" * 5000, "grpc", "\udcff"]
)


@given(st.dictionaries(st.sampled_from(sorted(names_we_read())), _HOSTILE, max_size=6))
def test_any_environment(variables: dict[str, str]) -> None:
    """Settings, or one printable line that names a variable; and what goes out is UTF-8."""
    try:
        found = resolved(variables)
    except UsageError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 500
        assert str(error).split(":")[0] in variables
        return
    for key, value in found.resource:
        assert key
        (key + value).encode()
    (found.service_name or "").encode()
    for signal in filter(None, (found.metrics, found.traces)):
        assert signal.endpoint.url.isascii()
        assert signal.endpoint.host
        for name, value in signal.endpoint.headers:
            assert f"{name}: {value}".isascii()
            assert f"{name}: {value}".isprintable()

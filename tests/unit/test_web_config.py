"""What `--web.config.file` may say, and where it is told what is wrong with it."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from exporter.config.web import describe, load, parse
from exporter.config.web_files import Files
from exporter.config.web_tls import CIPHERS, CLIENTS, CURVES, KEYS
from exporter.errors import ConfigError
from exporter.model.web import ClientAuth, Rate, Tls, Web
from tests.integration.kube.certificates import Pair
from tests.unit import certificates
from tests.unit.web_server import ALICE, BOB, tls

folder, ca, other, pair = (
    certificates.folder, certificates.ca, certificates.other, certificates.pair,
)  # fmt: skip


def read(text: str, file: str = "/nowhere/web.yml") -> Web:
    return parse(text, file, Files())


def problems(text: str, file: str = "/nowhere/web.yml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text, file)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def tls_of(text: str) -> Tls:
    found = read(text).tls
    assert found
    return found


def warnings(text: str) -> list[str]:
    return [f"{w.line}:{w.column}: {w.message}" for w in read(text).warnings]


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "{}", "~", "tls_server_config:\n", "basic_auth_users: {}",
             "tls_server_config: {cert_file: , key_file: ~}", "http_server_config: {http2: no}",
             "rate_limit: {interval: 0, burst: 0}"],
)  # fmt: skip
def test_nothing_is_asked_for(text: str) -> None:
    """What is empty is as if it were left out, as for the toolkit: HTTP for everybody."""
    found = read(text)
    assert (found.tls, dict(found.users), found.headers, found.rate) == (None, {}, (), None)
    assert (found.scheme, found.protections, found.warnings) == ("http", (), ())


def test_the_toolkits_own_example(pair: Pair, tmp_path: Path) -> None:
    """docs/web-config.yml of exporter-toolkit, as it is; its paths are relative to the file."""
    file = tmp_path / "web-config.yml"
    file.write_text("""\
# TLS and basic authentication configuration example.
#
# Additionally, a certificate and a key file are needed.
tls_server_config:
  cert_file: server.crt
  key_file: server.key

# Usernames and passwords required to connect.
# Passwords are hashed with bcrypt: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md#about-bcrypt.
basic_auth_users:
  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze
  bob: $2y$10$hLqFl9jSjoAAy95Z/zw8Ye8wkdMBM8c5Bn1ptYqP/AXyV0.oy0S8m

# Rate limiting requests on the endpoint using a token bucket
rate_limit:
  interval: "1s" # time interval between two requests, set to 0 to disable rate limiter
  burst: 20 # and permits a burst of up to 20 requests.
""")
    (tmp_path / "server.crt").write_bytes(pair.certificate.read_bytes())
    (tmp_path / "server.key").write_bytes(pair.key.read_bytes())
    found = load(str(file))
    assert found.tls and found.tls.clients is ClientAuth.NONE
    assert list(found.users) == [b"alice", b"bob"]
    assert found.rate == Rate(10**9, 20)
    assert {Path(path).name for path in found.files} == {
        "web-config.yml", "server.crt", "server.key"
    }  # fmt: skip
    assert found.warnings == ()
    assert describe(found) == (
        f"{file}: good: HTTPS, no certificates of clients, passwords for 2 user(s)"
    )


def test_inline(pair: Pair, ca: Pair) -> None:
    """Certificates in the file itself, with what stands beside them in a PEM file."""
    lines = ["tls_server_config:", "  client_auth_type: RequireAndVerifyClientCert"]
    for key, file in (("cert", pair.certificate), ("key", pair.key), ("client_ca", ca.certificate)):
        lines += [f"  {key}: |", "    # größe"]
        lines += [f"    {line}" for line in file.read_text().splitlines()]
    found = read("\n".join(lines))
    assert found.tls and found.tls.clients is ClientAuth.REQUIRED
    assert found.tls.context.cert_store_stats()["x509"] == 1
    assert found.files == {}
    assert found.protections == ("tls_server_config", "client_auth_type")


def test_what_openssl_is_told(pair: Pair, ca: Pair) -> None:
    """Versions, suites, their order, one curve, who may come: each as it is written."""
    plain = tls_of(tls(pair)).context
    assert plain.minimum_version is ssl.TLSVersion.TLSv1_2
    assert plain.maximum_version is ssl.TLSVersion.TLSv1_3
    assert plain.verify_mode is ssl.CERT_NONE
    assert {c["name"] for c in plain.get_ciphers() if c["protocol"] != "TLSv1.3"} == {
        name for name in CIPHERS.values() if name
    }
    assert plain.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert plain.options & ssl.OP_NO_RENEGOTIATION
    found = tls_of(
        tls(
            pair,
            "  min_version: TLS12\n  max_version: TLS12\n  prefer_server_cipher_suites: no\n"
            "  client_auth_type: VerifyClientCertIfGiven\n"
            f"  client_ca_file: {ca.certificate}\n  curve_preferences: [CurveP384]\n"
            "  cipher_suites:\n"
            "  - TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n  - TLS_AES_128_GCM_SHA256\n",
        )
    ).context
    assert found.maximum_version is ssl.TLSVersion.TLSv1_2
    names = [c["name"] for c in found.get_ciphers() if c["protocol"] != "TLSv1.3"]
    assert names == ["ECDHE-RSA-AES256-GCM-SHA384"]
    assert not found.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert found.verify_mode is ssl.CERT_OPTIONAL
    only_new = tls_of(tls(pair, "  cipher_suites: [TLS_AES_128_GCM_SHA256]\n")).context
    assert only_new.minimum_version is ssl.TLSVersion.TLSv1_3


def test_names_of_clients(pair: Pair) -> None:
    """All five of Go, and the old one: three mean the same here, two are refused, none is lost."""
    understood = {}
    for name in CLIENTS:
        text = tls(pair, f"  client_auth_type: {name}\n")
        try:
            understood[name] = tls_of(text).clients
        except ConfigError as error:
            assert "write RequireAndVerifyClientCert, or NoClientCert" in str(error)
    assert understood == {
        "NoClientCert": ClientAuth.NONE,
        "RequestClientCert": ClientAuth.NONE,
        "VerifyClientCertIfGiven": ClientAuth.IF_GIVEN,
        "RequireAndVerifyClientCert": ClientAuth.REQUIRED,
    }


def test_headers() -> None:
    """Those that the toolkit allows; a number is text, and what is empty is not sent."""
    found = read(
        "http_server_config:\n  headers:\n    X-Frame-Options: deny\n    X-XSS-Protection: 1\n"
        "    X-Content-Type-Options: nosniff\n    Strict-Transport-Security: max-age=1; a\n"
        "    Content-Security-Policy: ''\n"
    )
    assert dict(found.headers) == {
        "X-Frame-Options": "deny",
        "X-XSS-Protection": "1",
        "Strict-Transport-Security": "max-age=1; a",
    }


@pytest.mark.parametrize(
    ("written", "ns"),
    [("1s", 10**9), ("1.5h", 54 * 10**11), ("1m30s", 9 * 10**10), ("100us", 10**5), ("2µs", 2000),
     (".5ms", 500_000), ("+1s", 10**9)],
)  # fmt: skip
def test_durations_as_go_writes_them(written: str, ns: int) -> None:
    assert read(f"rate_limit: {{interval: {written}, burst: 3}}").rate == Rate(ns, 3)


def test_what_is_said_and_works(pair: Pair) -> None:
    """A file of node_exporter works; where it means less here, or little there, that is said."""
    assert warnings(f"basic_auth_users: {{a: {ALICE}}}") == [
        "1:1: basic_auth_users: passwords go over the network in clear text; add"
        " 'tls_server_config'"
    ]
    dear = ALICE.replace("$04$", "$18$")
    assert warnings(tls(pair, f"basic_auth_users: {{a: {dear}}}")) == [
        "4:23: basic_auth_users.'a': a check of cost 18 takes seconds to hours; 10 to 12 are usual"
    ]
    assert warnings(tls(pair, "http_server_config: {http2: true}")) == [
        "4:29: http_server_config.http2: HTTP/1.1 is spoken, also where a client offers HTTP/2;"
        " nothing depends on it"
    ]
    for key, value, told in (
        ("min_version", "TLS10", "TLS10 is not spoken any more: TLS12 is the least"),
        ("curve_preferences", "[CurveP256, CurveP384]",
         "Python's TLS takes one curve only: it is CurveP256"),
        ("client_auth_type", "RequestClientCert",
         "nobody is asked for a certificate: without one they would be let in as well"),
        ("client_auth_type", "RequireAndVerifyClientCert",
         "without 'client_ca_file' every authority that the system trusts is trusted"),
        ("cert", "x", "not used, because 'cert_file' is given; remove one of them"),
    ):  # fmt: skip
        found = warnings(tls(pair, f"  {key}: {value}\n"))
        assert found == [f"4:{5 + len(key)}: tls_server_config.{key}: {told}"]


def test_what_is_wrong(pair: Pair, other: Pair) -> None:
    """Each mistake at its place, with the way to mend it."""
    mend = "add 'client_auth_type: RequireAndVerifyClientCert'"
    for key, value, told in (
        ("client_auth_type", "Require", "expected one of NoClientCert, RequestClientCert,"
         " RequireAnyClientCert, RequireClientCert, VerifyClientCertIfGiven,"
         " RequireAndVerifyClientCert, found the text 'Require'"),
        ("client_ca_file", other.certificate, f"clients are not asked for certificates; {mend}"),
        ("client_allowed_sans", "[a]", f"the names of clients are not looked at; {mend}"),
        ("max_version", "TLS11", "TLS11 is not spoken any more; write TLS12 or TLS13"),
        ("min_version", "TLS14", "expected one of TLS10, TLS11, TLS12, TLS13, found the text"
         " 'TLS14'; did you mean 'TLS13'?"),
        ("prefer_server_cipher_suites", "2", "expected true or false, found the number 2"),
        ("cipher_suites", "a", "expected a list, found the text 'a'; put it into brackets: [ ]"),
        ("cert", "{}", "expected text, found a mapping"),
    ):  # fmt: skip
        text = tls(pair, f"  {key}: {value}\n")
        assert problems(text) == [f"4:{5 + len(key)}: tls_server_config.{key}: {told}"]
    assert problems(tls(pair, "  min_version: TLS13\n  max_version: TLS12\n")) == [
        "4:16: tls_server_config.min_version: expected at most 'max_version', which is TLS12"
    ]
    suites = "  max_version: TLS12\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n"
    assert problems(tls(pair, suites)) == [
        "5:18: tls_server_config.cipher_suites: expected one of TLS 1.2, which 'max_version' asks"
        " for"
    ]
    assert problems("tls_server_config: {min_version: TLS13}") == [
        f"1:1: tls_server_config.{name}_file: expected the path of a file, or '{name}' with its"
        " text" for name in ("cert", "key")
    ]  # fmt: skip
    assert problems("tls_server_confg: {}\nrate_limit: {bust: 1}") == [
        "1:1: unknown key 'tls_server_confg'; did you mean 'tls_server_config'?",
        "2:14: unknown key 'bust'; did you mean 'burst'?",
    ]
    assert problems("rate_limit: {interval: 5}") == [
        "1:24: rate_limit.interval: expected a duration such as 1s, 500ms or 1m30s, found the"
        " number 5; add a unit: 5s"
    ]
    assert problems("rate_limit: {interval: 5s}") == [
        "1:24: rate_limit.burst: expected at least 1, found 0: nobody would be answered"
    ]
    assert problems("http_server_config: {headers: {X-Frame-Options: allow, Server: x}}") == [
        "1:49: http_server_config.headers.X-Frame-Options: expected deny or sameorigin, found"
        " 'allow'",
        "1:56: unknown key 'Server'; known here: Content-Security-Policy, X-Frame-Options,"
        " X-Content-Type-Options, X-XSS-Protection, Strict-Transport-Security",
    ]
    split = 'http_server_config: {headers: {X-XSS-Protection: "1\\r\\nSet-Cookie: a"}}'
    assert problems(split) == [
        "1:50: http_server_config.headers.X-XSS-Protection: expected one line; remove the line"
        " break"
    ]  # fmt: skip


def test_wrong_files(pair: Pair, other: Pair, tmp_path: Path) -> None:
    """A key of another certificate, what is no certificate, what is not there; a FIFO and a
    directory are not waited for."""
    fifo, text = tmp_path / "fifo", tmp_path / "text"
    os.mkfifo(fifo)
    text.write_text("no certificate")
    swapped = Pair(pair.certificate, other.key)
    assert problems(tls(swapped)) == [
        "3:13: tls_server_config.key_file: expected the private key of the certificate beside it,"
        " found another's"
    ]
    assert problems(tls(Pair(text, pair.key))) == [
        "2:14: tls_server_config.cert_file: expected a file with a certificate in PEM, found no PEM"
    ]
    for path, why in (
        (tmp_path / "none", "No such file or directory"),
        (fifo, "it is no regular file"),
        (tmp_path, "Is a directory"),
    ):
        found = problems(tls(Pair(pair.certificate, path)))
        expected = f"3:13: tls_server_config.key_file: cannot read '{path}'"[:60]
        assert found[0].startswith(expected) and found[0].endswith(f": {why}")
        with pytest.raises(ConfigError, match=f"cannot read the web config: {why}"):
            load(str(path))
    more = f"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {pair.key}\n"
    assert problems(tls(pair, more)) == [
        "5:19: tls_server_config.client_ca_file: expected a file with certificates in PEM, found"
        " 'PRIVATE KEY'"
    ]
    big = tmp_path / "big"
    big.write_bytes(b"#" * (2 << 20))
    with pytest.raises(ConfigError, match="it has more than 1048576 bytes"):
        load(str(big))
    big.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="expected UTF-8, found the byte 0xff"):
        load(str(big))


SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"basic_auth_users: {{a: {SECRET}}}",
        f"basic_auth_users: {SECRET}",
        f"basic_auth_users: {{a: [{SECRET}]}}",
        f"basic_auth_users: {{a: {ALICE[:-7]}{SECRET}x}}",
        f"basic_auth_users:\n  a: b: {SECRET}",
        f"tls_server_config: {{cert: x, key: {SECRET}}}",
        f"tls_server_config: {SECRET}",
        f"basic_auth_users: {{a: {{b: {SECRET}}}}}",
    ],
)
def test_secrets_are_not_told(text: str) -> None:
    found = "\n".join(problems(text))
    assert found
    assert SECRET not in found


def test_users_are_not_shown() -> None:
    """Not even where somebody prints all there is."""
    found = read(f"basic_auth_users: {{alice: {ALICE}, 7: {BOB}}}")
    assert found.users == {b"alice": ALICE.encode(), b"7": BOB.encode()}
    assert ALICE not in repr(found)


_TOKENS = [
    *("\n", "\n  ", "\n    ", ": ", ", ", "[", "]", "{", "}", "'", '"', "- ", "| ", "? ", "~", "#"),
    *("*a", "&a ", "!!str ", "<<: ", "\t", "\0", "\ud800", "\\ud800", "0", "1", "-1", "1s"),
    "9" * 20,
    *("1e999", "true", "yes", "no", "ä", "/dev/null", "/", "x", "1h1h", ALICE, "$2y$10$", "a:b"),
    *("tls_server_config: ", "http_server_config: ", "basic_auth_users: ", "rate_limit: "),
    *("http2: ", "headers: ", "interval: ", "burst: ", "X-Frame-Options: ", "X-XSS-Protection: "),
    *(f"{key}: " for key in KEYS), *CLIENTS, *CURVES, *list(CIPHERS)[:5], "TLS10", "TLS13", "TLS12",
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join)))
@example('tls_server_config: {cert_file: "\\0", key_file: "\\ud800"}')
@example("{" * 3000)
@example("- " * 3000)
@example("rate_limit: {interval: " + "9" * 5000 + "h, burst: 1}")
@example('tls_server_config: {cert: "\\ud800", key: "\\ud800"}')
@example('basic_auth_users: {"\\ud800": a}')
def test_any_text(text: str) -> None:
    """A web config, or mistakes that a person can find: each on one line at a place of the file."""
    try:
        read(text)
    except ConfigError as error:
        assert error.problems
        for problem in error.problems:
            assert 1 <= problem.line <= len(text.splitlines()) + 1
            assert 1 <= problem.column <= len(text) + 1
            assert problem.message.isprintable()
            assert len(problem.message) < 600


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "web.yml"
    file.write_bytes(data)
    try:
        load(str(file))
    except ConfigError as error:
        assert error.problems

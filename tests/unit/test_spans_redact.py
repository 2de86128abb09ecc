"""Arguments leave the machine without their secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.spans.redact import redact
from exporter.model.spans.secret_names import SecretNames
from exporter.model.spans.secret_texts import MARK

SECRET = "hunter2"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-bmF0_dXJl"
AWS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nhunter2==\n-----END EC PRIVATE KEY-----"


def of(*arguments: str) -> tuple[str, ...]:
    return redact(b"".join(argument.encode() + b"\0" for argument in arguments))


def hidden(text: str) -> str:
    """One argument that is not the first."""
    return of("x", text)[1]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        # Options whose names tell.
        ("x --password=hunter2", "x --password=REDACTED"),
        ("x --password hunter2 -v", "x --password REDACTED -v"),
        ("x --token hunter2", "x --token REDACTED"),
        ("x --token -Kq3_hunter2", "x --token REDACTED"),
        ("x -storepass hunter2 -keypass=hunter2", "x -storepass REDACTED -keypass=REDACTED"),
        ("x --aws.secret-access-key hunter2", "x --aws.secret-access-key REDACTED"),
        ("x --auth hunter2 --apiKey hunter2", "x --auth REDACTED --apiKey REDACTED"),
        ("java -Dspring.datasource.password=hunter2 -DAUTH=hunter2 -jar a.jar",
         "java -Dspring.datasource.password=REDACTED -DAUTH=REDACTED -jar a.jar"),
        # Options without a value after them.
        ("x --password --verbose", "x --password --verbose"),
        ("x --password -v", "x --password -v"),
        ("psql --no-password db", "psql --no-password db"),
        ("ansible --ask-pass host", "ansible --ask-pass host"),
        ("docker login --password-stdin reg", "docker login --password-stdin reg"),
        # Variables, assigned and given.
        ("env PGPASSWORD=hunter2 psql", "env PGPASSWORD=REDACTED psql"),
        ("docker run -e GITHUB_TOKEN=hunter2 img", "docker run -e GITHUB_TOKEN=REDACTED img"),
        ("k create --from-literal=password=hunter2", "k create --from-literal=password=REDACTED"),
        ("aws configure set aws_secret_access_key hunter2",
         "aws configure set aws_secret_access_key REDACTED"),
        ("redis-cli config set requirepass hunter2", "redis-cli config set requirepass REDACTED"),
        ("curl -d user[password]=hunter2&a=b u", "curl -d user[password]=REDACTED&a=b u"),
        ("npm set //registry/:_authToken=hunter2", "npm set //registry/:_authToken=REDACTED"),
        # Programs whose options do not tell.
        ("mysql -u root -phunter2 db", "mysql -u root -pREDACTED db"),
        ("mysql -u root -psecret db", "mysql -u root -pREDACTED db"),
        ("mysql -u root -p db", "mysql -u root -p db"),
        ("/usr/bin/mysqldump -phunter2", "/usr/bin/mysqldump -pREDACTED"),
        ("sudo mariadb -phunter2", "sudo mariadb -pREDACTED"),
        ("sshpass -p hunter2 ssh -p 22 h", "sshpass -p REDACTED ssh -p REDACTED h"),
        ("mongodump -p hunter2 -u me", "mongodump -p REDACTED -u me"),
        ("ldapsearch -x -w hunter2 -s sub", "ldapsearch -x -w REDACTED -s sub"),
        ("curl -sSu me:hunter2 -XPUT u", "curl -sSu REDACTED -XPUT u"),
        ("curl -sSume:hunter2 u", "curl -sSuREDACTED u"),
        ("curl --user=me:hunter2 --user me:hunter2", "curl --user=REDACTED --user REDACTED"),
        ("curl -b id=hunter2 -o out", "curl -b REDACTED -o out"),
        ("docker login -u me -p hunter2", "docker login -u me -p REDACTED"),
        ("docker run -p 80:80 img", "docker run -p 80:80 img"),
        ("openssl rsa -passin pass:hunter2 -keyout f", "openssl rsa -passin REDACTED -keyout f"),
        ("openssl enc -k hunter2", "openssl enc -k REDACTED"),
        ("7z x -phunter2 a.7z", "7z x -pREDACTED a.7z"),
        ("ssh -p 22 -phunter2 h", "ssh -p 22 -phunter2 h"),
        # URLs.
        ("git clone https://me:hunter2@h/x", "git clone https://REDACTED@h/x"),
        ("git clone https://hunter2@h/x", "git clone https://REDACTED@h/x"),
        ("git clone ssh://git@h:22/x git@h:x", "git clone ssh://git@h:22/x git@h:x"),
        ("x HTTP://hunter2@h redis://:hunter2@h", "x HTTP://REDACTED@h redis://REDACTED@h"),
        ("x postgres://me:hun/ter2@h/db", "x postgres://REDACTED@h/db"),
        ("x http://h:8080/@scope/x http://h/@me", "x http://h:8080/@scope/x http://h/@me"),
        ("x http://p/?u=http://me:hunter2@h/", "x http://p/?u=http://REDACTED@h/"),
        ("x https://h/?a=b&sig=hunter2&c=d", "x https://h/?a=b&sig=REDACTED&c=d"),
        # What tells by its form.
        (f"x {JWT}", "x REDACTED"),
        (f"x a={JWT}", "x a=REDACTED"),
        (f"x {AWS_KEY} --sk={AWS_KEY}", "x REDACTED --sk=REDACTED"),
        ("x AKIAIOSFODNN7EXAMPLE", "x REDACTED"),
        ("x ghp_0123456789abcdefghijklmnopqrstuvwxyz", "x REDACTED"),
        ("x sk-proj-0123456789abcdefghijkl", "x REDACTED"),
        ("x da39a3ee5e6b4b0d3255bfef95601890afd80709",  # a commit
         "x da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("x /opt/App1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/oo",
         "x /opt/App1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/oo"),
    ],
)  # fmt: skip
def test_commands(command: str, shown: str) -> None:
    """Word by word; what is not secret stays readable."""
    assert of(*command.split(" ")) == tuple(shown.split(" "))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Headers.
        ("a authorization=Bearer hunter2 b", "a authorization=REDACTED b"),
        ("Authorization: Bearer hunter2", "Authorization: REDACTED"),
        ("-HAuthorization:Basic hunter2 hunter2", "-HAuthorization:REDACTED"),
        ("--header=X-Api-Key: hunter2", "--header=X-Api-Key: REDACTED"),
        ("Cookie: a=hunter2; b=hunter2", "Cookie: REDACTED"),
        ("pass:12345", "pass:REDACTED"),
        ("Bearer hunter2hunter2", "Bearer REDACTED"),
        ("Accept: text/plain", "Accept: text/plain"),
        # One argument, one value.
        ("PASSWORD=hunter2 hunter2", "PASSWORD=REDACTED"),
        ("PASSWORD=hunter2&hunter2", "PASSWORD=REDACTED"),
        # JSON, YAML, properties.
        ('{"password": "hunter2\\"hunter2", "a": "b"}', '{"password": "REDACTED", "a": "b"}'),
        ('{"password" : "hunter2 hunter2", "a": "b"}', '{"password" : "REDACTED", "a": "b"}'),
        ('{\\"token\\":\\"hunter2\\",\\"a\\":1}', '{\\"token\\":\\"REDACTED\\",\\"a\\":1}'),
        ('{\\"token\\":\\"hunter2', '{\\"token\\":\\"REDACTED'),
        ('{"password": hun"ter2}', '{"password": REDACTED'),
        ("{'secret': 'hunter2'}", "{'secret': 'REDACTED'}"),
        ("a: b\npassword: hunter2 hunter2\nc: d", "a: b\npassword: REDACTED\nc: d"),
        ("password: |\n  hunter2\n  hunter2", "password: REDACTED"),
        ("password:\n  hunter2", "password:REDACTED"),
        ("a;db.password=hunter2 b", "a;db.password=REDACTED b"),
        ("h=x password=hun\\ ter2 b", "h=x password=REDACTED b"),
        (":password => 'hunter2'", ":password => 'REDACTED'"),
        ("CREATE USER me IDENTIFIED BY 'hunter2'", "CREATE USER me IDENTIFIED BY 'REDACTED'"),
        ("ALTER ROLE me PASSWORD 'hunter2 hunter2'", "ALTER ROLE me PASSWORD 'REDACTED'"),
        # Blocks.
        (PEM, "REDACTED"),
        (f"a\n{PEM}\nb", "a\nREDACTED\nb"),
        (PEM[:50], "REDACTED"),
        # What looks like it, and is none.
        ("auth-service:8080", "auth-service:8080"),
        ("https://auth:8080/", "https://auth:8080/"),
        ("a token, a secret and a password", "a token, a secret and a password"),
    ],
)  # fmt: skip
def test_texts(text: str, shown: str) -> None:
    """Within one argument."""
    assert hidden(text) == shown


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("mysql -phunter2 db | gzip", "mysql -pREDACTED db | gzip"),
        ("x --password 'hunter2 hunter2' y", "x --password 'REDACTED' y"),
        ("PGPASSWORD='hunter2 hunter2' psql -h db", "PGPASSWORD=REDACTED psql -h db"),
        ("PGPASSWORD=hunter2 psql -h db", "PGPASSWORD=REDACTED psql -h db"),
        ("curl -H 'Authorization: Basic hunter2' -u me:hunter2 u",
         "curl -H 'Authorization: REDACTED' -u REDACTED u"),
        ("ssh h 'mysql \"-phunter2\" db'", "ssh h 'mysql \"-pREDACTED\" db'"),
        ("ssh h \"x --token 'a hunter2' y\"", "ssh h \"x --token 'REDACTED' y\""),
        ("bash -c \"ssh h 'mysql -phunter2 db'\"", "bash -c \"ssh h 'mysql -pREDACTED db'\""),
        ("x=$(mysql -phunter2)", "x=$(mysql -pREDACTED)"),
        ("a $(mysql -phunter2) `mysql -phunter2`", "a $(mysql -pREDACTED) `mysql -pREDACTED`"),
        ("# it's a comment\nmysql -phunter2", "# it's a comment\nmysql -pREDACTED"),
    ],
)  # fmt: skip
def test_commands_in_commands(script: str, shown: str) -> None:
    """What is given to a shell is read as it reads it, and once more as if quotes meant nothing."""
    assert of("sh", "-c", script)[2] == shown


def test_arguments_are_told_apart_by_nuls() -> None:
    """Empty ones count; one NUL at the end does not."""
    assert redact(b"") == ()
    assert redact(b"\0") == ("",)
    assert redact(b"a\0\0b") == redact(b"a\0\0b\0") == ("a", "", "b")


def test_other_names_may_be_added() -> None:
    """However they are written."""
    names = SecretNames(["Geheim-Wort"])
    given = b"x\0--geheimwort=a\0GEHEIM_WORT\0a\0--password\0b"
    assert redact(given, names) == (
        "x", "--geheimwort=REDACTED", "GEHEIM_WORT", "REDACTED", "--password", "REDACTED",
    )  # fmt: skip
    assert redact(given)[1] == "--geheimwort=a"


@pytest.mark.parametrize(
    "name",
    [
        "PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH",
        "CREDENTIAL", "AWS_ACCESS_KEY_ID", "MYSQL_PWD", "clientSecret", "X-Auth-Token",
        "accessToken", "githubtoken", "proxy-authorization", "DB_PASS", "SECRET2", "--pass", "jwt",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    """In every spelling."""
    assert name in SecretNames()


@pytest.mark.parametrize(
    "name",
    [
        "PWD", "OLDPWD", "PATH", "--author", "tokenizer", "--max-tokens", "SSH_AUTH_SOCK",
        "XAUTHORITY", "--password-file", "TOKEN_URL", "compass", "--bypass", "--no-auth", "monkey",
        "--key", "", "-p",
        "--auth-type", "--token-ttl",
    ],
)  # fmt: skip
def test_names_of_no_secrets(name: str) -> None:
    """What asks for where a secret is, or for something else."""
    assert name not in SecretNames()


NAMES = st.sampled_from(["password", "DB_PASSWD", "--api-key", "x.token", "Client-Secret", "AUTH"])
KEPT = st.text("abc 0=:/&\"'\\\n-,;{}é\U0001f600", max_size=12)
WRITTEN = st.sampled_from([
    "{name}={secret}", "{name}: {secret}", '"{name}": "{secret}"', '{{"{name}":"{secret}"}}',
    "{name}='{secret}'", "https://me:{secret}@h/", "-----BEGIN X-----\n{secret}",
])  # fmt: skip


@given(KEPT, NAMES, WRITTEN, KEPT)
def test_whatever_stands_around_it(before: str, name: str, written: str, after: str) -> None:
    """A secret with its name is hidden in the midst of anything that does not become part of it."""
    text = f"{before} {written.format(name=name, secret='S3cr3t')}"
    shown = hidden(text + (after if "'" in written or '"' in written else f" {after}"))
    assert "S3cr3t" not in shown
    assert MARK in shown

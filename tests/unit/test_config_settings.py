"""Settings of the whole file: durations, the API server, histograms; and targets by name."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.config.model import Config, Histograms, KubernetesApi
from exporter.errors import ConfigError
from exporter.model.target import Target

MS = 1_000_000


def config(text: str) -> Config:
    return parse(f"targets: [1]\n{text}", "c.yaml")


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    (only,) = caught.value.problems
    return f"{only.line}:{only.column}: {only.message}"


def target(text: str) -> Target:
    (only,) = parse(f"- {{{text}}}", "c.yaml").targets
    return only


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0s", 0),
        ("500ms", 500 * MS),
        ("90s", 90_000 * MS),
        ("5m", 300_000 * MS),
        ("1h30m", 5_400_000 * MS),
        ("23h59m59s999ms", 86_399_999 * MS),
        ("24h", 86_400_000 * MS),
        ("1d", 86_400_000 * MS),
    ],
)
def test_durations(text: str, ns: int) -> None:
    """As Prometheus writes them, exactly."""
    assert config(f"keep_gone: {text}").keep_gone_ns == ns


def test_the_longest_wait_for_metadata() -> None:
    """Ten minutes."""
    assert config("metadata_timeout: 10m").metadata_timeout_ns == 600_000 * MS
    assert problem("targets: [1]\nmetadata_timeout: 10m1ms") == (
        "2:19: metadata_timeout: expected at most 10m, found the text '10m1ms'"
    )


EXPECTED = "2:12: keep_gone: expected a duration such as 1h30m, 5m or 500ms, found"
UNITS = "write whole numbers with d, h, m, s or ms, the largest unit first"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", f"{EXPECTED} the number 5; add a unit: 5s, or 5m if minutes are meant"),
        ("1.5", f"{EXPECTED} the number 1.5; write whole numbers with a unit"),
        ("-5", f"{EXPECTED} the number -5; write whole numbers with a unit"),
        ("true", f"{EXPECTED} true"),
        ("5 m", f"{EXPECTED} the text '5 m'; {UNITS}"),
        ("1.5h", f"{EXPECTED} the text '1.5h'; {UNITS}"),
        ("1m1h", f"{EXPECTED} the text '1m1h'; {UNITS}"),
        ("-5m", f"{EXPECTED} the text '-5m'; {UNITS}"),
        ("h", f"{EXPECTED} the text 'h'; {UNITS}"),
        ("''", f"{EXPECTED} the text ''; {UNITS}"),
        ("٣m", f"{EXPECTED} the text '٣m'; {UNITS}"),
        ("[5m]", f"{EXPECTED} a list"),
        ("24h1ms", "2:12: keep_gone: expected at most 24h, found the text '24h1ms'"),
    ],
)
def test_what_is_no_duration(text: str, message: str) -> None:
    """A bare number is told which unit to add."""
    assert problem(f"targets: [1]\nkeep_gone: {text}") == message


def test_the_api_server() -> None:
    """All of its settings; a slash at the end of the URL says nothing."""
    text = "{server: 'https://10.0.0.1:6443/', token_file: /t, ca_file: /c, node: n-1.example}"
    assert config(f"kubernetes: {text}").kubernetes == KubernetesApi(
        "https://10.0.0.1:6443", "/t", "/c", "n-1.example"
    )
    assert config("kubernetes: {server: 'http://[::1]:8001/k8s'}").kubernetes.server == (
        "http://[::1]:8001/k8s"
    )


@pytest.mark.parametrize(
    "url",
    ["10.0.0.1:6443", "ftp://x", "https://", "https://u:p@x", "https://x?y", "https://x:y",
     "https://x:99999", "https://[x", "https://x/\\x7f", "https://x y"],
)  # fmt: skip
def test_what_is_no_server(url: str) -> None:
    """Whatever urllib would stumble over later, or send elsewhere."""
    assert problem(f'targets: [1]\nkubernetes: {{server: "{url}"}}').startswith(
        "2:22: kubernetes.server: expected the URL of the API server, such as "
        "https://10.0.0.1:6443, found the text"
    )


def test_a_node_is_named_as_kubernetes_does() -> None:
    """Lower case, digits, hyphens and dots."""
    assert problem("targets: [1]\nkubernetes: {node: Node_1}") == (
        "2:20: kubernetes.node: expected the name of a node as Kubernetes allows it, "
        "found the text 'Node_1'"
    )


def test_classic_by_class_only() -> None:
    """With both kinds of histograms; elsewhere the mend is said."""
    assert config("histograms: {by: both, classic: class}").histograms == Histograms(
        "both", "class", True, 2
    )
    for by in ("syscall", "class"):
        assert problem(f"targets: [1]\nhistograms: {{by: {by}, classic: class}}").endswith(
            "histograms.classic: 'class' means classic buckets by class and none by call, "
            f"found 'by: {by}'; write 'by: both', or 'classic: true'"
        )
    assert problem("targets: [1]\nhistograms: {classic: clas}") == (
        "2:23: histograms.classic: expected true, false or class, found the text 'clas'; "
        "did you mean 'class'?"
    )


def test_buckets_of_all_targets() -> None:
    """The file's are the default of each target; they are snapped and checked like a target's."""
    found = parse(
        "targets: [1, {pid: 2, buckets: [2]}]\nhistograms: {buckets: [0.0009765625001, 1]}",
        "c.yaml",
    )
    assert [t.buckets for t in found.targets] == [(2**-10, 1.0), (2.0,)]
    assert problem("targets: [1, 2]\nhistograms: {buckets: [3]}").startswith(
        "2:24: histograms.buckets: expected a bound of the kernel at scale 2, found the number 3"
    )


@pytest.mark.parametrize("text", ["comm", "[comm]"])
def test_group_by(text: str) -> None:
    """One word, bare or as a list."""
    assert target(f"pid: 1, group_by: {text}").group_by == "comm"
    assert target("pid: 1").group_by == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[comm, exe]", "1:29: group_by: expected one of comm, exe, found several; choose one"),
        ("cmd", "1:22: group_by: expected one of comm, exe, found the text 'cmd'"),
        ("[]", "1:22: group_by: expected one of comm, exe, found an empty list"),
    ],
)
def test_group_by_is_one_of_two(text: str, message: str) -> None:
    """Not both, not none."""
    assert problem(f"- {{pid: 1, group_by: {text}}}") == message


def test_follow_forks() -> None:
    """Where a root, or each match, is a process."""
    for root in ("pid: 1", "pidfile: /p", "match: {comm: a}, name: x"):
        assert target(f"{root}, follow_forks: false").follow_forks is False


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pidfile: /run/x.pid", "pidfile:/run/x.pid"),
        ("systemd: nginx.service", "systemd:nginx.service"),
        ("systemd: getty@tty1.service", "systemd:getty@tty1.service"),
        ("systemd: 'a@b@c.scope'", "systemd:a@b@c.scope"),
        (r"systemd: dev-x\x2dy.slice", r"systemd:dev-x\x2dy.slice"),
        ("cgroup: /a/**", "cgroup:/a/**"),
    ],
)
def test_names_by_default(text: str, name: str) -> None:
    """Kind and root as they were written; the root is in its field."""
    found = target(text)
    assert (found.name, found.root, found.kind) == (name, name.split(":")[1], name.split(":")[0])


UNIT = "1:13: systemd: expected"
TYPES = "1:13: systemd: expected a unit of type .service, .scope, .slice, found"
PIDFILE = "1:13: pidfile: expected the absolute path of a file, found the text"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("systemd: nginx", f"{TYPES} 'nginx'; write 'nginx.service'"),
        ("systemd: my.app", f"{TYPES} 'my.app'; write 'my.app.service'"),
        ("systemd: x.timer", f"{TYPES} 'x.timer'; list the service that it starts, or its cgroup"),
        ("systemd: .service", f"{TYPES} '.service'; write its name before the dot"),
        ("systemd: 'web-*.service'", f"{UNIT} the name of one unit, found 'web-*.service'; "
         "write a pattern: cgroup: '/**/web-*.service'"),
        ("systemd: /system.slice/x.service", f"{UNIT} the name of a unit, found the path "
         "'/system.slice/x.service'; write it under 'cgroup'"),
        ("systemd: a b.service", f"{UNIT} a name that systemd allows, found 'a b.service'; "
         "systemd-escape writes it"),
        ("systemd: x@.service", f"{UNIT} one unit, found the template 'x@.service'; "
         "name an instance: 'x@1…'"),
        (f"systemd: {'x' * 248}.service", f"{UNIT} at most 255 characters, found 256; shorten it"),
        ("systemd: 5", f"{UNIT} the name of a unit, such as nginx.service, found the number 5"),
        ("pidfile: run/x.pid", f"{PIDFILE} 'run/x.pid'; begin it with '/'"),
        ("pidfile: /run/", f"{PIDFILE} '/run/'; name the file in that directory"),
        ('pidfile: "/a\\0"', "1:13: pidfile: expected a path without control characters, "
         "found the text '/a\\x00'"),
        ("pidfile: [/a]", "1:13: pidfile: expected the absolute path of a file, found a list"),
        (f"pidfile: /{'ä' * 2048}", "1:13: pidfile: expected a path of at most 4095 bytes, "
         f"found the text '/{'ä' * 58}…'"),
    ],
)  # fmt: skip
def test_roots_that_are_refused(text: str, message: str) -> None:
    """What was meant, and where that belongs."""
    assert problem(f"- {{{text}}}") == message


@pytest.mark.parametrize(
    ("written", "cgroup", "absolute"),
    [
        ("/kubepods.slice/**", "/kubepods.slice/**", False),
        ("//a//b*/", "/a/b*", False),
        ("/sys/fs/cgroup/user.slice/?", "/user.slice/?", True),
        ("/sys/fs/cgroup/**", "/**", True),
        (r"/a/\[x]", r"/a/\[x]", False),
        (r"/a\\x2d*", r"/a\\x2d*", False),
    ],
)
def test_patterns_of_cgroups(written: str, cgroup: str, absolute: bool) -> None:
    """Normalised as a path is; many trees."""
    found = target(f"cgroup: '{written}'")
    assert (found.cgroup, found.absolute) == (cgroup, absolute)
    assert (found.pattern, found.many) == (True, True)


def test_a_backslash_alone_is_no_pattern() -> None:
    """systemd's escapes are part of names."""
    assert target(r"cgroup: /a\x2db").pattern is False

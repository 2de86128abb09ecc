"""`match`, `exclude`, `container` and `kubernetes`: what the words mean, and which are refused."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.errors import ConfigError
from exporter.model.target import ContainerWords, Pattern, PodWords, Target, Words


def target(text: str) -> Target:
    (only,) = parse(f"- {{name: x, {text}}}", "c.yaml").targets
    return only


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        target(text)
    (only,) = caught.value.problems
    return f"{only.column}: {only.message}"


def globs(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text) for text in texts)


def regexes(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, regex=True) for text in texts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{exe: /bin/sh}", Words(exe=globs("/bin/sh"))),
        ("{exe: ['**/sh', '/opt/*']}", Words(exe=globs("**/sh", "/opt/*"))),
        ("{exe_re: '.*sh'}", Words(exe=regexes(".*sh"))),
        ("{comm: [sh, bash]}", Words(comm=globs("sh", "bash"))),
        ("{comm_re: [a+, b]}", Words(comm=regexes("a+", "b"))),
        ("{cmdline: 'java * -jar x'}", Words(cmdline=globs("java * -jar x"))),
        ("{cmdline_re: x}", Words(cmdline=regexes("x"))),
        ("{user: [www-data, 0, 4294967294]}", Words(user=("www-data", 0, 4294967294))),
        ("{comm: a, user: 1, exe: /b}", Words(globs("/b"), globs("a"), (), (1,))),
    ],
)
def test_words(text: str, words: Words) -> None:
    """A value or a list of them; of several keys each; the same words under match and exclude."""
    found = target(f"match: {text}, exclude: {text}")
    assert (found.kind, found.match, found.exclude) == ("match", words, (words,))
    assert parse(f"targets: [1]\nexclude: {text}", "c.yaml").exclude == (words,)


def test_a_list_of_exclusions() -> None:
    """Each entry is a set of words of its own; a target's and the file's stay apart."""
    config = parse(
        "targets: [{pid: 1, exclude: [{comm: a}, {user: 0}]}, 2]\nexclude: [{comm: b}]", "c.yaml"
    )
    assert config.exclude == (Words(comm=globs("b")),)
    assert [t.exclude for t in config.targets] == [(Words(comm=globs("a")), Words(user=(0,))), ()]


def test_containers() -> None:
    """Names and images, as globs or regular expressions."""
    assert target("container: {name: [a, b*], image_re: 'c:.*'}").container == ContainerWords(
        globs("a", "b*"), regexes("c:.*")
    )
    assert target("container: {name_re: a, image: b}").container == ContainerWords(
        regexes("a"), globs("b")
    )


def test_pods() -> None:
    """Every word and its other form; labels in the order of the file."""
    text = "{namespace: a, pod_re: b+, container: [c, d], labels: {tier: [x, y*], a.b/app: web}}"
    labels = (("tier", globs("x", "y*")), ("a.b/app", globs("web")))
    assert target(f"kubernetes: {text}").kubernetes == PodWords(
        globs("a"), regexes("b+"), globs("c", "d"), labels
    )
    assert target("kubernetes: {namespace_re: a, pod: b, container_re: c}").kubernetes == PodWords(
        regexes("a"), globs("b"), regexes("c")
    )


def test_all_pods() -> None:
    """No words at all are all pods; they are many trees."""
    found = target("kubernetes: {}")
    assert (found.kubernetes, found.many) == (PodWords(), True)


COMM = "expected at most 15 bytes, which is what the kernel keeps of a name, found"
LABEL = "expected the value of a label as Kubernetes allows it, found"
KEY = "expected the key of a pod label as Kubernetes allows it, found the text"
USER = "match.user: expected the name of a user, or a UID, found"
MISTAKES = {
    "match: {}": (
        "20: match: expected at least one of exe, exe_re, comm, comm_re, cmdline, cmdline_re, "
        "user, found an empty mapping"
    ),
    "match: sh": "20: match: expected a mapping, found the text 'sh'; give it keys or remove it",
    "pid: 1, exclude: {}": (
        "30: exclude: expected at least one of exe, exe_re, comm, comm_re, cmdline, cmdline_re, "
        "user, found an empty mapping"
    ),
    "pid: 1, exclude: []": (
        "30: exclude: expected a mapping or a list of mappings, found an empty list; "
        "give it keys or remove it"
    ),
    "pid: 1, exclude: [sh]": "31: exclude: expected a mapping, found the text 'sh'",
    "pid: 1, exclude: [[{comm: a}]]": "31: exclude: expected a mapping, found a list",
    "container: {}": (
        "24: container: expected at least one of name, name_re, image, image_re, "
        "found an empty mapping"
    ),
    "kubernetes: all": (
        "25: kubernetes: expected a mapping, found the text 'all'; give it keys or remove it"
    ),
    "match: {exe: nginx}": (
        "26: match.exe: expected the path of a program, which begins with '/' or '**', "
        "found 'nginx'; write '**/nginx'"
    ),
    "match: {exe: '*/sbin/nginx'}": (
        "26: match.exe: expected the path of a program, which begins with '/' or '**', "
        "found '*/sbin/nginx'; write '**/sbin/nginx'"
    ),
    "match: {exe: '*'}": (
        "26: match.exe: expected the path of a program, which begins with '/' or '**', "
        "found '*'; write '**'"
    ),
    "match: {comm: systemd-journald}": (
        f"27: match.comm: {COMM} 16 in 'systemd-journald'; write 'systemd-journal'"
    ),
    "match: {comm: 'ääääääää'}": f"27: match.comm: {COMM} 16 in 'ääääääää'; write 'äääääää'",
    "match: {comm: 'kworker/*-events-long'}": (
        f"27: match.comm: {COMM} 20 in 'kworker/*-events-long'; shorten it"
    ),
    "match: {comm: [ok, 5]}": "32: match.comm: expected text, found the number 5; quote it: '5'",
    "match: {comm: []}": (
        "27: match.comm: expected a value or a list of values, found an empty list; "
        "leave the key out"
    ),
    "match: {comm: '[a'}": (
        "27: match.comm: glob '[a', character 1: the bracket is not closed; "
        r"close it with ], or write \[ for a literal one"
    ),
    "match: {cmdline_re: '(a'}": (
        "33: match.cmdline_re: regular expression '(a', character 1: the group is not closed; "
        r"close it with ), or write \( for a literal one"
    ),
    "match: {comm: a, comm_re: b}": (
        "30: match.comm_re: expected either 'comm' or 'comm_re', found both; "
        "write all as regular expressions, in a list under 'comm_re'"
    ),
    "match: {user: -1}": f"27: {USER} the number -1",
    "match: {user: 4294967295}": f"27: {USER} the number 4294967295",
    "match: {user: true}": f"27: {USER} true; quote it: 'true'",
    "match: {user: '0'}": f"27: {USER} the text '0'; write it without quotes",
    "match: {user: www-*}": (
        f"27: {USER} the text 'www-*'; list each user: there are no patterns here"
    ),
    'match: {user: "a\\ud800"}': f"27: {USER} the text 'a\\ud800'",
    "kubernetes: {labels: {app: a b}}": f"40: kubernetes.labels.app: {LABEL} 'a b'",
    "kubernetes: {labels: {app: -a}}": f"40: kubernetes.labels.app: {LABEL} '-a'",
    f"kubernetes: {{labels: {{app: {'a' * 64}}}}}": (
        f"40: kubernetes.labels.app: {LABEL} '{'a' * 59}…'"
    ),
    "kubernetes: {labels: {app: 1}}": (
        "40: kubernetes.labels.app: expected text, found the number 1; quote it: '1'"
    ),
    "kubernetes: {labels: {a/b/c: d}}": f"35: kubernetes.labels: {KEY} 'a/b/c'",
    "kubernetes: {labels: {A.b/c: d}}": f"35: kubernetes.labels: {KEY} 'A.b/c'",
    "kubernetes: {labels: {}}": (
        "34: kubernetes.labels: expected a mapping of labels to values, such as {app: web}, "
        "found a mapping"
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_has_one_message(text: str, message: str) -> None:
    """Its place, what was expected, what was found, the mend."""
    assert problem(text) == message


@pytest.mark.parametrize("text", ["match: {comm: a}", "container: {name: a}", "kubernetes: {}"])
def test_words_need_a_name(text: str) -> None:
    """There is no short text that could be the label; two without are told once each."""
    with pytest.raises(ConfigError) as caught:
        parse(f"- {{{text}}}\n- {{{text}}}", "c.yaml")
    kind = text.split(":")[0]
    message = f"name: missing; a target with '{kind}' must be given one"
    assert [p.message for p in caught.value.problems] == [message, message]


def test_a_name_that_is_wrong_is_not_missing() -> None:
    """One mistake, one message."""
    with pytest.raises(ConfigError) as caught:
        parse("- {name: 5, match: {comm: a}}", "c.yaml")
    assert [p.message for p in caught.value.problems] == [
        "name: expected text, found the number 5; quote it: '5'"
    ]


def test_every_entry_is_looked_at() -> None:
    """All mistakes of all lists are told, in the order of the file."""
    with pytest.raises(ConfigError) as caught:
        target("match: {comm: ['[', ok, '['], exe: [a, /b]}, exclude: [{user: -1}, {comm: 0}]")
    assert [p.column for p in caught.value.problems] == [28, 37, 49, 75, 87]

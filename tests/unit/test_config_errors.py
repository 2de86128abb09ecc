"""Each mistake in a config has its place, what was expected, what was found, and the mend."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.errors import ConfigError

EMPTY = "the file is empty; expected a list of targets, or a mapping with the key 'targets'"
TARGET = "target: expected a PID, the path of a cgroup (it begins with '/') or a mapping"
PATH = "cgroup: expected the path of a cgroup, which begins with '/'"

WHOLE_FILE = {
    "": f"1:1: {EMPTY}",
    "# only a comment\n": f"1:1: {EMPTY}",
    "---\n": f"1:1: {EMPTY}",
    "4711": (
        "1:1: config: expected a list of targets, or a mapping with the key 'targets', "
        "found the number 4711; put '- ' before it"
    ),
    "[]": (
        "1:1: targets: expected a list of targets, found an empty list; "
        "name a PID, a cgroup or 'all: true'"
    ),
    "targets:\n": "1:9: targets: expected a list of targets, found nothing",
    "targets: 5": (
        "1:10: targets: expected a list of targets, found the number 5; put it into brackets: [ ]"
    ),
    "self_cost: true": "1:1: targets: missing; list what to follow under this key",
    "- 1\n---\n- 2": "2:1: expected one document, found a second one; remove this '---'",
}

KEYS = {
    "- pid: 1\n  folow_forks: no": ("2:3: unknown key 'folow_forks'; did you mean 'follow_forks'?"),
    "- {PID: 1}": "1:4: unknown key 'PID'; did you mean 'pid'?",
    "targets: [1]\nscale: 3": "2:1: unknown key 'scale' here; it belongs under 'histograms'",
    "targets: [1]\npid: 3": "2:1: unknown key 'pid' here; it belongs into a target",
    "- {pid: 1, self_cost: true}": (
        "1:12: unknown key 'self_cost' here; it belongs at the top of the file"
    ),
    "targets: [1]\nlimits: {zzz: 1}": (
        "2:10: unknown key 'zzz'; known here: series, trees, processes, comms"
    ),
    "- {pid: 1, keep_gone: 1m}": (
        "1:12: unknown key 'keep_gone' here; it belongs at the top of the file"
    ),
    "- {comm: sh}": "1:4: unknown key 'comm' here; it belongs under 'match' or 'exclude'",
    "- {name: x, match: {namespace: y}}": (
        "1:21: unknown key 'namespace' here; it belongs under the 'kubernetes' of a target"
    ),
    "targets: [1]\nexclude: {cmd: y}": "2:11: unknown key 'cmd'; did you mean 'cmdline'?",
}

VALUES = {
    "- 0": "1:3: pid: expected a PID from 1 to 4194304, found the number 0",
    "- 4194305": "1:3: pid: expected a PID from 1 to 4194304, found the number 4194305",
    "- {pid: true}": "1:9: pid: expected a PID from 1 to 4194304, found true",
    "- '4711'": f"1:3: {TARGET}, found the text '4711'; write it without quotes",
    "- {pid: '4711'}": (
        "1:9: pid: expected a PID from 1 to 4194304, found the text '4711'; write it without quotes"
    ),
    "- 0777": f"1:3: {TARGET}, found the text '0777'; write 777",
    "- 1_000": f"1:3: {TARGET}, found the text '1_000'; write 1000",
    "- 1:30": f"1:3: {TARGET}, found the text '1:30'; list it by its PID or by its cgroup",
    "- nginx": f"1:3: {TARGET}, found the text 'nginx'; list it by its PID or by its cgroup",
    "- all": f"1:3: {TARGET}, found the text 'all'; write 'all: true'",
    "- system.slice/x": f"1:3: {TARGET}, found the text 'system.slice/x'; write '/system.slice/x'",
    "- [1]": f"1:3: {TARGET}, found a list",
    "- 1.5": f"1:3: {TARGET}, found the number 1.5",
    "-": f"1:2: {TARGET}, found nothing",
    "- {name: 5, pid: 1}": "1:10: name: expected text, found the number 5; quote it: '5'",
    "- {name: true, pid: 1}": "1:10: name: expected text, found true; quote it: 'true'",
    "- {name: ' ', pid: 1}": (
        "1:10: name: expected text that is not blank, found the text ' '; leave the key out"
    ),
    '- {name: "a\\nb", pid: 1}': (
        "1:10: name: expected text without control characters, found the text 'a\\nb'; remove them"
    ),
    '- {name: "\\ud800", pid: 1}': (
        "1:10: name: expected text without control characters, found the text '\\ud800'; "
        "remove them"
    ),
    f"- {{name: {'x' * 201}, pid: 1}}": (
        "1:10: name: expected at most 200 characters, found 201; shorten it"
    ),
    "- {all: false}": "1:9: all: expected true, found false; leave the key out",
    "targets: [1]\nself_cost: yes": (
        "2:12: self_cost: expected true or false, found the text 'yes'"
    ),
    "targets: [1]\nhistograms: {by: clas}": (
        "2:18: histograms.by: expected one of syscall, class, both, found the text 'clas'; "
        "did you mean 'class'?"
    ),
    "targets: [1]\nhistograms: {scale: 4}": (
        "2:21: histograms.scale: expected a whole number from 0 to 3, found the number 4"
    ),
    "targets: [1]\nlimits:\n": (
        "2:8: limits: expected a mapping, found nothing; give it keys or remove it"
    ),
    "targets: [1]\nlimits: {series: 999}": (
        "2:18: limits.series: expected a whole number from 1000 to 10000000, found the number 999"
    ),
}

CGROUPS = {
    "- {cgroup: ''}": f"1:12: {PATH}, found empty text",
    "- {cgroup: 5}": f"1:12: {PATH}, found the number 5",
    "- {cgroup: a.slice}": f"1:12: {PATH}, found 'a.slice'; write '/a.slice'",
    "- /a/../../etc": (
        "1:3: cgroup: expected a path without '..', found '/a/../../etc'; "
        "write out where it leads, from the cgroup root"
    ),
    "- /a/./b": (
        "1:3: cgroup: expected a path without '.', found '/a/./b'; "
        "write out where it leads, from the cgroup root"
    ),
    '- "/a\\0b"': ("1:3: cgroup: expected a path without control characters, found '/a\\x00b'"),
    '- "/a\\nb"': "1:3: cgroup: expected a path without control characters, found '/a\\nb'",
    f"- /{'ä' * 2048}": (
        "1:3: cgroup: expected a path of at most 4095 bytes, found 4097; shorten it"
    ),
    "- /kubepods.slice/[": (
        "1:3: cgroup: glob '/kubepods.slice/[', character 17: the bracket is not closed; "
        r"close it with ], or write \[ for a literal one"
    ),
    "- /a[/]": (
        "1:3: cgroup: glob '/a[/]', character 3: brackets match no slash in a path; "
        "write the slash without brackets"
    ),
    r"- /a\x2db*": (
        r"1:3: cgroup: expected '\\x2d' in a pattern, where a backslash begins an escape, "
        r"found '/a\x2db*'; double the backslash"
    ),
    "- /a/../*": (
        "1:3: cgroup: expected a path without '..', found '/a/../*'; "
        "write out where it leads, from the cgroup root"
    ),
}

TARGETS = {
    "- {name: x}": (
        "1:3: target: expected exactly one of "
        "pid, pidfile, cgroup, systemd, container, kubernetes, match, all, found none of them"
    ),
    "- {pid: 1, cgroup: /a}": (
        "1:12: target: expected exactly one of "
        "pid, pidfile, cgroup, systemd, container, kubernetes, match, all, found pid and cgroup; "
        "make a target of each"
    ),
    "- {cgroup: /a, follow_forks: false}": (
        "1:16: follow_forks: expected it beside 'pid', 'pidfile' or 'match', found it beside "
        "'cgroup', where 'false' has no meaning (children are in it, too); remove it"
    ),
    "- {all: true, follow_forks: false}": (
        "1:15: follow_forks: expected it beside 'pid', 'pidfile' or 'match', found it beside "
        "'all', where 'false' has no meaning (children are in it, too); remove it"
    ),
    "- {name: x, pid: 1}\n- {name: x, pid: 2}": (
        "2:10: name: 'x' is used twice, first on line 1; give each target its own"
    ),
    "- 1\n- {pid: 2, name: 'pid:1'}": (
        "2:18: name: 'pid:1' is used twice, first on line 1; give each target its own"
    ),
    "- 1\n- {name: x, pid: 1}": (
        "2:3: target: PID 1 is listed twice, first on line 1; remove one of them"
    ),
    "- 0x10\n- 16": "2:3: target: PID 16 is listed twice, first on line 1; remove one of them",
    "- /a//b/\n- {name: x, cgroup: /a/b}": (
        "2:3: target: the cgroup '/a/b' is listed twice, first on line 1; remove one of them"
    ),
    "- /a\n- /sys/fs/cgroup/a": (
        "2:3: target: the cgroup '/a' is listed twice, first on line 1; remove one of them"
    ),
    "- all: true\n- {name: x, all: true}": (
        "2:3: target: 'all' is listed twice, first on line 1; remove one of them"
    ),
    "targets: [1, 2, 3]\nlimits: {trees: 2}": (
        "1:17: targets: expected at most 2 (limits.trees), found 3; raise the limit or list fewer"
    ),
}

CASES = WHOLE_FILE | KEYS | VALUES | CGROUPS | TARGETS


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    return str(caught.value).split("\n")


@pytest.mark.parametrize(("text", "problem"), CASES.items(), ids=[case[:40] for case in CASES])
def test_a_mistake_has_one_message(text: str, problem: str) -> None:
    """One mistake, one line: the file, the place, what was expected, what was found, the mend."""
    assert problems(text) == [f"c.yaml:{problem}"]


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    """A file with mistakes on every floor is told all of them, top to bottom."""
    text = """\
targets:
  - {name: 5, pid: 0}
  - nginx
  - /a
  - {name: b, cgroup: /a}
  - !x {pid: 7, pid: 8, folow_forks: no}
histograms: {classic: 1, scale: 9}
limits: {trees: lots}
otlp: {client_key: /k}
"""
    assert [problem.split(": ")[0] for problem in problems(text)] == [
        "c.yaml:2:12",
        "c.yaml:2:20",
        "c.yaml:3:5",
        "c.yaml:5:5",
        "c.yaml:6:5",
        "c.yaml:6:17",
        "c.yaml:6:25",
        "c.yaml:7:23",
        "c.yaml:7:33",
        "c.yaml:8:17",
        "c.yaml:9:8",
    ]


def test_a_long_value_is_shortened() -> None:
    """A message stays one short line, whatever stands in the file."""
    (problem,) = problems(f"- {{pid: {'9' * 100_000}}}")
    assert problem.endswith(f"found the text '{'9' * 59}…'")

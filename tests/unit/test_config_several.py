"""What concerns several targets at once: doubles, limits, and what nothing can reach."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.errors import ConfigError
from exporter.kernel.sizes import MAX_USERS, PATTERN_STATES


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def warnings(text: str) -> list[str]:
    return [f"{w.line}:{w.column}: {w.message}" for w in parse(text, "c.yaml").warnings]


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("pidfile: /run/x.pid", "pidfile: //run/./x.pid", "the pidfile '//run/./x.pid'"),
        ("systemd: x.service", "systemd: x.service", "the unit 'x.service'"),
        ("cgroup: /a/*", "cgroup: /sys/fs/cgroup/a/*/", "the cgroup '/a/*'"),
        ("container: {name: [a, b]}", "container: {name: [b, a]}", "'container' with these words"),
        ("kubernetes: {}", "kubernetes: {}", "'kubernetes' with these words"),
        (
            "kubernetes: {labels: {a: x, b: y}}",
            "kubernetes: {labels: {b: y, a: x}}",
            "'kubernetes' with these words",
        ),
    ],
)
def test_the_same_root_twice(first: str, second: str, what: str) -> None:
    """However it is written."""
    assert problems(f"- {{name: a, {first}}}\n- {{name: b, {second}}}") == [
        f"2:3: target: {what} is listed twice, first on line 1; remove one of them"
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"cgroup: /{'x' * 70}/a", f"cgroup: /{'x' * 70}/b"),  # a message would cut both alike
        ("cgroup: '/a/[x]'", r"cgroup: '/a/\[x]'"),
        ("pidfile: /run/x.pid", "cgroup: /run/x.pid"),
        ("container: {name: a}", "container: {image: a}"),
        ("container: {name: a}", "container: {name_re: a}"),
        ("kubernetes: {labels: {a: x}}", "kubernetes: {labels: {a: y}}"),
        ("match: {comm: a}", "match: {exe: '**'}"),
    ],
)
def test_two_roots_are_two(first: str, second: str) -> None:
    """What is not the same everywhere may both be listed."""
    found = parse(f"- {{name: a, {first}}}\n- {{name: b, {second}}}", "c.yaml")
    assert len(found.targets) == 2
    assert not any("can hold no process" in str(warning) for warning in found.warnings)


def test_only_single_trees_count() -> None:
    """Patterns and selectors take what is left of limits.trees; a warning where that is none."""
    many = "{cgroup: /a/*}, {name: k, kubernetes: {}}, {name: c, container: {name: x}}"
    assert warnings(f"targets: [{many}, 1]\nlimits: {{trees: 2}}") == []
    assert warnings(f"targets: [{many}, 1]\nlimits: {{trees: 1}}") == [
        "1:11: target 'cgroup:/a/*' can hold no process: the other targets take all 1 trees of "
        "limits.trees; raise the limit"
    ]
    single = "{name: m, match: {comm: x}}, {systemd: x.service}, {pidfile: /x}"
    assert problems(f"targets: [{many}, {single}, 1]\nlimits: {{trees: 2}}") == [
        "1:138: targets: expected at most 2 (limits.trees), found 4; raise the limit or list fewer"
    ]


def test_at_most_64_sets_of_words() -> None:
    """Of the file, of all targets, excluded or matched."""
    lines = [
        f"  - {{name: t{i}, match: {{comm: t{i}}}, exclude: [{{user: {i}}}]}}" for i in range(32)
    ]
    text = "targets:\n" + "\n".join(lines)
    assert len(parse(text, "c.yaml").targets) == 32
    (problem,) = problems(text + "\nexclude: {comm: x}")
    assert problem.startswith(
        "33:47: exclude: expected at most 64 sets of words in a file, each 'match' and each entry "
        "of 'exclude' is one, found 65;"
    )


def test_at_most_64_rules_for_cgroups() -> None:
    """Patterns, units, containers and pods alike; PIDs and paths are none."""
    rules = [f"/a{i}/*" for i in range(62)]
    rules += ["{systemd: x.service}", "{name: k, kubernetes: {}}"]
    text = "limits: {trees: 256}\ntargets:\n  - 1\n" + "".join(f"  - {rule}\n" for rule in rules)
    text += "".join(f"  - /b{i}\n" for i in range(100))
    assert len(parse(text, "c.yaml").targets) == 165
    (problem,) = problems(text + "  - {name: c, container: {name: x}}")
    assert problem.startswith(
        "168:5: targets: expected at most 64 targets with a pattern of cgroups, systemd, container,"
        " kubernetes, found 65;"
    )


def test_at_most_1024_users() -> None:
    """Different ones, of all sets together; at most 256 values stand in a list."""

    def text(users: int) -> str:
        of_list = [range(first, min(first + 250, users)) for first in range(0, users, 250)]
        entries = [f"{{user: [root, {', '.join(map(str, some))}]}}" for some in of_list]
        return f"- {{pid: 1, exclude: [{', '.join(entries)}]}}"

    assert len(parse(text(MAX_USERS - 1), "c.yaml").targets) == 1
    (problem,) = problems(text(MAX_USERS))
    assert problem.endswith("user: expected at most 1024 different users in a file, found 1025")
    (problem,) = problems(f"- {{pid: 1, exclude: {{user: [{'0, ' * 256} 1]}}}}")
    assert problem == (
        "1:798: exclude.user: expected at most 256 values, found 257; "
        "write patterns that match several"
    )


def test_units_take_room_too() -> None:
    """The kernel compares the path of a new cgroup with each; literal ones it knows by a hash."""
    units = [f"{{systemd: {chr(97 + i) * 200}.service}}" for i in range(10)]
    text = "".join(f"- {unit}\n" for unit in units)
    (problem,) = problems(text)
    assert problem.startswith("10:13: cgroup: regular expression '")
    assert problem.endswith(f"(all patterns share {PATTERN_STATES} states)")
    literal = "".join(f"- /{chr(97 + i) * 300}\n" for i in range(20))
    assert len(parse(literal + text.partition("\n")[0], "c.yaml").targets) == 21


def test_patterns_fit_together() -> None:
    """Each alone fits; the first that is too much is told where it stands, whatever its field."""
    text = (
        "exclude: {cmdline_re: 'a{700}'}\n"
        "targets:\n"
        "  - {name: x, match: {comm_re: 'b{600}'}}\n"
        f"  - {{cgroup: '/{'c' * 600}*'}}\n"
    )
    assert len(parse(text, "c.yaml").targets) == 2
    assert len(parse(text + "  - {name: z, match: {exe: /ok}}", "c.yaml").targets) == 3
    for line, at, field, pattern in (
        ("{name: z, match: {exe_re: [ok, 'd{200}']}}", "1:23", "cmdline", "'a{700}'"),
        ("{name: z, match: {comm: ok, cmdline_re: 'd{200}'}}", "5:45", "cmdline", "'d{200}'"),
        ("{name: z, match: {comm_re: ['a', 'd{900}']}}", "5:38", "comm", "'d{900}'"),
    ):
        (problem,) = problems(f"{text}  - {line}")
        assert problem.startswith(f"{at}: {field}: regular expression {pattern}: ")
        assert problem.endswith(f"(all patterns share {PATTERN_STATES} states)")


def test_patterns_that_overlap_in_too_many_ways() -> None:
    """Each set of rules that may hold at the end of a text is a state of the kernel's, too."""

    def text(filler: int) -> str:
        # So that a name that is the n-th of these letters fits the sets that n has bits of.
        sets = ["".join(chr(0x400 + n) for n in range(128) if n >> bit & 1) for bit in range(7)]
        lines = [f"- {{name: t{i}, match: {{comm_re: '[{one}]'}}}}" for i, one in enumerate(sets)]
        return "\n".join([*lines, f"- {{name: f, match: {{exe_re: 'd{{900}}e{{{filler}}}'}}}}"])

    assert len(parse(text(800), "c.yaml").targets) == 8
    (problem,) = problems(text(930))
    assert problem.startswith("7:31: comm: the patterns up to here overlap in 128 ways, too many ")


def test_a_pattern_that_explodes() -> None:
    """Told by itself, and at once with other mistakes."""
    found = problems("- {name: x, match: {comm_re: '.*a.{12}', user: -1}}")
    assert [problem.split(": ")[:3] for problem in found] == [
        ["1:30", "match.comm_re", "regular expression '.*a.{12}'"],
        ["1:48", "match.user", "expected the name of a user, or a UID, found the number -1"],
    ]


SHADOW = "ranks before it and holds all; remove one of them"


@pytest.mark.parametrize("root", ["/", "{systemd: -.slice}"])
def test_the_root_cgroup_leaves_nothing(root: str) -> None:
    """Cgroups rank before `match` and `all`, wherever they stand."""
    what = "the cgroup '/'" if root == "/" else "the unit '-.slice'"
    text = f"- {{name: m, match: {{comm: a}}}}\n- {{all: true}}\n- {root}\n- /a\n- 2"
    assert warnings(text) == [
        f"1:3: target 'm' can hold no process: {what} on line 3 {SHADOW}",
        f"2:3: target 'all' can hold no process: {what} on line 3 {SHADOW}",
    ]


def test_an_exclusion_leaves_something() -> None:
    """What the root cgroup excludes is left to others, unless they exclude it themselves."""
    root = "- {cgroup: /, exclude: {comm: a}}\n"
    assert warnings(root + "- {all: true}") == []
    assert warnings(root + "- {all: true, exclude: [{user: 0}, {comm: a}]}") == [
        f"2:3: target 'all' can hold no process: the cgroup '/' on line 1 {SHADOW}"
    ]


ALL = "every process fits these words"


@pytest.mark.parametrize(
    "words", ["{comm: '*'}", "{exe: '**/**'}", "{cmdline_re: '.*'}", "{comm: ['a', '**']}",
              "{comm: '*', cmdline_re: '^.*$'}"],
)  # fmt: skip
def test_words_that_every_process_fits(words: str) -> None:
    """Allowed, and warned of; what ranks after them is left with nothing."""
    text = f"- {{name: a, match: {{comm: x}}}}\n- {{name: b, match: {words}}}\n- {{all: true}}\n"
    assert warnings(text + "- {name: c, match: {comm: y}}\n- 1\n- 2\n- /x") == [
        f"2:20: match: {ALL}; write 'all: true' instead",
        f"3:3: target 'all' can hold no process: the 'match' on line 2 {SHADOW}",
        f"4:3: target 'c' can hold no process: the 'match' on line 2 {SHADOW}",
        f"5:3: target 'pid:1' can hold no process: the 'match' on line 2 {SHADOW}",
    ]


@pytest.mark.parametrize("words", ["{user: root}", "{comm: '?*'}", "{comm_re: .+}", "{exe: '/**'}"])
def test_words_that_some_process_does_not_fit(words: str) -> None:
    """No warning where a process might be left."""
    assert warnings(f"- {{name: a, match: {words}}}\n- {{all: true}}") == []


def test_a_pattern_that_says_nothing_beside_others() -> None:
    """The pattern itself is warned of, not the set."""
    assert warnings("- {name: a, match: {comm: [b, '*'], user: root}}\n- {all: true}") == [
        "1:31: comm: every process fits '*'; remove it"
    ]
    assert warnings("- {name: a, match: {comm: b, exe: '**'}}") == [
        "1:35: exe: every process fits '**'; remove it"
    ]


def test_an_exclusion_of_everything() -> None:
    """Not meant, as a target's or as the file's."""
    message = f"exclude: {ALL}, so none is left; remove it"
    assert warnings("targets: [{pid: 2, exclude: {comm: '*'}}]\nexclude: [{exe: '**'}]") == [
        f"1:29: {message}",
        f"2:11: {message}",
    ]


def test_the_same_words_again() -> None:
    """The first holds them all, unless it leaves children or exclusions."""
    second = "- {name: b, match: {user: [1, 0], comm: x}}"
    assert warnings(f"- {{name: a, match: {{comm: x, user: [0, 1]}}}}\n{second}") == [
        "2:3: target 'b' can hold no process: the 'match' with the same words on line 1 " + SHADOW
    ]
    for more in ("follow_forks: false", "exclude: {comm: y}"):
        assert warnings(f"- {{name: a, match: {{comm: x, user: [0, 1]}}, {more}}}\n{second}") == []


def test_names_that_are_used_twice() -> None:
    """A default name against one that was given, for the new kinds."""
    assert problems("- {systemd: x.service}\n- {name: 'systemd:x.service', pidfile: /x}") == [
        "2:10: name: 'systemd:x.service' is used twice, first on line 1; give each target its own"
    ]


def test_each_kind_excludes_the_others() -> None:
    """The second of two kinds is the mistake."""
    (problem,) = problems("- {name: x, match: {comm: a}, pidfile: /x}")
    assert problem.startswith("1:31: target: expected exactly one of pid, pidfile, cgroup, ")
    assert problem.endswith("found match and pidfile; make a target of each")

"""What YAML allows and a config has no use for is refused by name, and where it stands."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.errors import ConfigError

NO_KEY = "found a ':' where no key can stand; quote a text that holds ': ', or mend the indentation"
STAR = "expected a value, found a bare '*', which begins an alias in YAML; quote the text: '*'"

CASES = {
    "- 1\n\t- 2": "2:1: expected spaces, found a tab; indent with spaces",
    "- name: x pid: 1": f"1:14: {NO_KEY}",
    "targets: [1\n": (
        "2:1: not valid YAML: while parsing a flow sequence (begun on line 1): "
        "expected ',' or ']', but got 'end of file'"
    ),
    "- pid: 1\n  name: 'x\n": (
        "2:9: expected the closing quote of this text, found the end of the file"
    ),
    "- @x": (
        "1:3: expected a value, found a character that no plain text begins with; quote the text"
    ),
    "- 1\n- *": f"2:3: {STAR}",
    "- cgroup: */app": f"1:11: {STAR}",
    "- *base": (
        "1:3: found the alias '*base'; aliases are refused: "
        "write the value out, or quote it if it is meant as text"
    ),
    "- &base 1": "1:3: found the anchor '&base'; anchors are refused: remove it",
    "- !!int 1": "1:3: found the tag 'tag:yaml.org,2002:int'; tags are refused: remove it",
    "- pid: 1\n  <<: {name: x}": (
        "2:3: found the merge key '<<'; merging is refused: write the keys out"
    ),
    "- pid: 1\n  name: a\n  pid: 2": (
        "3:3: duplicate key 'pid', first on line 1; remove one of them"
    ),
    "- \x07": "1:3: expected printable text, found the character U+0007; remove it",
    "- 1 #\u2028- 2": "1:6: found the line separator U+2028; use plain newlines",
    '- "\\UFFFFFFFF"': "1:6: not valid YAML: an escape or a version holds a number too large",
    "[" * 5000: "1:17: expected at most 16 levels of nesting, found more",
    "- pid: 1\n  [a]: 1": "2:3: key: expected plain text, found a list",
}


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    return str(caught.value).split("\n")


@pytest.mark.parametrize(("text", "problem"), CASES.items(), ids=[case[:40] for case in CASES])
def test_a_mistake_has_one_message(text: str, problem: str) -> None:
    """One line at the place where the mistake begins, with the mend; else PyYAML says why."""
    assert problems(text) == [f"c.yaml:{problem}"]


def test_what_was_refused_is_not_reported_again() -> None:
    """An alias in the place of a value is one mistake, not an alias and a wrong type."""
    assert len(problems("targets: [1]\nhistograms: {by: *x, scale: *y}\nlimits: *z")) == 3


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    """Nested aliases are never followed: as many messages as there are anchors and aliases."""
    lines = ["a0: &a0 [x]"] + [
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)
    ]
    found = problems("\n".join(lines))
    assert sum("found the alias" in line for line in found) == 72
    assert sum("found the anchor" in line for line in found) == 9

"""Whatever stands in the file: a `Config`, or mistakes that a person can find."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from exporter.config.catalog import KEYS
from exporter.config.load import parse
from exporter.errors import ConfigError

_TOKENS = [
    *("- ", "\n", "\n  ", "\n    ", ": ", ", ", "[", "]", "{", "}", "'", '"', "? ", "| "),
    *("> ", "#"),
    *("&a ", "*a", "*", "! ", "!!str ", "<<: ", "---\n", "...\n", "%YAML 1.2\n", "\t"),
    *("\\U0011", "\0"),
    *("\x85", "\u2028", "\ufeff", "\r", "\ud800", "4711", "1", "0", "-1", "0777", "9" * 50),
    *("1e999", "true", "no", "~", "", ".inf", ".nan", "0.25", "/", "/a", "/a/../b", "/a*"),
    *("/sys/fs/cgroup", "/sys/fs/cgroup/a", "/**/", "/[", "/\\x2d*", "x.service", "5m", "class"),
    *("{comm: a}", "{user: 0, exe: '**'}", "{app: web}", "[pod, image]", "[a/b]", "(a|b)*c{2,3}"),
    *("name: x\n  ", "match: {", "kubernetes: {", "exclude: [{", "labels: {", "https://h:1"),
    *(f"{key.name}: " for key in KEYS),
    *("spans: {", "otlp: {", "{a: b}", "http://u:p@[::1]:0/?", "grpc", "EIO", "enoent", "openat"),
    *("opennat", "[exit, read]", "1e-9", "500us", "/dev/null", "true", "{metrics: true}"),
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join)))
@example('- "\\U00110000"')
@example('- "\\ud800"')
@example("%YAML 1." + "9" * 5000 + "\n---\n- 1")
@example("- " * 3000)
@example("{" * 3000)
@example("? " * 3000)
def test_any_text(text: str) -> None:
    """Never another exception; each mistake is one printable line at a place of the file."""
    try:
        config = parse(text, "c.yaml")
    except ConfigError as error:
        assert error.problems
        lines = len(text.splitlines()) + 1
        for problem in error.problems:
            assert 1 <= problem.line <= lines
            assert 1 <= problem.column <= len(text) + 1
            assert problem.message.isprintable()
            assert len(problem.message) < 500
    else:
        assert config.targets
        assert len({target.name for target in config.targets}) == len(config.targets)
        for target in config.targets:
            target.name.encode()  # a label's value must be UTF-8

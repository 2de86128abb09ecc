"""Globs and regular expressions as automata: each matches what Python's `re` matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.model.patterns import Automaton, PatternError, build, check
from exporter.model.target import Pattern

# Valid UTF-8 of each length, its borders, halves of it, and bytes that are never in it.
_CHARACTERS = "ab-/\n\t7_é€😀\u07ff\u0800\ud7ff\ue000\U00010000\U0010ffff"
_PIECES = [
    *(character.encode() for character in _CHARACTERS),
    *(b"\xc3", b"\xa9", b"\xe2", b"\xe2\x82", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x98", b"\x80"),
    *(b"\xbf", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"),
]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=8).map(b"".join)

_ATOMS = st.sampled_from(
    [
        *("a", "b", "-", "é", "😀", ".", "()", "[ab]", "[^a]", "[^é-€]", "[\ue000-𐀀]", "[à-힣]"),
        *("[]-]", r"\d", r"\W", r"[\w-]", r"[^\W_]", r"\x61", r"\."),
    ]
)
_MARKS = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{2,3}", "{0}", "*?", "{1,2}?"])
REGEXES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda ways: f"({'|'.join(ways)})"),
        st.tuples(inner, _MARKS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)
_GLOB_PIECES = ["a", "b", "/", "é", "*", "**", "?", "[ab]", "[!a]", "[à-€/]", r"\*", "[]!]", "-"]
GLOBS = st.lists(st.sampled_from(_GLOB_PIECES), max_size=8).map("".join)


def matches(pattern: Pattern, text: bytes, path: bool = False) -> bool:
    return build([(pattern, 0)], 60000, path).run(text) == 1


def characters(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


def re_matches(regex: str, text: bytes) -> bool:
    return re.fullmatch(regex, characters(text), re.ASCII | re.DOTALL) is not None


def as_regex(glob: str, path: bool) -> str:
    """The glob as Python's regular expression, piece by piece."""
    one = "[^/]" if path else "."
    found = ""
    for piece in re.findall(r"\*+|\[!?\]?[^]]*\]|\\.|.", glob):
        if piece[0] == "*":
            found += ".*" if len(piece) > 1 else f"{one}*"
        elif piece == "?":
            found += one
        elif piece[0] == "[":
            not_slash = "(?!/)" if path else ""
            found += not_slash + piece.replace("[!", "[^", 1)
        else:
            found += re.escape(piece[-1])
    if path:
        while (folded := re.sub(r"(^|/|\?:\.\*/\)\?)\.\*/", r"\1(?:.*/)?", found)) != found:
            found = folded
    return found


@settings(max_examples=300)
@given(REGEXES, st.lists(TEXTS, min_size=1, max_size=10))
@example(".", [b"\xc3\xa9", b"\xc3", b"\xa9", b"\xe2\x82"])
@example("..", [b"\xc3\xa9", b"\xe2\x82", b"\xe2\x82\xac"])
@example("(?:.){2,3}.*", [b"\xe2\x82a", b"\xe2\x82\xac"])
@example("(?:a.*)?[^a]*", [b"\xe2\x82a", b"a", b""])
@example("..+", [b"\xe2\x82", b"\xe2\x82a", b"\xc3\xa9"])
@example("..*..*", [b"\xc3\xa9", b"\xc3\xa9\xc3\xa9", b"\xe2\x82"])
@example("..*[^a].*", [b"\xc3\xa9", b"\xc3\xa9b", b"\xc3\xa9aa"])
@example(".?", [b"", b"a", b"ab"])
@example("(?:.a|.)*", [b"", b"a", b"ab", b"\xc3\xa9"])
@example("(?:.{2})*.?", [b"a" * n for n in range(6)])
def test_a_regex_matches_what_re_matches(regex: str, texts: list[bytes]) -> None:
    """Of any bytes: those that are not UTF-8 are characters as `surrogateescape` reads them."""
    automaton = build([(Pattern(regex, regex=True), 0)], 60000)
    for text in texts:
        assert automaton.run(text) == int(re_matches(regex, text)), text


@given(GLOBS, st.booleans(), st.lists(TEXTS, min_size=1, max_size=10))
def test_a_glob_matches_what_its_regex_matches(glob: str, path: bool, texts: list[bytes]) -> None:
    """Both ways to read a glob: of any text, and of a path."""
    automaton = build([(Pattern(glob), 0)], 60000, path)
    for text in texts:
        assert automaton.run(text) == int(re_matches(as_regex(glob, path), text)), text


@given(
    st.lists(
        st.one_of(REGEXES.map(lambda t: Pattern(t, regex=True)), GLOBS.map(Pattern)), max_size=5
    ),
    st.lists(TEXTS, min_size=1, max_size=10),
    st.data(),
)
def test_the_bits_of_many_are_the_bits_of_each(
    patterns: list[Pattern], texts: list[bytes], data: st.DataObject
) -> None:
    """Patterns in one automaton do not disturb each other, also if they share a bit."""
    bits = [data.draw(st.sampled_from([0, 1, 31, 63])) for _ in patterns]
    together = list(zip(patterns, bits, strict=True))
    try:
        automaton = build(together, 60000)
    except PatternError as error:
        assert error.position is None
        return
    for text in texts:
        expected = 0
        for pattern, bit in together:
            expected |= matches(pattern, text) << bit
        assert automaton.run(text) == expected


@given(st.one_of(REGEXES.map(lambda t: Pattern(t, regex=True)), GLOBS.map(Pattern)), st.booleans())
def test_the_table_is_what_the_kernel_expects(pattern: Pattern, path: bool) -> None:
    """State 0 is dead, no state leads out of the table, NUL matches nothing."""
    rows = build([(pattern, 5)], 60000, path).rows
    assert (rows[0].passes, rows[0].ends, set(rows[0].next)) == (0, 0, {0})
    for row in rows:
        assert len(row.next) == 256
        assert row.next.itemsize == 2
        assert max(row.next) < len(rows)
        assert {row.passes, row.ends} <= {0, 1 << 5}
        assert not rows[row.next[0]].ends


def test_the_same_patterns_are_the_same_table() -> None:
    """Nothing depends on the order of a hash table."""
    patterns = [(Pattern("/usr/*/é?"), 3), (Pattern("(a|b)+.*", regex=True), 1)]
    assert build(patterns, 2048).rows == build(patterns, 2048).rows


def test_no_patterns_match_nothing() -> None:
    automaton = build([], 2048)
    assert automaton.rows == Automaton().rows == ()
    assert automaton.run(b"a") == 0


@pytest.mark.parametrize(
    ("glob", "path", "yes", "no"),
    [
        ("", False, [b""], [b"a"]),
        ("nginx", False, [b"nginx"], [b"nginx ", b"anginx", b"", b"ngin"]),
        ("*", False, [b"", b"a/b", b"\xff\n"], []),
        ("a*", False, [b"a", b"a/b"], [b"", b"ba"]),
        ("a**b", False, [b"ab", b"a/b"], [b"a"]),
        ("*", True, [b"", b"ab", b"\xff"], [b"/", b"a/b"]),
        ("/usr/bin/*", True, [b"/usr/bin/x", b"/usr/bin/"], [b"/usr/bin/x/y", b"/usr/bin"]),
        ("/a/**", True, [b"/a/b", b"/a/b/c", b"/a/"], [b"/a", b"/ab", b"/b/a/"]),
        ("**/x", True, [b"/usr/bin/x", b"/x", b"x"], [b"/ax", b"/x/", b"/x/y"]),
        ("/a/**/b", True, [b"/a/b", b"/a/x/b", b"/a/x/y/b"], [b"/ab", b"/a/xb", b"/a/bx"]),
        ("/a/**/**/b", True, [b"/a/b", b"/a/x/b", b"/a/x/y/b"], [b"/ab", b"/a/xb"]),
        ("/a/***/**/b", True, [b"/a/b", b"/a/x/b"], [b"/ab", b"/a/xb"]),
        ("/a**b", True, [b"/ab", b"/a/b", b"/axb"], [b"/a"]),
        ("/a?b", True, [b"/axb", "/aéb".encode()], [b"/a/b", b"/ab"]),
        ("/a[!x]b", True, [b"/ayb", b"/a\xffb"], [b"/a/b", b"/axb"]),
        ("/a[+-9]b", True, [b"/a.b", b"/a0b"], [b"/a/b"]),
        ("/a[+-9]b", False, [b"/a.b", b"/a/b"], [b"/a:b"]),
        ("[é-ü]", False, ["é".encode(), "ö".encode()], [b"\xc3", b"\xa9", b"e"]),
        ("[]a]", False, [b"]", b"a"], [b"", b"[]a]"]),
        ("[!]a]", False, [b"b", b"\xff"], [b"]", b"a"]),
        (r"[\]\-\\]", False, [b"]", b"-", b"\\"], [b"a"]),
        ("[a-]", False, [b"a", b"-"], [b"b"]),
        (r"\*\?\[\\x", False, [rb"*?[\x"], [b"a?[x"]),
        ("**/x", False, [b"/x", b"a/b/x"], [b"x"]),
        ("{a,b}", False, [b"{a,b}"], [b"a"]),
        ("??", False, ["éé".encode(), b"\xc3a", b"\xff\xff", b"\xe2\x82"], ["é".encode()]),
    ],
)  # fmt: skip
def test_globs(glob: str, path: bool, yes: list[bytes], no: list[bytes]) -> None:
    assert [text for text in yes + no if matches(Pattern(glob), text, path)] == yes


@pytest.mark.parametrize(
    ("regex", "yes", "no"),
    [
        ("", [b""], [b"a"]),
        ("^a$", [b"a"], [b"^a$", b"a\n"]),
        ("^a|b$", [b"a", b"b"], [b"ab", b"ax", b"xb"]),
        ("a.c", [b"abc", b"a\nc", "aéc".encode(), b"a\xffc"], [b"ac", b"abbc"]),
        (r"\s", [b" ", b"\t", b"\n", b"\f", b"\r"], [b"\v", b"a"]),
        (r"\v\f\r\n\t", [b"\v\f\r\n\t"], []),
        (r"\x2f\xe9", ["/é".encode()], [b"/\xe9"]),
        (r"[\x30-\x39a\d-]+", [b"09a-"], [b"b"]),
        (r"worker-\d{2,3}", [b"worker-12", b"worker-123"], [b"worker-1", b"worker-1234"]),
        ("(a|b)*c|", [b"", b"c", b"abc"], [b"ab"]),
        ("(a?){1000}", [b"", b"a" * 1000], [b"a" * 1001, b"b"]),
        ("a{0}", [b""], [b"a"]),
        ("]}-", [b"]}-"], []),
        (r"[^\x01-\x7f]", ["é".encode(), b"\xff"], [b"a", b"\xff\xff"]),
        ("[à-𐀀]", ["à".encode(), "𐀀".encode()], [b"\xe0", b"\xed\xa0\x80"]),
        ("¿", ["¿".encode()], ["¾".encode(), "ÿ".encode()]),
        ("[a-zb-c]", [b"a", b"z"], []),
        # What is not UTF-8 is never one of the characters that its bytes could begin.
        (r"[^\x80-\xff]", [b"\xc3", b"\xff", b"a"], ["é".encode(), b"\xc3\xc3"]),
        ("[^\x01-\u1fff]{3}", [b"\xe1\x80\xff"], [b"\xe1\x80\x80"]),
        ("[^\uc000-\uefff]{3}", [b"\xed\xa0\x80"], [b"\xec\x80\x80", b"\xed\x80\x80"]),
        ("[^\U000c0000-\U0010ffff]{4}", [b"\xf4\x90\x80\x80"], [b"\xf4\x80\x80\x80"]),
        ("[^\x01-\uffff]{4}", [b"\xf0\x80\x80\x80"], [b"\xe0\xa0\x80"]),
        (r"[^\W\w]", [], [b"", b"a", b"\xff"]),
    ],
)  # fmt: skip
def test_regexes(regex: str, yes: list[bytes], no: list[bytes]) -> None:
    assert [text for text in yes + no if matches(Pattern(regex, regex=True), text)] == yes


def test_a_text_that_holds_nul_does_not_match() -> None:
    """The kernel's texts end there."""
    for pattern in (Pattern("a?b"), Pattern("a[!x]b"), Pattern(r"a\Wb", regex=True)):
        assert not matches(pattern, b"a\0b")


def test_check_accepts_what_build_accepts() -> None:
    check(Pattern("/usr/**/x?"), path=True)
    check(Pattern("(worker|job)-[0-9]+", regex=True))

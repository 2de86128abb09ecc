"""What is wrong with a pattern, where, and how to mend it."""

from __future__ import annotations

import pytest

from exporter.model.patterns import PatternError, check
from exporter.model.target import Pattern


def error(pattern: Pattern, path: bool = False) -> PatternError:
    with pytest.raises(PatternError) as caught:
        check(pattern, path)
    return caught.value


@pytest.mark.parametrize(
    ("glob", "position", "wrong", "mend"),
    [
        ("a[b", 2, "the bracket is not closed", r"write \[ for a literal one"),
        ("a[]", 2, "the bracket is not closed", r"write \[ for a literal one"),
        ("a[", 2, "the bracket is not closed", r"write \[ for a literal one"),
        ("[^a]", 2, "'^' does not negate", "write [!…]"),
        ("[z-a]", 2, "the range 'z-a' ends before it begins", "turn it round"),
        ("[[:alpha:]]", 2, "named class", "write the characters"),
        ("ab\\", 3, "a backslash is the last", r"write \\ for a literal one"),
        ("a\0", 2, "U+0000 is in no text", "leave it out"),
        ("\ud800", 1, "U+D800 is in no text", "leave it out"),
        ("a" * 1025, 1025, "expected at most 1024 characters, found 1025", "shorten it"),
    ],
)
def test_globs(glob: str, position: int, wrong: str, mend: str) -> None:
    found = error(Pattern(glob))
    assert found.position == position
    assert f", character {position}: " in str(found)
    problem, _, advice = str(found).rpartition("; ")
    assert wrong in problem
    assert mend in advice


def test_a_slash_in_the_brackets_of_a_path() -> None:
    found = error(Pattern("/a[/]"), path=True)
    assert found.position == 3
    assert "write the slash without brackets" in str(found)
    check(Pattern("/a[/]"))


@pytest.mark.parametrize(
    ("regex", "position", "wrong", "mend"),
    [
        ("a[b", 2, "the bracket is not closed", r"write \[ for a literal one"),
        (r"[\d-z]", 2, r"'\d-z' is not a range", r"write \- for a hyphen"),
        ("a(b", 2, "the group is not closed", r"write \( for a literal one"),
        ("a)b", 2, "no group is open", r"write \) for a literal one"),
        ("*.log", 1, "'*' has nothing to repeat", r"write \* for a literal one"),
        ("a|+", 3, "'+' has nothing to repeat", r"write \+ for a literal one"),
        ("a**", 3, "'*' repeats a repetition", "put what it repeats into ( )"),
        ("a*+", 3, "'+' repeats a repetition", "put what it repeats into ( )"),
        ("a{2}{3}", 5, "'{' repeats a repetition", r"write \{"),
        ("a{,3}", 2, "expected {m}, {m,} or {m,n}", r"write it so, or \{"),
        ("a{2,x}", 2, "expected {m}, {m,} or {m,n}", r"write it so, or \{"),
        ("a{2", 2, "expected {m}, {m,} or {m,n}", r"write it so, or \{"),
        ("a{3,2}", 2, "{3,2} ends before it begins", "turn it round"),
        ("a{1001}", 2, "expected at most 1000 times, found 1001", "repeat it less"),
        ("a^b", 2, "'^' can stand only at the start", r"write \^ for a literal one"),
        ("(^a)", 2, "'^' can stand only at the start", "leave it out"),
        ("a$b", 2, "'$' can stand only at the end", r"write \$ for a literal one"),
        ("(a$)", 3, "'$' can stand only at the end", "leave it out"),
        ("(?=a)", 1, "'(?=' does not exist here", "write a plain group"),
        ("(?<!a)b", 1, "linear time", "write a plain group"),
        ("(?P<n>a)", 1, "named groups", "write a plain group"),
        ("(?i)a", 1, "flags", "write a plain group"),
        (r"(a)\1", 4, "no backreferences", "leave it out"),
        (r"\bword", 1, "linear time", "the whole text is compared"),
        (r"a\Z", 2, "linear time", "the whole text is compared"),
        (r"a\pL", 2, r"'\p' means nothing here", "leave the backslash out"),
        (r"\é", 1, r"'\é' means nothing here", "leave the backslash out"),
        (r"\x4", 1, "two hexadecimal digits", r"as in \x2e"),
        (r"\x+1", 1, "two hexadecimal digits", r"as in \x2e"),
        (r"\x00", 1, "in no text", "leave it out"),
        ("a\\", 2, "a backslash is the last", r"write \\ for a literal one"),
        ("(" * 51 + ")" * 51, 51, "groups are more than 50 deep", "write it with fewer"),
        ("((a{1000}){9}|b)", 11, "expected at most 2048 parts", "repeat less"),
    ],
)
def test_regexes(regex: str, position: int, wrong: str, mend: str) -> None:
    found = error(Pattern(regex, regex=True))
    assert found.position == position
    assert f", character {position}: " in str(found)
    problem, _, advice = str(found).rpartition("; ")
    assert wrong in problem
    assert mend in advice


def test_too_many_states_are_no_single_place() -> None:
    found = error(Pattern("(a|b)*a(a|b){20}", regex=True))
    assert found.position is None
    assert str(found) == (
        "regular expression '(a|b)*a(a|b){20}': expected at most 2048 states, found more; "
        "use fewer wildcards between other text, and repeat less"
    )


def test_a_message_is_one_short_line() -> None:
    """Whatever stands in the pattern."""
    found = error(Pattern("\n\x1b" + "x" * 500 + "["))
    assert str(found).isprintable()
    assert str(found).startswith(r"glob '\n\x1bxxx")
    assert len(str(found)) < 200
    assert len(str(error(Pattern("\x01" * 50 + "[")))) < 200

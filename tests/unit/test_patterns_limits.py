"""How many states patterns need, and that no pattern can take much time or memory to refuse."""

from __future__ import annotations

import tracemalloc
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.patterns import PatternError, build, check
from exporter.model.target import Pattern

_WORDS = [ascii_letters[n] * 2 + f"word{n}" for n in range(30)]  # no two begin alike


def states(*patterns: Pattern, path: bool = False, max_states: int = 2048) -> int:
    numbered = [(pattern, number % 64) for number, pattern in enumerate(patterns)]
    return len(build(numbered, max_states, path).rows)


def test_words_anywhere_need_a_state_for_each_character() -> None:
    """The dead state, the start, and the trie of the words: nothing remembers which were seen."""
    letters = sum(map(len, _WORDS))
    assert states(*(Pattern(f"*{word}*") for word in _WORDS)) == 2 + letters
    assert states(*(Pattern(f".*{word}.*", regex=True) for word in _WORDS)) == 2 + letters
    all_regexes = (Pattern(rf"(.|\n)*{word}[\s\S]*", regex=True) for word in _WORDS)
    assert states(*all_regexes) == 2 + letters
    assert states(*(Pattern(f"*{word}*") for word in _WORDS[:10])) == 2 + sum(map(len, _WORDS[:10]))


def test_words_that_are_not_ascii_need_a_state_for_each_byte() -> None:
    """Which bytes can begin another character is known to few states, whatever else they know."""
    words = [f"{first}лово" for first in "абвгдежз"]
    assert states(*(Pattern(f"*{word}*") for word in words)) == 2 + 10 * len(words) - 7
    letters = sum(map(len, _WORDS))
    assert states(*(Pattern(f"*{word}*") for word in [*_WORDS, "é"])) == 2 + letters + 2


def test_words_at_the_start_need_a_state_for_each_character() -> None:
    letters = sum(map(len, _WORDS))
    assert states(*(Pattern(f"{word}*") for word in _WORDS)) == 2 + letters
    assert states(*(Pattern(word) for word in _WORDS)) == 2 + letters


def test_words_below_a_path_share_what_they_begin_with() -> None:
    patterns = [Pattern(f"/usr/bin/{word}/**") for word in _WORDS]
    assert states(*patterns, path=True) == 2 + len("/usr/bin/") + sum(len(w) + 1 for w in _WORDS)


def test_words_that_share_a_bit_share_their_last_state() -> None:
    """Which of them it was makes no difference any more."""
    patterns = [(Pattern(f"/{letter}bc"), 7) for letter in ascii_letters]
    assert len(build(patterns, 2048).rows) == 3 + 2 * len(patterns) + 1
    patterns = [(Pattern(f"/{letter}bc*"), 7) for letter in ascii_letters]
    assert len(build(patterns, 2048).rows) == 3 + 2 * len(patterns) + 1


def test_all_words_of_one_text_set_their_bits() -> None:
    automaton = build([(Pattern(f"*{word}*"), n) for n, word in enumerate(_WORDS)], 2048)
    assert automaton.run("".join(_WORDS).encode()) == (1 << len(_WORDS)) - 1
    assert automaton.run("é".join(_WORDS[::-2]).encode()) == sum(2**n for n in range(1, 30, 2))
    assert automaton.run(_WORDS[3][:-1].encode()) == 0


def test_a_pattern_that_matched_sets_its_bit_though_the_others_end() -> None:
    """Also where all that follows is dead, in the middle of a character."""
    automaton = build([(Pattern("a*"), 0), (Pattern("a?"), 1), (Pattern("?*"), 2)], 2048)
    assert automaton.run(b"a\xc3") == 0b111
    assert automaton.run(b"a\xc3\xa9") == 0b111
    assert automaton.run(b"a\xc3\xc3\xc3") == 0b101
    assert automaton.run(b"\xc3\0") == 0b100


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        (Pattern("*"), False, 2),
        (Pattern("*a*"), False, 3),
        (Pattern("a*b"), False, 4),  # beyond the wildcard it matters no more what is UTF-8
        (Pattern("/*/b"), True, 5),
        (Pattern("?"), False, 13),  # where it does, ten states stand for half a character
        (Pattern("(a?){1000}", regex=True), False, 1002),
        (Pattern("a(b|c)d|a(b|c)d", regex=True), False, 5),
    ],
)
def test_states_of_one_pattern(pattern: Pattern, path: bool, expected: int) -> None:
    assert states(pattern, path=path) == expected


def test_the_limit_counts_all_rows() -> None:
    assert states(Pattern("abc"), max_states=5) == 5
    with pytest.raises(PatternError):
        states(Pattern("abc"), max_states=4)


def test_the_pattern_that_passed_the_limit_is_named() -> None:
    """Each `*x*y` doubles what is to be remembered."""
    patterns = [(Pattern(f"*{chr(0x62 + n)}*a"), n) for n in range(20)]
    with pytest.raises(PatternError, match=r"'\*l\*a'.* with the 10 before it") as caught:
        build(patterns, 2048)
    assert caught.value.pattern == Pattern("*l*a")
    build(patterns[:10], 2048)


_EXPLODING = [
    "(a|b)*a(a|b){20}",
    ".*a.{1000}",
    "(a{1000}){1000}",
    "((((a{0,1000}){0,1000}){0,1000}){0,1000}){0,1000}",
    "((((((){1000}){1000}){1000}){1000}){1000}){1000}",
    "(((((|){1000}){1000}){1000}){1000}){1000}",
    "(((((a*)*)*)*)*){1000}",
    "(" * 1000,
    "(" * 500 + ")" * 500,
    "(a" * 250 + ")*" * 250,
    "(?:" * 300,
    "[" + "\U00010000-\U0010ffff" * 300 + "]{1000}",
    "(" + "|".join(f"[^{chr(0x400 + n)}]{chr(0x400 + n)}" for n in range(160)) + "){3}.{300}",
    "(" + "".join(f"{chr(0x61 + n)}?" for n in range(26)) + "){37}",
    "a?" * 500 + "a{1000}" * 2,
    "a" * 10**6,
    "a{" + "9" * 1000 + "}",
]


@pytest.mark.parametrize("regex", _EXPLODING, ids=range(len(_EXPLODING)))
def test_what_explodes_is_refused_in_little_memory(regex: str) -> None:
    """It ends with an error, not by recursion, and before it has grown."""
    tracemalloc.start()
    try:
        with pytest.raises(PatternError) as caught:
            check(Pattern(regex, regex=True))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 400


def test_groups_may_be_fifty_deep() -> None:
    check(Pattern("(" * 50 + "a" + ")*" * 50, regex=True))


@given(
    st.lists(
        st.sampled_from([*"ab.*+?|()[]{}^$\\-,!/é", "{1000}", "{20}", "(?:", "\\d", "[^", ".*"]),
        max_size=20,
    ).map("".join),
    st.booleans(),
    st.booleans(),
)
def test_any_text_is_a_pattern_or_an_error(text: str, regex: bool, path: bool) -> None:
    """Never another exception; each error is one short line about a place of the text."""
    try:
        check(Pattern(text, regex), path)
    except PatternError as error:
        assert error.position is None or 1 <= error.position <= len(text) + 1
        assert str(error).isprintable()
        assert len(str(error)) < 400

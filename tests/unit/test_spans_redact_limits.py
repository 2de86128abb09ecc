"""Arguments of any bytes and any length end as a bounded number of valid texts, in linear time."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.spans import redact as redacting
from exporter.model.spans import secret_names, secret_texts
from exporter.model.spans.redact import CUT, MAX_ARGUMENTS, MAX_BYTES, redact
from exporter.model.spans.secret_texts import MARK

KERNEL = 4095  # more the kernel does not tell
WORST = [
    b"a", b"A", b"a ", b"a:", b"a=", b"://", b"://a:", b"://@", b"-----BEGIN ", b"password=",
    b"token: ", b"password ", b"--password ", b"Bearer ", b"Bearer aaaaaaaa ", b'"', b"'\"", b'\\"',
    b"'\\'\\\"", b"\\", b" ", b"\0", b"\xff", b"eyJ", b"mysql -p ", b"IDENTIFIED BY '",
    b'{"password":', b"%5D=", b"&", b"\n",
]  # fmt: skip


def calls(arguments: bytes) -> int:
    """How many functions are called, C's included, while these are redacted."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    redact(arguments)
    sys.setprofile(None)
    return count


@pytest.mark.parametrize("part", WORST)
def test_work_grows_with_the_text_and_not_with_its_square(part: bytes) -> None:
    """Eight times the text takes at most nine times the steps, and these are bounded below."""
    one, eight = (calls(b"x\0" + (part * 4096)[:size]) for size in (KERNEL, 8 * KERNEL))
    assert eight <= 9 * one
    assert one < 40 * KERNEL


@pytest.mark.parametrize("module", [redacting, secret_names, secret_texts])
def test_no_pattern_goes_back(module: ModuleType) -> None:
    """Each repetition keeps what it took, or there is hardly a choice how often."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    patterns = [p for p in _all(vars(module)) if isinstance(p, re.Pattern)]
    assert patterns
    for pattern in patterns:
        for name, choice in _repetitions(parser.parse(pattern.pattern, pattern.flags)):
            assert name == "POSSESSIVE_REPEAT" or choice <= 4, pattern


def test_what_is_searched_for_is_of_bounded_length() -> None:
    """The search begins anew at each character, and must not read on for long."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    find = secret_texts._FIND
    assert parser.parse(find.pattern, find.flags).getwidth()[1] < 100


@given(st.lists(st.sampled_from(WORST), max_size=60).map(b"".join))
def test_what_was_found_is_not_searched_again(text: bytes) -> None:
    """Secrets of one text follow each other; none begins within another."""
    found = list(secret_texts.secrets(text.decode(errors="replace"), secret_names.SecretNames()))
    assert all(one[1] <= next_[0] for one, next_ in pairwise(found))


def _all(found: dict[str, Any]) -> list[Any]:
    values = list(found.values())
    return values + [v for d in values if isinstance(d, dict) for v in d.values()]


def _repetitions(tree: Any) -> list[tuple[str, int]]:
    """Name of each, however deep, and by how much its highest number exceeds its lowest."""
    found = []
    for item in tree:
        if isinstance(item, tuple):
            if str(item[0]).endswith("REPEAT"):
                found.append((str(item[0]), int(item[1][1]) - int(item[1][0])))
            found += _repetitions(item[1:])
        elif isinstance(item, list) or hasattr(item, "data"):
            found += _repetitions(item)
    return found


ANY = st.lists(
    st.one_of(st.binary(max_size=40), st.sampled_from(WORST), st.just(b"\0")), max_size=200
)


@given(ANY)
def test_any_bytes_become_valid_text(parts: list[bytes]) -> None:
    """As many as there were, of so many bytes at most, and the cut is marked."""
    given_ = b"".join(parts)
    shown = redact(given_)
    encoded = [text.encode() for text in shown]
    assert sum(map(len, encoded)) <= MAX_BYTES + 2 * len(CUT.encode())
    there = len(given_.removesuffix(b"\0").split(b"\0")) if given_ else 0
    assert len(shown) == there or (len(shown) < there and shown[-1].endswith(CUT))
    assert len(shown) <= MAX_ARGUMENTS + 1
    assert not any(b"\0" in text for text in encoded)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_harmless_text_stays_as_it_is(text: str) -> None:
    """Where nothing is hidden, nothing is changed: quotes, blanks and backslashes included."""
    (shown,) = redact(text.encode() + b"\0")
    assert shown == text or MARK in shown


def test_bytes_that_are_no_text() -> None:
    """They become U+FFFD, one by one."""
    assert redact(b"\xffa\xc3\0\xed\xa0\x80") == ("\ufffda\ufffd", "\ufffd\ufffd\ufffd")


def test_too_many_arguments() -> None:
    """128 are shown; a mark is in the place of the rest."""
    assert redact(b"a\0" * 128) == ("a",) * 128
    assert redact(b"a\0" * 129) == (*("a",) * 128, CUT)


def test_too_many_bytes() -> None:
    """What is cut is marked where it is cut, between characters."""
    assert redact(b"\xff" * 1000 + b"\0" + b"\xff" * 1000) == (
        "\ufffd" * 1000,
        "\ufffd" * 365 + CUT,
    )


def test_what_the_kernel_cut_may_end_in_half_a_secret() -> None:
    """The last 64 characters of it are not shown; nor is a password whose @ is missing."""
    key = b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEK"
    begin = b"x\0" + b"y " * 2000
    cut = begin + b"z" * (KERNEL - len(begin) - len(key) - 1) + b" " + key
    assert len(cut) == KERNEL
    assert redact(cut)[1] == cut[2:-64].decode() + CUT
    url = b"https://me:" + b"S3cr3t" * 30
    shown = redact(begin[: KERNEL - len(url)] + url)[1]
    assert "S3cr3t" not in shown
    assert shown.endswith(f" https://{MARK}{CUT}")
    assert redact(b"x\0https://me:" + b"1" * 30)[1] == "https://me:" + "1" * 30

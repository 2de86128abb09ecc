r"""What a backslash means in a regular expression: `\d`, `\n`, `\x41`, `\.`."""

from __future__ import annotations

from exporter.model.patterns.charset import Charset, named, negate, single
from exporter.model.patterns.scanner import Scanner

_DIGIT = named([(0x30, 0x39)])
_WORD = named([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACE = named([(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)])  # RE2's: no vertical tab

_CLASSES: dict[str, Charset] = {
    "d": _DIGIT, "w": _WORD, "s": _SPACE,
    "D": negate(_DIGIT), "W": negate(_WORD), "S": negate(_SPACE),
    "n": single("\n"), "r": single("\r"), "t": single("\t"), "f": single("\f"), "v": single("\v"),
}  # fmt: skip
_HEX = "0123456789abcdefABCDEF"


def escape(scanner: Scanner) -> Charset:
    """What the backslash that was just read begins. Raise PatternError."""
    at = scanner.at - 1
    character = scanner.take()
    if not character:
        raise scanner.error("a backslash is the last character", r"write \\ for a literal one", at)
    if character in _CLASSES:
        return _CLASSES[character]
    if character == "x":
        return _hex(scanner, at)
    if character in "bBAzZG" or character.isdecimal():
        raise scanner.error(
            rf"'\{character}' does not exist here (no backreferences, no borders of words or "
            "lines), because the kernel matches in linear time",
            "leave it out: the whole text is compared",
            at,
        )
    if character.isalnum():
        raise scanner.error(
            rf"'\{character}' means nothing here",
            r"leave the backslash out, or write \\ for a literal one",
            at,
        )
    return single(character)


def _hex(scanner: Scanner, at: int) -> Charset:
    digits = scanner.text[scanner.at : scanner.at + 2]
    if len(digits) < 2 or not set(digits) <= set(_HEX):
        raise scanner.error(r"'\x' needs two hexadecimal digits", r"write it as in \x2e", at)
    scanner.at += 2
    if digits == "00":
        raise scanner.error(r"'\x00' is in no text of the kernel's", "leave it out", at)
    return single(chr(int(digits, 16)))

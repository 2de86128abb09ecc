"""Regular expressions: the core of RE2's syntax, in which all that is written is regular.

`.` matches every character, a newline too. `^` and `$` change nothing at the two ends, because the
whole text is compared, and are refused elsewhere. A `?` that asks for the shortest match is read
over: which match is found makes no difference.
Source: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from exporter.model.patterns.brackets import brackets
from exporter.model.patterns.charset import ANY
from exporter.model.patterns.escapes import escape
from exporter.model.patterns.scanner import Scanner
from exporter.model.patterns.tree import Chars, Choice, Repeat, Sequence, Tree, literal
from exporter.model.target import Pattern

MAX_DEPTH = 50
MAX_TIMES = 1000  # RE2's
_REPEATS = "*+?{"


def parse(pattern: Pattern) -> Tree:
    """The tree of a regular expression. Raise PatternError."""
    scanner = Scanner(pattern)
    scanner.accept("^")
    tree = _choice(scanner, 0)
    if scanner.next:
        raise scanner.error(
            "no group is open here", r"open it with (, or write \) for a literal one"
        )
    return tree


def _choice(scanner: Scanner, depth: int) -> Tree:
    parts = [_sequence(scanner, depth)]
    while scanner.accept("|"):
        parts.append(_sequence(scanner, depth))
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _sequence(scanner: Scanner, depth: int) -> Tree:
    parts: list[Tree] = []
    while scanner.next not in ("", "|", ")"):
        if scanner.next == "$" and scanner.at == len(scanner.text) - 1:
            scanner.take()
        else:
            parts.append(_repeats(scanner, _atom(scanner, depth)))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _atom(scanner: Scanner, depth: int) -> Tree:
    character = scanner.take()
    if character == "(":
        return _group(scanner, depth + 1)
    if character == "[":
        return Chars(brackets(scanner, "^", escape))
    if character == "\\":
        return Chars(escape(scanner))
    if character == ".":
        return Chars(ANY)
    at = scanner.at - 1
    if character in _REPEATS:
        raise scanner.error(
            f"'{character}' has nothing to repeat", rf"write \{character} for a literal one", at
        )
    if character in "^$":
        raise scanner.error(
            f"'{character}' can stand only at the {'start' if character == '^' else 'end'}",
            rf"leave it out, the whole text is compared, or write \{character} for a literal one",
            at,
        )
    return literal(character)


def _group(scanner: Scanner, depth: int) -> Tree:
    opened = scanner.at - 1
    if depth > MAX_DEPTH:
        raise scanner.error(f"groups are more than {MAX_DEPTH} deep", "write it with fewer", opened)
    if scanner.next == "?" and not scanner.accept("?:"):
        raise scanner.error(
            f"'({scanner.text[scanner.at : scanner.at + 2]}' does not exist here (no lookaround, "
            "named groups, flags), because the kernel matches in linear time",
            "write a plain group, ( ) or (?: )",
            opened,
        )
    tree = _choice(scanner, depth)
    if not scanner.accept(")"):
        raise scanner.error(
            "the group is not closed", r"close it with ), or write \( for a literal one", opened
        )
    return tree


def _repeats(scanner: Scanner, tree: Tree) -> Tree:
    """What was just read, with the repetition that follows it, if any."""
    at = scanner.at
    if scanner.next not in tuple(_REPEATS):
        return tree
    character = scanner.take()
    least, most = _times(scanner) if character == "{" else _MARKS[character]
    scanner.accept("?")
    if scanner.next in tuple(_REPEATS):
        raise scanner.error(
            f"'{scanner.next}' repeats a repetition",
            rf"leave it out, put what it repeats into ( ), or write \{scanner.next}",
        )
    return Repeat(tree, least, most, at)


_MARKS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def _times(scanner: Scanner) -> tuple[int, int | None]:
    opened = scanner.at - 1
    least = _number(scanner, opened)
    most: int | None = least
    if scanner.accept(","):
        most = None if scanner.next == "}" else _number(scanner, opened)
    if not scanner.accept("}"):
        raise _not_times(scanner, opened)
    if most is not None and most < least:
        raise scanner.error(f"{{{least},{most}}} ends before it begins", "turn it round", opened)
    return least, most


def _number(scanner: Scanner, opened: int) -> int:
    digits = ""
    while scanner.next in tuple("0123456789"):
        digits += scanner.take()
    if not digits:
        raise _not_times(scanner, opened)
    if len(digits) > len(str(MAX_TIMES)) or int(digits) > MAX_TIMES:
        raise scanner.error(
            f"expected at most {MAX_TIMES} times, found {digits[:9]}", "repeat it less", opened
        )
    return int(digits)


def _not_times(scanner: Scanner, opened: int) -> Exception:
    return scanner.error(
        "expected {m}, {m,} or {m,n}", r"write it so, or \{ for a literal brace", opened
    )

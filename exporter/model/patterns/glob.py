r"""Globs: `*`, `**`, `?`, `[abc]`, `[a-z]`, `[!abc]`, and `\` before what is meant literally.

In a path `*`, `?` and brackets do not match a slash, but `**` does, and `/**/` is also one slash.
"""

from __future__ import annotations

from exporter.model.patterns.brackets import brackets
from exporter.model.patterns.charset import ANY, Charset, single, subtract
from exporter.model.patterns.scanner import Scanner
from exporter.model.patterns.tree import Chars, Repeat, Sequence, Tree, literal
from exporter.model.target import Pattern

_SLASH = literal("/")
_ANYTHING = Repeat(Chars(ANY), 0, None)
_FOLDERS = Repeat(Sequence((_ANYTHING, _SLASH)), 0, 1)


def parse(pattern: Pattern, path: bool) -> Tree:
    """The tree of a glob. Raise PatternError."""
    scanner = Scanner(pattern)
    within = subtract(ANY, single("/")) if path else ANY
    parts: list[Tree] = []
    while scanner.next:
        character = scanner.take()
        if character == "*":
            stars = 1
            while scanner.accept("*"):
                stars += 1
            if not path or stars == 1:
                parts.append(Repeat(Chars(within), 0, None))
            elif (not parts or parts[-1] in (_SLASH, _FOLDERS)) and scanner.accept("/"):
                parts.append(_FOLDERS)
            else:
                parts.append(_ANYTHING)
        elif character == "?":
            parts.append(Chars(within))
        elif character == "[":
            parts.append(Chars(_class(scanner, path)))
        elif character == "\\":
            parts.append(Chars(_escape(scanner)))
        else:
            parts.append(literal(character))
    return Sequence(tuple(parts))


def _class(scanner: Scanner, path: bool) -> Charset:
    opened = scanner.at - 1
    if scanner.next == "^":
        raise scanner.error(
            "'^' does not negate in globs", r"write [!…] to negate, or [\^…] for a literal '^'"
        )
    charset = brackets(scanner, "!", _escape)
    if not path:
        return charset
    charset = subtract(charset, single("/"))
    if not charset:
        raise scanner.error(
            "brackets match no slash in a path", "write the slash without brackets", opened
        )
    return charset


def _escape(scanner: Scanner) -> Charset:
    if not scanner.next:
        raise scanner.error(
            "a backslash is the last character", r"write \\ for a literal one", scanner.at - 1
        )
    return single(scanner.take())

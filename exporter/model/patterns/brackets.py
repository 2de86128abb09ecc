"""Sets of characters in brackets, as in `[a-z0-9_]`: the same for globs and regular expressions."""

from __future__ import annotations

from collections.abc import Callable

from exporter.model.patterns.charset import Charset, named, negate, single, union
from exporter.model.patterns.scanner import Scanner


def brackets(scanner: Scanner, negation: str, escape: Callable[[Scanner], Charset]) -> Charset:
    """What stands from the bracket that was just read to the one that closes it.

    `escape` reads what follows a backslash. Raise PatternError.
    """
    opened = scanner.at - 1
    negated = scanner.accept(negation)
    first = scanner.at
    sets = []
    while scanner.next and (scanner.next != "]" or scanner.at == first):
        start = scanner.at
        low = _item(scanner, escape)
        if scanner.next == "-" and scanner.text[scanner.at + 1 : scanner.at + 2] not in ("]", ""):
            scanner.take()
            sets.append(_range(scanner, start, low, _item(scanner, escape)))
        else:
            sets.append(low)
    if not scanner.accept("]"):
        raise scanner.error(
            "the bracket is not closed", r"close it with ], or write \[ for a literal one", opened
        )
    charset = union(*sets)
    return negate(charset) if negated else charset


def _item(scanner: Scanner, escape: Callable[[Scanner], Charset]) -> Charset:
    for mark in ("[:", "[.", "[="):
        if scanner.text.startswith(mark, scanner.at):
            raise scanner.error(
                f"'{mark}' begins a named class, and there are none here",
                r"write the characters, as in [a-z], or \[ for a literal bracket",
            )
    if scanner.accept("\\"):
        return escape(scanner)
    return single(scanner.take())


def _range(scanner: Scanner, start: int, low: Charset, high: Charset) -> Charset:
    found = scanner.text[start : scanner.at]
    if any(len(end) != 1 or end[0][0] != end[0][1] for end in (low, high)):
        raise scanner.error(
            f"'{found}' is not a range between two characters", r"write \- for a hyphen", start
        )
    if low[0][0] > high[0][0]:
        raise scanner.error(
            f"the range '{found}' ends before it begins",
            r"turn it round, or write \- for a hyphen",
            start,
        )
    return named([(low[0][0], high[0][0])])

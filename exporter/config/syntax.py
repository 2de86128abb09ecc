"""PyYAML's complaints in words that say how to mend them, for the mistakes people make."""

from __future__ import annotations

import re

import yaml

from exporter.config.nodes import At

#: (in the context, in the problem, what we say instead). The first that fits holds.
_TABLE = (
    (
        "scanning an alias",
        "",
        "expected a value, found a bare '*', which begins an alias in YAML; quote the text: '*'",
    ),
    (
        "scanning an anchor",
        "",
        "expected a value, found a bare '&', which begins an anchor in YAML; quote the text: '&'",
    ),
    ("", r"'\t' that cannot start", "expected spaces, found a tab; indent with spaces"),
    (
        "",
        "that cannot start any token",
        "expected a value, found a character that no plain text begins with; quote the text",
    ),
    (
        "",
        "mapping values are not allowed here",
        "found a ':' where no key can stand; quote a text that holds ': ', or mend the indentation",
    ),
    ("", "could not find expected ':'", "expected ': ' and a value after the key"),
    (
        "scanning a quoted scalar",
        "unexpected end of stream",
        "expected the closing quote of this text, found the end of the file",
    ),
)

#: These are told where they begin: the scanner notices them at the end of the file, or one later.
_AT_BEGIN = ("scanning an alias", "scanning an anchor", "scanning a quoted scalar")


def explain(error: yaml.MarkedYAMLError) -> tuple[At, str]:
    """Where the error is and one line about it."""
    context, problem = error.context or "", error.problem or "unreadable"
    begins_before = any(words in context for words in _AT_BEGIN)
    mark = (error.context_mark if begins_before else None) or error.problem_mark
    at = At(mark.line + 1, mark.column + 1) if mark else At(1, 1)
    for in_context, in_problem, message in _TABLE:
        if in_context in context and in_problem in problem:
            return at, message
    begun = ""
    if context and error.context_mark and error.context_mark.line + 1 != at.line:
        begun = f" (begun on line {error.context_mark.line + 1})"
    told = f"{context}{begun}: {problem}" if context else problem
    return at, "not valid YAML: " + re.sub(r"\s+", " ", told).replace("<stream end>", "end of file")

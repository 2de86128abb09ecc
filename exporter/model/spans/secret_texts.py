"""Finds what is secret in one text, by its form or by the name before it.

Time is linear in the text, whatever it says: what is searched for has a bounded length and is
matched without going back, and where a secret ends is looked for once, from its begin on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from exporter.model.spans.secret_names import SecretNames

#: What stands for a secret. OpenTelemetry's conventions have the same word in URLs:
#: https://opentelemetry.io/docs/specs/semconv/registry/attributes/url/
MARK = "REDACTED"

_FIND = re.compile(
    r"""
    (?P<pem>-----BEGIN[ ])
    | (?P<url>://)
    | (?P<scheme>\b(?i:bearer|basic)[ \t]{1,8}+(?=[\w.~+/=-]{8}))
    | (?P<token>(?<![A-Za-z0-9_-])                              # as their issuers mark them
        (?:(?:eyJ|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|[rs]k_(?:live|test)_|AIza|ya29\.
            |pypi-AgE|AGE-SECRET-KEY-|whsec_)(?=[\w-]{10})
          |(?:dop_v1_|hv[bsr]\.|npm_|sk-|SG\.)(?=[A-Za-z0-9-]{20})))
    | (?P<aws_id>(?<![A-Za-z0-9])A(?:BIA|CCA|KIA|SIA)[A-Z0-9]{12})
    | (?P<aws_key>(?<![\w/+.-])[A-Za-z0-9/+]{40}+(?![\w/+=.-]))
    | (?P<sql>(?i:identified[ ]by|password)[ ]{1,8}+(?=["']))
    | (?P<name>[A-Za-z0-9_.-]{1,64}+)
      (?P<to>\\?["'\]]?(?:%5[Dd])?[ \t]{0,8}+(?::?=>?|:))
    """,
    re.VERBOSE | re.ASCII,
)
_SCHEME = re.compile(r"(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,8}+")
_TOKEN = re.compile(r"[\w.~+/=-]*+", re.ASCII)
_AUTHORITY = re.compile(r"[^/?#\s]*+")
_BEYOND = re.compile(r"\S{0,512}+")  # how far a password with a slash in it is looked for
_PORT = re.compile(r"\d{1,5}+(?!\w)", re.ASCII)
_BLANKS = re.compile(r"[ \t]*+")
_QUOTED = {
    '"': re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL),
    "'": re.compile(r"[^']*+"),
}
_UNQUOTED = re.compile(r"(?:[^\s&\\]|\\.)*+\\?", re.DOTALL)
_LINE = re.compile(r"[^\r\n]*+")
_BLOCK = re.compile(r"[|>]?[+-]?[ \t]*+")  # YAML: the value stands below
_PEM_END = "-----END "

#: Begin and end in a text.
Range = tuple[int, int]
_NOTHING: Range = (0, 0)


def conceal(text: str, ranges: Iterable[Range]) -> str:
    """The text with MARK in the place of each; they may overlap, and come in any order."""
    parts: list[str] = []
    done = 0
    for begin, end in sorted(ranges):
        if begin > done or not parts:
            parts += text[done:begin], MARK
        done = max(done, end)
    return "".join((*parts, text[done:]))


def secrets(
    text: str, names: SecretNames, *, whole: bool = True, cut: bool = False
) -> Iterator[Range]:
    """Where there are any.

    `whole`: if it begins with NAME=, all the rest is the value. `cut`: there was more of it.
    """
    at = 0
    while found := _FIND.search(text, at):
        if found.lastgroup == "to":
            begin, end = _value(text, found, names, whole)
            at = found.end("name")
        elif found.lastgroup == "url":
            at = _end(_AUTHORITY, text, found.end())
            begin, end = _userinfo(text, found, at, cut)
        else:
            begin, end = _by_form(text, found)
            at = found.end()
        if begin < end:
            yield begin, end
            at = end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Of what matches from `at` on."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _by_form(text: str, found: re.Match[str]) -> Range:
    """What tells by itself what it is."""
    begin, end = found.span()
    match found.lastgroup:
        case "pem":
            last = text.find(_PEM_END, end)
            last = text.find("-----", last + len(_PEM_END)) if last >= 0 else last
            return begin, len(text) if last < 0 else last + len("-----")
        case "aws_key":
            key = found[0]
            kinds = all(any(map(is_, key)) for is_ in (str.isupper, str.islower, str.isdigit))
            return (begin, end) if kinds and key.count("/") < 4 else _NOTHING
        case "sql":
            return _quoted(text, end)
        case "scheme":
            begin = end
    return begin, _end(_TOKEN, text, end)


def _userinfo(text: str, found: re.Match[str], end: int, cut: bool) -> Range:
    """`user:password` of scheme://user:password@host; of HTTP a user alone too: a token."""
    begin = found.end()
    at, colon = text.rfind("@", begin, end), text.find(":", begin, end)
    if at >= 0:
        http = text[max(begin - 8, 0) : begin].lower().endswith(("http://", "https://"))
        return (begin, at) if http or begin <= colon < at else _NOTHING
    if colon < 0:
        return _NOTHING
    if cut and end == len(text):
        return begin, end
    if _PORT.fullmatch(text, colon + 1, end):
        return _NOTHING
    at = text.rfind("@", end, _end(_BEYOND, text, end))
    return (begin, at) if at >= 0 else _NOTHING


def _quoted(text: str, begin: int) -> Range:
    """What stands in the quotes, of which the first is at `begin`."""
    return begin + 1, _end(_QUOTED[text[begin]], text, begin + 1)


def _value(text: str, found: re.Match[str], names: SecretNames, whole: bool) -> Range:
    """That of `name=value`, `name: value`, `"name": "value"`, if the name has a secret one."""
    name, to, begin = found["name"], found["to"], found.end()
    if name not in names and not (name[:1] == "-" and name[2:] in names):  # -DAUTH=x
        return _NOTHING
    if whole and to == "=" and not found.start():
        return begin, len(text)
    if to == ":" and not name.isidentifier() and _PORT.match(text, begin):
        return _NOTHING
    begin = _end(_BLANKS, text, begin)
    if text[begin : begin + 2] in ('\\"', "\\'"):
        end = text.find(text[begin : begin + 2], begin + 2)
        return begin + 2, len(text) if end < 0 else end
    if text[begin : begin + 1] in _QUOTED:
        return _quoted(text, begin)
    if to.endswith(":") and (begin > found.end() or not found.start()):
        around = text[found.start() - 1 : found.start()]
        if around in _QUOTED and to.strip() == ":":  # "Authorization: Bearer x"
            return begin, _end(_QUOTED[around], text, begin)
        end = _end(_LINE, text, begin)
        return begin, len(text) if _BLOCK.fullmatch(text, begin, end) else end
    return begin, _end(_UNQUOTED, text, _end(_SCHEME, text, begin))

"""Arguments of a command as they may leave the machine: valid UTF-8, of bounded length, without
what looks like a secret. What hides a little too much is on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exporter.kernel.records import CMDLINE_BYTES
from exporter.model.spans.secret_names import SecretNames
from exporter.model.spans.secret_texts import MARK, Range, conceal, secrets

MAX_ARGUMENTS = 128
MAX_BYTES = 4096
#: At the end of an argument, or alone, where the rest is left out.
CUT = "…"
#: Where the kernel cut an argument, so much of it is left out: a key may have begun there.
_DOUBTFUL = 64
#: A command in a command, as there are two kinds of quotes: "ssh host 'mysql -p…'".
_DEPTH = 2

_DEFAULT = SecretNames()
_ASKS = re.compile(r"--?[A-Za-z][\w.-]*+", re.ASCII)
#: A value may begin with a dash, but hardly looks like this.
_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z-]*+(?:=.*+)?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.-]*+", re.ASCII)
#: Names that have their value in the next argument without any dash.
_BARE = frozenset({"masterauth", "passphrase", "password", "requirepass"})
_COMMAND = re.compile(r"-[a-z]{0,4}c")  # what follows is for a shell
#: A word as the shell reads it, or what stands between two. An open quote goes to the end.
_WORD = re.compile(
    r"""(?P<word>(?:"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|'[^']*+(?:'|\Z)|\\.|\\\Z|[^\s"'\\])++)|\s++""",
    re.DOTALL,
)
#: The same where quotes mean nothing: that of a comment may have opened one.
_PLAIN_WORD = re.compile(r"(?P<word>\S++)|\s++")
_BLANK, _QUOTE = re.compile(r"\s"), re.compile(r"[\"'\\]")
_NO_NAME = re.compile(r"[^\w.-]", re.ASCII)
_BETWEEN = frozenset({":", "=", "=>", ":="})
_OPEN, _CLOSE, _QUOTES = "\\\"'`$({;|&", "`)};|&", "\\\"'"


class _Tool(NamedTuple):
    """Options of a program whose names do not tell that their values are secret."""

    letters: str
    flags: str = ""  # letters that may stand before, as in -sSu
    apart: bool = True  # whether the value may be the next argument
    names: tuple[str, ...] = ()  # whole ones


_ATTACHED_P = _Tool("p", apart=False)  # a lone -p asks for it
_TOOLS = {
    "curl": _Tool("uUb", "fgikLnNsSv", names=("--user", "--proxy-user", "--cert")),
    "sshpass": _Tool("p"), "login": _Tool("p"), "redis-cli": _Tool("a"), "lftp": _Tool("u"),
    "smbclient": _Tool("U"), "rpcclient": _Tool("U"), "sqlcmd": _Tool("P"), "bcp": _Tool("P"),
    "ipmitool": _Tool("P"), "isql": _Tool("P"), "cqlsh": _Tool("p"), "ldappasswd": _Tool("wsa"),
    "openssl": _Tool("", names=("-k", "-K")),
    "snmpget": _Tool("cAX"), "snmpset": _Tool("cAX"), "snmpwalk": _Tool("cAX"),
    "zip": _Tool("P"), "unzip": _Tool("P"), "7z": _ATTACHED_P, "7za": _ATTACHED_P,
    "7zr": _ATTACHED_P, "rar": _ATTACHED_P, "unrar": _ATTACHED_P,
}  # fmt: skip
_FAMILIES = (
    ("mysql", _ATTACHED_P), ("mariadb", _ATTACHED_P), ("mongo", _Tool("p")),
    ("ldap", _Tool("w")),
)  # fmt: skip


def redact(arguments: bytes, names: SecretNames = _DEFAULT) -> tuple[str, ...]:
    """The arguments, which have NULs between (and maybe after) them."""
    if not arguments:
        return ()
    cut = len(arguments) >= CMDLINE_BYTES - 1
    texts = [text.decode(errors="replace") for text in arguments.removesuffix(b"\0").split(b"\0")]
    texts = texts[: MAX_ARGUMENTS + 1]
    found = _sequence(texts, names, 0, cut=cut)
    hidden = [conceal(text, ranges) for text, ranges in zip(texts, found, strict=True)]
    if cut:
        last = hidden.pop()
        hidden.append((last if last.endswith(MARK) else last[:-_DOUBTFUL]) + CUT)
    return tuple(_shortened(hidden))


def _shortened(texts: Sequence[str]) -> list[str]:
    kept: list[str] = []
    left = MAX_BYTES
    for text in texts:
        data = text.encode()
        if len(kept) == MAX_ARGUMENTS or len(data) > left:
            rest = b"" if len(kept) == MAX_ARGUMENTS else data[:left]
            return [*kept, rest.decode(errors="ignore") + CUT]
        left -= len(data)
        kept.append(text)
    return kept


def _sequence(
    words: Sequence[str], names: SecretNames, depth: int, *, cut: bool = False
) -> Iterator[list[Range]]:
    """What to hide in each of the arguments, or of the words of a command in one of them."""
    tool: _Tool | None = None
    hide = False  # the value of what came before
    before = ""
    for number, word in enumerate(words):
        core = word.lstrip(_OPEN) if depth else word
        begin = len(word) - len(core)
        if depth:
            core = core.rstrip(_CLOSE + _QUOTES if begin else _CLOSE)
        if hide and not _OPTION.fullmatch(core):
            hide = word in _BETWEEN
            yield [] if hide else [(begin, begin + len(core))]
            continue
        tool = _tool(core) or tool
        secret = _of_option(core, tool)
        hide = secret == len(core) and (
            _takes_next(core, tool) or _asks_for_value(core, names, first=not number)
        )
        found = [(secret, len(core))] if secret < len(core) else []
        found += _text(
            core, names, depth,
            whole=not _COMMAND.fullmatch(before), cut=cut and number == len(words) - 1,
        )  # fmt: skip
        yield [(begin + a, begin + b) for a, b in found]
        before = word


def _text(text: str, names: SecretNames, depth: int, *, whole: bool, cut: bool) -> Iterator[Range]:
    """What to hide in one argument: as a text, and word by word, if it has several."""
    yield from secrets(text, names, whole=whole, cut=cut)
    if depth == _DEPTH or not _BLANK.search(text):
        return
    for split in (_WORD, _PLAIN_WORD) if _QUOTE.search(text) else (_PLAIN_WORD,):
        pieces = [piece for piece in split.finditer(text) if piece["word"]]
        found = _sequence([piece[0] for piece in pieces], names, depth + 1, cut=cut)
        for piece, ranges in zip(pieces, found, strict=True):
            yield from ((piece.start() + a, piece.start() + b) for a, b in ranges)


def _tool(word: str) -> _Tool | None:
    name = _NO_NAME.split(word[-32:])[-1]  # x=$(/usr/bin/mysql
    if name in _TOOLS:
        return _TOOLS[name]
    return next((tool for begin, tool in _FAMILIES if name.startswith(begin)), None)


def _of_option(word: str, tool: _Tool | None) -> int:
    """Where the value begins that is in the same word; else its end."""
    if tool is None or word[:1] != "-":
        return len(word)
    name = word.partition("=")[0]
    if name in tool.names:
        return min(len(name) + 1, len(word))
    letters = word[1:].lstrip(tool.flags)
    return len(word) - len(letters) + 1 if letters[:1] and letters[0] in tool.letters else len(word)


def _takes_next(word: str, tool: _Tool | None) -> bool:
    """Whether the next word is the value of this option."""
    if tool is None or word[:1] != "-":
        return False
    letter = word[1:].lstrip(tool.flags)
    return word in tool.names or (tool.apart and len(letter) == 1 and letter in tool.letters)


def _asks_for_value(word: str, names: SecretNames, *, first: bool) -> bool:
    """Whether the next word is its value: `--token x`, and `requirepass x` or `MY_TOKEN x`."""
    if word[:1] == "-":
        return bool(_ASKS.fullmatch(word)) and word[-64:] in names
    if first or not _NAME.fullmatch(word):
        return False
    return word in _BARE or ((word.isupper() or "_" in word) and word[-64:] in names)

"""Which names have a secret as their value: `DB_PASSWORD`, `--auth-token`, `X-Api-Key`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]?[a-z]++|[A-Z](?:[A-Z](?![a-z]))*+")
_NO_LETTERS = re.compile(r"[^a-z]++")

#: Anywhere in a name, whatever stands between its words.
_PARTS = (
    "password", "passwd", "passphrase", "passcode", "storepass", "keypass", "requirepass",
    "masterauth", "secret", "credential", "apikey", "accesskey", "accountkey", "authkey",
    "encryptionkey", "masterkey", "privatekey", "sessionkey", "signingkey", "authorization",
    "cookie", "signature",
)  # fmt: skip
#: As a whole word of a name.
_WORDS = frozenset({"auth", "bearer", "jwt", "pass", "passin", "passout", "psk", "pwd", "sig"})
#: At the end of a word: GITHUBTOKEN, and not tokenizer or --max-tokens.
_END = "token"
#: What is asked for by a name that ends in one of these is no secret itself.
_HARMLESS_ENDS = frozenset({
    "dir", "endpoint", "expiry", "file", "length", "name", "path", "sock", "stdin", "timeout",
    "ttl", "type", "uri", "url",
})  # fmt: skip
#: `--no-password`, `--ask-pass`: no value follows.
_HARMLESS_BEGINS = frozenset({"ask", "disable", "no", "prompt", "skip", "without"})
#: Where the shell is, and was.
_HARMLESS = frozenset({"PWD", "OLDPWD"})


class SecretNames:
    """The built-in ones, and those that contain one of `extra`. `name in names` tells."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        own = (_NO_LETTERS.sub("", name.lower()) for name in extra)
        self._part = re.compile("|".join((*_PARTS, *(name for name in own if name))))

    def __contains__(self, name: object) -> bool:
        """Of a name with up to some dozens of characters, dashes before it included."""
        if not isinstance(name, str) or len(name) < 3 or name in _HARMLESS:
            return False
        words = [word.lower() for word in _WORD.findall(name)]
        if not words or words[-1] in _HARMLESS_ENDS or words[0] in _HARMLESS_BEGINS:
            return False
        if not _WORDS.isdisjoint(words) or self._part.search(_NO_LETTERS.sub("", name.lower())):
            return True
        return any(word.endswith(_END) for word in words)

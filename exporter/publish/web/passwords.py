"""Names and passwords against bcrypt hashes, which take long on purpose.

Nobody can use that to keep the processor busy or others waiting: what was found out is remembered,
by a keyed hash; what is new is looked at one after the other, with a pause after each that was
wrong; and only so many may wait, of one client few.
"""

from __future__ import annotations

import os
import time
from binascii import a2b_base64
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

_REMEMBERED = 1024  # of right ones, and of wrong ones
_WAITING, _WAITING_OF_ONE = 16, 4
_PAUSE = 3  # times what the check took: wrong guesses get a quarter of one CPU
_LONGEST_PAUSE_S = 1.0
_LONGEST = 72  # bytes of a password that bcrypt looks at; Go and htpasswd leave out the rest, too


class TooManyError(Exception):
    """Others wait already."""


class Given(NamedTuple):
    """What a client says it is."""

    name: bytes
    password: bytes


def parse(authorization: str) -> Given | None:
    """The value of the header Authorization; None where it is not of the kind Basic."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = a2b_base64(encoded.encode("ascii"), strict_mode=True)
    except ValueError:
        return None
    name, colon, password = decoded.partition(b":")
    return Given(name, password) if colon else None


class Passwords:
    """What was found out about passwords. It holds none of them."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._right: dict[bytes, None] = {}
        self._wrong: dict[bytes, None] = {}
        self._turn = Lock()
        self._waiting = Counter[str]()
        self._lock = Lock()

    def are_right(self, given: Given, users: Mapping[bytes, bytes], client: str) -> bool:
        """Whether this is a user. Raises TooManyError; `client` is who asks, by its address."""
        known = given.name in users
        hashed = users[given.name] if known else self._stand_in(given.name, users)
        entry = self._digest(given.name, hashed, given.password)
        if (found := self._remembered(entry)) is not None:
            return found
        with self._place(client), self._turn:
            if (found := self._remembered(entry)) is not None:
                return found
            began = time.monotonic()
            right = _matches(given.password, hashed) and known
            remembered = self._right if right else self._wrong
            if len(remembered) >= _REMEMBERED:
                del remembered[next(iter(remembered))]
            remembered[entry] = None
            if not right:
                time.sleep(min(_PAUSE * (time.monotonic() - began), _LONGEST_PAUSE_S))
            return right

    def _remembered(self, entry: bytes) -> bool | None:
        if entry in self._right:
            return True
        return False if entry in self._wrong else None

    def _stand_in(self, name: bytes, users: Mapping[bytes, bytes]) -> bytes:
        """Somebody's hash, always the same one for a name: names that are none take as long."""
        hashes = tuple(users.values())
        return hashes[int.from_bytes(self._digest(name), "big") % len(hashes)]

    def _digest(self, *parts: bytes) -> bytes:
        from hashlib import blake2b

        digest = blake2b(key=self._key, digest_size=32)
        for part in parts:
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.digest()

    @contextmanager
    def _place(self, client: str) -> Iterator[None]:
        with self._lock:
            if self._waiting.total() >= _WAITING or self._waiting[client] >= _WAITING_OF_ONE:
                raise TooManyError
            self._waiting[client] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[client] -= 1
                self._waiting += Counter()  # drops those at 0


def _matches(password: bytes, hashed: bytes) -> bool:
    import bcrypt  # 0.5 MiB, for those who have users

    return bcrypt.checkpw(password[:_LONGEST], hashed)

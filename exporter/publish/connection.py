"""One client's connection: what it is doing, until when it may, what is read and unsent."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from enum import Enum


class State(Enum):
    """The value says who goes first when there are too many: idle ones, then slow readers."""

    READING = 0  # a head, or nothing yet
    CLOSING = 1  # all is sent; what the client still sends is thrown away
    WRITING = 2
    BUSY = 3  # a thread makes the response
    CLOSED = 4


@dataclass(slots=True, eq=False)
class Connection:
    """Belongs to the server's loop; only `state` is looked at by other threads."""

    sock: socket.socket
    since: float  # when the state began: bytes that trickle in make nobody younger
    deadline: float
    state: State = State.READING
    events: int = 0  # what the selector watches
    keep_alive: bool = True
    received: bytearray = field(default_factory=bytearray)
    unsent: list[memoryview] = field(default_factory=list)

    def enter(self, state: State, now: float, allowed: float) -> None:
        self.state = state
        self.since = now
        self.deadline = now + allowed

    @property
    def unsent_bytes(self) -> int:
        return sum(map(len, self.unsent))

    def send(self) -> None:
        """As much as the kernel takes now. Raises OSError when the client is gone."""
        while self.unsent:
            try:
                sent = self.sock.send(self.unsent[0])
            except BlockingIOError:
                return
            if sent < len(self.unsent[0]):
                self.unsent[0] = self.unsent[0][sent:]
                return
            del self.unsent[0]

    def receive(self, most: int) -> bytes | None:
        """Some bytes, b"" at the end, None if there are none yet. Raises OSError."""
        try:
            return self.sock.recv(most)
        except BlockingIOError:
            return None

"""What programs are called: any bytes in, text out; and a limit to how much of it is kept."""

from __future__ import annotations

_DELETED = b" (deleted)"  # what the kernel's d_path() adds
_MOST_NAME = 255  # bytes: NAME_MAX


def readable(data: bytes) -> str:
    """What is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def program_path(path: bytes) -> str:
    """Of a program, as /proc/PID/exe has it."""
    return readable(path.removesuffix(_DELETED))


def program_name(path: bytes) -> str:
    """Its last part, which is never longer than a name in a folder is; "" where there is none."""
    return readable(path.removesuffix(_DELETED).rpartition(b"/")[2][:_MOST_NAME])


class TextBudget:
    """How many bytes of text may be kept in all."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def take(self, size: int) -> bool:
        """False, and nothing is taken, where there is no room."""
        if size > self.left:
            return False
        self.left -= size
        return True

    def give_back(self, size: int) -> None:
        self.left += size

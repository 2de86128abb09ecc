"""Who is followed now, as the spans of processes want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from exporter.kernel import procfs
from exporter.kernel.records import PROCESS_ALIVE, Process, ProcessKey
from exporter.kernel.span_events import Forked, Record
from exporter.model.spans.processes import Listed

#: All that are followed now; told which are known, so that these are not looked up.
ListFollowed = Callable[[Callable[[ProcessKey], bool]], list[Listed]]


def followed(
    processes: Iterable[Process], knows: Callable[[ProcessKey], bool], proc: Path
) -> list[Listed]:
    """What those run that are not known is looked up in /proc; of the others it is left out."""
    return [
        _listed(process, proc, look=not knows(process.key))
        for process in processes
        if process.flags & PROCESS_ALIVE and process.member.tree_slot
    ]


def untold(listed: Iterable[Listed], records: Iterable[Record]) -> list[Listed]:
    """Without those whose birth is told of by records that are still to be learnt: these begin
    when that is learnt, and so below what their parent's span is by then."""
    born = {record.key for record in records if type(record) is Forked}
    return [found for found in listed if found.key not in born]


def _listed(process: Process, proc: Path, *, look: bool) -> Listed:
    texts = procfs.texts(proc, process.key.tgid) if look else None
    slot, key, parent = process.member.tree_slot, process.key, process.parent
    if texts is None:
        return Listed(slot, key, parent, "")
    return Listed(slot, key, parent, texts.comm.decode(errors="replace"), texts.exe)

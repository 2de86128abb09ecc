"""TRACEPARENT is found in any environment, wherever it stands, and hardly anything else is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import workload
from tests.kernel.spans import traced
from tests.kernel.trees import until

Build = Callable[..., Path]
LOST = "proctree_exporter_lost_events_total"
REFUSED = "proctree_exporter_refused_total"

#: The kernel looks at so many variables, in pieces of so many bytes: bpf/events.c.
STEPS, PIECE = 1024, 4095
NAME = b"TRACEPARENT="
ABOVE = "00f067aa0ba902b7"
OTHER = f"00-0af7651916cd43dd8448eb211c80319c-{ABOVE}-01".encode()


def trace_of(number: int) -> str:
    return f"{0x4BF92F3577B34DA6A3CE929D00000000 + number:032x}"


def value(number: int) -> bytes:
    return f"00-{trace_of(number)}-{ABOVE}-01".encode()


def of_size(size: int) -> bytes:
    """A variable of so many bytes, without its NUL."""
    return b"A=" + b"x" * (size - 2)


Environment = Callable[[bytes], list[bytes]]  # of a good value

JOINS: list[Environment] = [
    lambda good: [NAME + good],
    lambda good: [NAME + good, *[b"A=b"] * 40],
    lambda good: [*[b"A=b"] * 40, NAME + good],
    lambda good: [of_size(60 << 10), NAME + good],
    lambda good: [*[of_size(1023)] * 60, NAME + good],
    # The step before it ends with a piece, or nearly so.
    *(
        lambda good, size=size: [of_size(size), NAME + good]
        for size in (*range(PIECE - 2, PIECE + 3), *range(2 * PIECE - 2, 2 * PIECE + 3))
    ),
    lambda good: [b"", b"", NAME + good, b""],
    lambda good: [*[b""] * (STEPS - 1), NAME + good],
    lambda good: [of_size(PIECE * 20 + 7), *[b""] * (STEPS - 22), NAME + good],
    # The first one counts, as with getenv(3).
    lambda good: [NAME + good, NAME + OTHER],
    lambda good: [NAME + good, NAME + b"x"],
    # What only looks like it.
    lambda good: [b"X" + NAME + OTHER, b"TRACEPARENT", b"TRACEPARENTX=" + OTHER, NAME + good],
    lambda good: [b"traceparent=" + OTHER, b"A=" + NAME + OTHER, b" " + NAME + OTHER, NAME + good],
    lambda good: [b"T", b"TRACEPAR", b"ENT=" + OTHER, b"TRACEPARENT\n=" + OTHER, NAME + good],
    lambda good: [of_size(PIECE) + NAME + OTHER, NAME + good],
    lambda good: [of_size(PIECE + 1) + NAME + OTHER, NAME + good],
    lambda good: [of_size(2 * PIECE) + NAME + OTHER, of_size(1) + NAME + OTHER, NAME + good],
    lambda good: [b"\xff\xfe", b"\n\x01=\x80" * 99, b"=", NAME + good],
    # A version to come, of any length.
    lambda good: [NAME + b"cc" + good[2:] + b"-" + b"x" * 5000],
]

REFUSES: list[list[bytes]] = [
    [NAME],
    [NAME + b"\xff\x80\n\x1b[31m" * 11],
    [NAME + b"x" * 100_000],
    [NAME + OTHER[:-1]],
    [NAME + OTHER + b"x"],
    [NAME + OTHER + b"-" + b"x" * 5000],
    [NAME + b"x", NAME + OTHER],
]

SAYS_NOTHING: list[list[bytes]] = [
    [],
    [b""],
    [b"A=b"] * 40,
    [b"X" + NAME + OTHER],
    [NAME[:-1]],
    [of_size(PIECE) + NAME + OTHER],
    # Behind what is read.
    [*[b""] * STEPS, NAME + OTHER],
]


def write(path: Path, environments: Iterable[list[bytes]]) -> str:
    """As workloads/environs.c reads them."""
    blocks = [b"".join(variable + b"\0" for variable in one) for one in environments]
    path.write_bytes(b"".join(b"%d\n%s" % (len(block), block) for block in blocks))
    return str(path)


def target(pid: int, **spans: Any) -> dict[str, Any]:
    return {"name": "it", "pid": pid, "spans": {"processes": True, "traceparent": True, **spans}}


@pytest.fixture
def environs(build: Build) -> Path:
    return build("environs", "-static")


def test_every_place_of_the_variable(environs: Path, tmp_path: Path) -> None:
    """First, last, beyond 60 KiB, behind any piece that is read: what getenv(3) finds."""
    joining = [make(value(number)) for number, make in enumerate(JOINS)]
    environments = [*joining, *REFUSES, *SAYS_NOTHING]
    file = write(tmp_path / "environments", environments)
    with workload(environs, file, "1", "1") as tree, traced(target(tree.pid)) as it:
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        until(it.running, lambda _: it.number() > len(environments))
        refused = it.running.scrape().value(REFUSED, reason="traceparent_invalid")
        spans = it.end()
    assert refused == len(REFUSES)
    (root,) = [span for span in spans if span.pid == tree.pid]
    places = {
        span.attributes["process.exit.code"]: (span.trace.hex(), span.parent.hex())
        for span in spans
        if span is not root
    }
    assert len(spans) == 1 + len(environments)
    joined = [(trace_of(number), ABOVE) for number in range(len(JOINS))]
    others = [(root.trace.hex(), root.id.hex())] * (len(REFUSES) + len(SAYS_NOTHING))
    assert places == dict(enumerate(joined + others))


def test_a_storm_of_large_environments(environs: Path, tmp_path: Path) -> None:
    """5,000 programs with 60 KiB each take no room in the ring: each has its span, and its end."""
    variables = [b"V%04d=%s" % (number, b"x" * 57) for number in range(960)]
    file = write(tmp_path / "environment", [[*variables, NAME + value(0)]])
    with (
        workload(environs, file, "5000", "16") as tree,
        traced(target(tree.pid)) as it,
    ):
        tree.expect("ready")
        tree.go()
        assert tree.end() == 0
        scrape = it.running.scrape()
        losses = scrape.all(LOST)
        assert not any(losses.values()), losses
        spans = it.end()
    assert len(spans) == 5001
    assert sum(span.attributes.get("process.exit.code") == 0 for span in spans) == 5001
    assert sum(span.trace.hex() == trace_of(0) for span in spans) == 5000

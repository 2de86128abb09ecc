"""`spans` of a target: what they become, what is refused, and what says nothing."""

from __future__ import annotations

import pytest

from exporter.config.calls import call_names, error_numbers
from exporter.config.load import parse
from exporter.config.span_checks import MAX_TARGETS
from exporter.errors import ConfigError
from exporter.kernel.syscalls import Abi, load_errnos, load_names
from exporter.model.target import SpanWords

US, MS = 1_000, 1_000_000
OTLP = "otlp: {traces: true}"


def spans(text: str) -> SpanWords:
    (only,) = parse(f"targets: [{{pid: 1, spans: {text}}}]\n{OTLP}", "c.yaml").targets
    return only.spans


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        spans(text)
    (only,) = caught.value.problems
    return f"{only.line}:{only.column}: {only.message}"


def warnings(text: str) -> list[str]:
    found = parse(f"targets: [{{pid: 1, spans: {text}}}, {{pid: 2, spans: {{intervals: true}}}}]\n"
                  f"{OTLP}", "c.yaml").warnings  # fmt: skip
    return [f"{w.line}:{w.column}: {w.message}" for w in found]


def test_every_key() -> None:
    """Each is taken as it is written; what was named twice counts once."""
    text = (
        "{intervals: true, processes: true, slower_than: 10ms, errors: [EIO, ENOSPC, EIO], "
        "syscalls: [openat, fsync, openat], sample: 0.001, max_per_second: 200, "
        "command_args: true, traceparent: true}"
    )
    assert spans(text) == SpanWords(
        True, True, 10 * MS, ("EIO", "ENOSPC"), ("openat", "fsync"), 0.001, 200, True, True
    )
    assert spans("{errors: EIO, syscalls: openat}") == SpanWords(
        errors=("EIO",), syscalls=("openat",)
    )


def test_without_spans_there_are_none() -> None:
    """Not given, or given and empty."""
    (only,) = parse("[1]", "c.yaml").targets
    assert only.spans == spans("{}") == SpanWords()
    assert not only.spans.intervals
    assert not only.spans.from_events


@pytest.mark.parametrize(
    ("text", "ns"),
    [("0s", 0), ("1us", US), ("500us", 500 * US), ("1ms500us", 1500 * US), ("1h", 3_600_000 * MS)],
)
def test_slower_than(text: str, ns: int) -> None:
    """In microseconds, too; 0 is every call."""
    assert spans(f"{{slower_than: {text}}}").slower_than_ns == ns
    assert spans(f"{{slower_than: {text}}}").calls


@pytest.mark.parametrize(("text", "part"), [("1", 1.0), ("1.0", 1.0), ("1e-9", 1e-9), ("0.5", 0.5)])
def test_sample(text: str, part: float) -> None:
    """A number, whole or not."""
    assert spans(f"{{sample: {text}}}").sample == part


def test_every_call_and_error_of_our_tables() -> None:
    """Of all machines: one file serves nodes of different kinds."""
    names = {name for abi in Abi for name in load_names(abi).values()}
    assert names == call_names()
    assert {"open", "arch_prctl", "renameat2", "sync_file_range2"} <= names
    for name in names:
        assert spans(f"{{syscalls: {name}, sample: 1}}").syscalls == (name,)
    for number, name in load_errnos().items():
        assert spans(f"{{errors: [{name}]}}").errors == (name,)
        assert error_numbers()[name] == number


CALL = "expected the name of a system call, such as openat, found"
ERROR = "expected the name of an error, such as EIO, found"
PART = "expected a part of the calls from 1e-09 to 1, found"
SLOW = "expected a duration such as 1s, 10ms or 500us, found"
MISTAKES = {
    "{syscalls: [openat, opennat]}": (
        f"1:47: spans.syscalls: {CALL} the text 'opennat'; did you mean 'openat'?"
    ),
    "{syscalls: sys_openat}": (
        f"1:38: spans.syscalls: {CALL} the text 'sys_openat'; did you mean 'openat'?"
    ),
    "{syscalls: FSYNC}": f"1:38: spans.syscalls: {CALL} the text 'FSYNC'; did you mean 'fsync'?",
    "{syscalls: [zzzzzz]}": f"1:39: spans.syscalls: {CALL} the text 'zzzzzz'",
    "{syscalls: [257]}": f"1:39: spans.syscalls: {CALL} the number 257",
    "{syscalls: []}": (
        "1:38: spans.syscalls: expected a value or a list of values, found an empty list; "
        "leave the key out"
    ),
    "{errors: [enoent]}": f"1:37: spans.errors: {ERROR} the text 'enoent'; write ENOENT",
    "{errors: EWOULDBLOCK}": f"1:36: spans.errors: {ERROR} the text 'EWOULDBLOCK'; write EAGAIN",
    "{errors: ENOSPACE}": (
        f"1:36: spans.errors: {ERROR} the text 'ENOSPACE'; did you mean 'ENOSPC'?"
    ),
    "{errors: ERESTARTSYS}": (
        f"1:36: spans.errors: {ERROR} the text 'ERESTARTSYS'; a call that is begun again has not "
        "failed; one that was interrupted has EINTR"
    ),
    "{errors: [5]}": f"1:37: spans.errors: {ERROR} the number 5; write EIO",
    "{errors: [-28]}": f"1:37: spans.errors: {ERROR} the number -28; write ENOSPC",
    "{errors: [0]}": f"1:37: spans.errors: {ERROR} the number 0",
    "{errors: true}": f"1:36: spans.errors: {ERROR} true",
    "{sample: 0}": f"1:36: spans.sample: {PART} the number 0; leave it out",
    "{sample: 0.0}": f"1:36: spans.sample: {PART} the number 0.0; leave it out",
    "{sample: -0.1}": f"1:36: spans.sample: {PART} the number -0.1",
    "{sample: 1e-10}": f"1:36: spans.sample: {PART} the number 1e-10",
    "{sample: 1.1}": (
        f"1:36: spans.sample: {PART} the number 1.1; it is no percentage: all calls are 1, a "
        "hundredth is 0.01"
    ),
    "{sample: 1%}": f"1:36: spans.sample: {PART} the text '1%'; a hundredth is 0.01",
    "{sample: '0.5'}": f"1:36: spans.sample: {PART} the text '0.5'; write it without quotes",
    "{sample: true}": f"1:36: spans.sample: {PART} true",
    "{sample: .nan}": f"1:36: spans.sample: {PART} the number .nan",
    "{sample: .inf}": f"1:36: spans.sample: {PART} the number .inf",
    "{slower_than: 10}": (
        f"1:41: spans.slower_than: {SLOW} the number 10; add a unit: 10s, or 10ms if milliseconds "
        "are meant"
    ),
    "{slower_than: 1.5ms}": (
        f"1:41: spans.slower_than: {SLOW} the text '1.5ms'; write whole numbers with d, h, m, s, "
        "ms or us, the largest unit first"
    ),
    "{slower_than: 61m}": "1:41: spans.slower_than: expected at most 1h, found the text '61m'",
    "{max_per_second: 0}": (
        "1:44: spans.max_per_second: expected a whole number from 1 to 1000000, found the number 0"
    ),
    "{max_per_second: 1000001}": (
        "1:44: spans.max_per_second: expected a whole number from 1 to 1000000, "
        "found the number 1000001"
    ),
    "{intervals: 30s}": "1:39: spans.intervals: expected true or false, found the text '30s'",
    "{slower: 1s}": "1:28: unknown key 'slower'; did you mean 'slower_than'?",
    "true": "1:27: spans: expected a mapping, found true; give it keys or remove it",
    "[EIO]": "1:27: spans: expected a mapping, found a list; give it keys or remove it",
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_has_one_message(text: str, message: str) -> None:
    """Where, what was expected, what was found, and the nearest right one."""
    assert problem(text) == message


def test_keys_at_the_wrong_place() -> None:
    """Each is told where it belongs."""
    for text, message in {
        "[{pid: 1, errors: EIO}]": "'errors' here; it belongs under the 'spans' of a target",
        "[{pid: 1, endpoint: x}]": "'endpoint' here; it belongs under 'otlp'",
        "{targets: [1], spans: {}}": "'spans' here; it belongs into a target",
        "[{pid: 1, otlp: {}}]": "'otlp' here; it belongs at the top of the file",
    }.items():
        with pytest.raises(ConfigError) as caught:
            parse(text, "c.yaml")
        assert [p.message for p in caught.value.problems] == [f"unknown key {message}"]


def test_at_most_256_names() -> None:
    """Whoever lists nearly all calls is told what else there is."""
    names = sorted(call_names())[:257]
    assert problem(f"{{syscalls: [{', '.join(names)}], sample: 1}}").endswith(
        ": spans.syscalls: expected at most 256 values, found 257; leave out what is fast"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{intervals: true}", "{processes: true, command_args: true, traceparent: true}",
        "{slower_than: 1s, max_per_second: 5}", "{processes: true, traceparent: true}",
        "{sample: 1}", "{syscalls: openat, slower_than: 1ms}", "{syscalls: openat, sample: 1}",
        "{syscalls: openat, errors: EIO}", "{syscalls: openat, max_per_second: 1000}",
        "{processes: false}", "{intervals: true, command_args: false, traceparent: false}",
    ],
)  # fmt: skip
def test_what_warns_of_nothing(text: str) -> None:
    """What can be meant, a switch that is off among it."""
    assert warnings(text) == []


WITHOUT = "it says nothing without"
OF_CALLS = "slower_than, errors, syscalls or sample"
WARNINGS = {
    "{}": [
        "1:27: spans: nothing asks for a span; add one of intervals, processes, slower_than, "
        "errors, syscalls, sample, or remove it"
    ],
    "{command_args: true}": [
        "1:27: spans: nothing asks for a span; add one of intervals, processes, slower_than, "
        "errors, syscalls, sample, or remove it"
    ],
    "{processes: true, max_per_second: 5}": [
        f"1:45: spans.max_per_second: {WITHOUT} {OF_CALLS}; add that or remove it"
    ],
    "{sample: 1, command_args: true}": [
        f"1:39: spans.command_args: {WITHOUT} 'processes: true'; add that or remove it"
    ],
    "{intervals: true, traceparent: true}": [
        f"1:45: spans.traceparent: {WITHOUT} 'processes: true'; add that or remove it"
    ],
    "{syscalls: [openat]}": [
        "1:38: spans.syscalls: every call of these becomes a span, 1000 a second at most; choose "
        "among them by slower_than, errors or sample, or write max_per_second"
    ],
    "{syscalls: [exit_group, read], errors: EIO}": [
        "1:38: spans.syscalls: exit_group has no end, and so no span; remove it"
    ],
}


@pytest.mark.parametrize(("text", "messages"), WARNINGS.items(), ids=WARNINGS)
def test_what_says_nothing(text: str, messages: list[str]) -> None:
    """Allowed, and yet it cannot be meant."""
    assert warnings(text) == messages


def test_at_most_64_targets_with_spans_from_events() -> None:
    """As many rules as the kernel has; spans of intervals need none."""
    lines = [f"  - {{pid: {i}, spans: {{processes: true}}}}" for i in range(1, MAX_TARGETS + 1)]
    more = ["  - {pid: 9001, spans: {intervals: true}}", "  - {pid: 9002, spans: {sample: 1}}"]
    end = f"{OTLP}\nlimits: {{trees: 200}}"
    head = "\n".join(["targets:", *lines, more[0]])
    assert parse(f"{head}\n{end}", "c.yaml").warnings == ()
    with pytest.raises(ConfigError) as caught:
        parse(f"{head}\n{more[1]}\n{end}", "c.yaml")
    assert [str(p) for p in caught.value.problems] == [
        f"c.yaml:{MAX_TARGETS + 3}:17: spans: expected at most {MAX_TARGETS} targets with spans of "
        f"processes or calls, found {MAX_TARGETS + 1}; a target with a pattern follows many cgroups"
    ]

"""The three formats say the same, and other people's parsers agree."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest
from prometheus_client import parser

from exporter.model.labels import LabelSet
from exporter.model.snapshot import Snapshot
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape
from tests.unit.exposition_readers import (
    CLEAN,
    SHAPES,
    from_openmetrics,
    from_protobuf,
    from_text,
    render,
)
from tests.unit.metrics_proto import decode, to_text
from tests.unit.publish_samples import call, snapshot, text_series

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        (Format.TEXT, "exposition.txt"),
        (Format.OPENMETRICS, "exposition.openmetrics"),
        (Format.PROTOBUF, "exposition.textproto"),
    ],
)
def test_golden(format_: Format, name: str) -> None:
    """Not a byte changes unnoticed; `GOLDEN=write` accepts what is there now."""
    body = render(format_)
    text = to_text(decode(body)) if format_ is Format.PROTOBUF else body.decode()
    if os.environ.get("GOLDEN") == "write":
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_formats_and_all_parsers_read_the_same_numbers(shape: Shape) -> None:
    """What the client library and google.protobuf read is equal, series by series.

    Histograms by call that are native only are in protobuf alone.
    """
    text = from_text(render(Format.TEXT, shape))
    assert from_openmetrics(render(Format.OPENMETRICS, shape)) == text
    protobuf = from_protobuf(render(Format.PROTOBUF, shape))
    alone = protobuf.keys() - text.keys()
    assert {name.rpartition("_")[0] for name, _ in alone} == (
        {"proctree_syscall_duration_seconds"}
        if shape.classic == "class" and shape.native and shape.by != "class"
        else set()
    )
    assert {key: value for key, value in protobuf.items() if key not in alone} == text


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed (apt: prometheus)")
def test_promtool_has_nothing_to_say() -> None:
    """`promtool check metrics` prints nothing at all, the process's own metrics included."""
    body = Exposition(Shape(by="both")).render(snapshot(), Format.TEXT)
    done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("format_", [Format.TEXT, Format.OPENMETRICS])
def test_no_label_set_twice_in_text(format_: Format) -> None:
    """Neither promtool nor the client library notices, so we look ourselves."""
    body = Exposition(Shape(by="both")).render(_doubled(), format_).decode()
    assert [s for s, n in Counter(text_series(body)).items() if n > 1] == []


def test_no_label_set_twice_in_protobuf() -> None:
    """from_protobuf asserts it while it reads."""
    assert from_protobuf(render(Format.PROTOBUF, Shape(by="both"), _doubled()))


def _twin(labels: LabelSet) -> LabelSet:
    """Differs only where it becomes U+FFFD."""
    return tuple((name, value.replace("\udcff", "\udcfe")) for name, value in labels)


def _doubled() -> Snapshot:
    """Everything twice; of one label set the second differs only where it becomes U+FFFD."""
    one = snapshot()
    return replace(
        one,
        calls=[*one.calls, *(replace(c, labels=_twin(c.labels)) for c in one.calls), *one.calls],
        in_flight=[*one.in_flight, *(replace(f, labels=_twin(f.labels)) for f in one.in_flight)],
        trees=[*one.trees, *(replace(t, labels=_twin(t.labels)) for t in one.trees)],
        targets=[*one.targets, *(replace(t, name=t.name.replace("\udcff", "\udcfe"))
                                 for t in one.targets)],
        maps=[*one.maps, *one.maps],
        programs=[*(one.programs or ()), *(one.programs or ())],
        lost_calls={"a" + chr(0xDC80): 1, "a" + chr(0xDC81): 2},
    )  # fmt: skip


def test_equal_label_sets_are_summed() -> None:
    """Two trees that carry the same labels are one series: the sum, whatever is added."""
    one = snapshot()
    both = replace(one, calls=[*one.calls, *one.calls], trees=[*one.trees, *one.trees],
                   in_flight=[*one.in_flight, *one.in_flight])  # fmt: skip
    single, double = from_text(render(Format.TEXT)), from_text(render(Format.TEXT, None, both))
    assert single.keys() == double.keys()
    for (name, labels), value in single.items():
        same = not name.startswith(("proctree_syscall", "proctree_process", "proctree_tree_"))
        same = same or "oldest" in name or "start_time" in name
        assert double[name, labels] == (value if same else 2 * value), name


def test_label_sets_that_differ_only_in_a_label_that_is_not_shown_are_summed() -> None:
    """Whatever a snapshot holds, no label set goes out twice."""
    one = replace(snapshot(), label_names=("target",))
    body = render(Format.TEXT, None, replace(one, calls=[
        call((("target", "ci"), ("pod", "a")), "read", 5),
        call((("target", "ci"), ("pod", "b")), "read", 5, 6),
    ]))  # fmt: skip
    labels = (("syscall", "read"), ("target", "ci"))
    assert from_text(body)["proctree_syscalls_total", labels] == 3


def test_every_series_has_all_labels_of_label_sets() -> None:
    """Unknown ones empty; those of targets have the static ones only."""
    numbers = from_openmetrics(render(Format.OPENMETRICS, Shape(by="both")))
    own = {"syscall", "class", "errno", "le", "state", "outcome", "kind", "root", "label_app"}
    for name, labels in numbers:
        names = {label for label, _ in labels}
        if name in ("proctree_target_up", "proctree_target_trees"):
            assert names == {"target", "team"}
        elif "target" in names:
            assert names - own == {"target", "pod", "container", "workload", "team"}
    info = {dict(ls)["target"]: dict(ls) for name, ls in numbers if name == "proctree_target_info"}
    assert info["ci"] == {
        "target": "ci", "pod": "", "container": "", "workload": "", "team": "",
        "kind": "pid", "root": "4711", "label_app": "",
    }  # fmt: skip
    assert info[CLEAN]["label_app"] == "x\ufffd"
    assert info[CLEAN]["workload"] == "w\\eb\n", "what is a label already is not shown twice"


def test_info_has_the_workload_where_it_is_no_label() -> None:
    """It is one of the labels of proctree_target_info then."""
    bare = replace(snapshot(), label_names=("target",))
    infos = [dict(ls) for name, ls in from_text(render(Format.TEXT, None, bare))
             if name == "proctree_target_info"]  # fmt: skip
    assert [(info["target"], info["workload"]) for info in infos] == [
        (CLEAN, "not shown twice"), ("ci", ""),
    ]  # fmt: skip


def test_one_scrape_is_consistent() -> None:
    """+Inf and _count are equal, buckets never fall, errors never exceed calls."""
    body = render(Format.TEXT, Shape(by="both"))
    numbers = from_text(body)
    for (name, labels), value in numbers.items():
        if name.endswith("_count"):
            inf = tuple(sorted((*labels, ("le", "+Inf"))))
            assert numbers[name.replace("_count", "_bucket"), inf] == value
        if name == "proctree_syscall_errors_total":
            made = tuple(label for label in labels if label[0] != "errno")
            assert value <= numbers["proctree_syscalls_total", made]
    for family in parser.text_string_to_metric_families(body.decode()):
        last: dict[tuple[tuple[str, str], ...], float] = {}
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                key = tuple((k, v) for k, v in sample.labels.items() if k != "le")
                assert sample.value >= last.get(key, 0)
                last[key] = sample.value


def test_families_and_series_are_sorted() -> None:
    """Two scrapes can be compared line by line: names, then labels in the catalog's order."""
    for format_ in (Format.TEXT, Format.OPENMETRICS):
        body = Exposition(Shape(by="both")).render(snapshot(), format_).decode()
        names = [line.split()[2] for line in body.splitlines() if line.startswith("# TYPE")]
        assert names == sorted(names)
    shuffled = replace(snapshot(), calls=snapshot().calls[::-1], targets=snapshot().targets[::-1],
                       trees=snapshot().trees[::-1], maps=snapshot().maps[::-1])  # fmt: skip
    for format_ in Format:
        assert render(format_, None, shuffled) == render(format_)


@pytest.mark.parametrize("format_", Format)
def test_hostile_names_arrive_whole(format_: Format) -> None:
    """Quotes, backslashes, newlines survive; bytes that are no UTF-8 become U+FFFD."""
    read = {Format.TEXT: from_text, Format.OPENMETRICS: from_openmetrics,
            Format.PROTOBUF: from_protobuf}[format_]  # fmt: skip
    targets = {dict(labels).get("target") for _, labels in read(render(format_))}
    assert targets == {"ci", CLEAN, None}


def test_a_percent_sign_is_no_template() -> None:
    """Names go through `%` once and must not be read as a format."""
    subject = replace(snapshot(), label_names=("target",), calls=[call("100%s%d%%", "read", 5)])
    labels = (("syscall", "read"), ("target", "100%s%d%%"))
    numbers = from_text(render(Format.TEXT, None, subject))
    assert numbers["proctree_syscall_duration_seconds_count", labels] == 1
    assert numbers["proctree_syscalls_total", labels] == 1


def test_no_timestamps_and_no_created_lines_in_text() -> None:
    """A line is a name, labels, a number, and nothing else."""
    for format_ in (Format.TEXT, Format.OPENMETRICS):
        body = render(format_).decode()
        assert "_created" not in body
        for line in body.splitlines():
            if not line.startswith("#"):
                float(line.rpartition("}")[2].split()[-1])
                assert len(line.rpartition("}")[2].split()) == (1 if "}" in line else 2)


def test_created_timestamps_in_protobuf() -> None:
    """Every counter and every histogram says since when, to the nanosecond."""
    for family in decode(render(Format.PROTOBUF)):
        for metric in family.metric:
            for kind in ("counter", "histogram"):
                if metric.HasField(kind):
                    created = getattr(metric, kind).created_timestamp
                    assert created.seconds in (1_700_000_000, 1_699_999_999)
                    assert created.nanos == 123_456_789


def test_openmetrics_ends_and_names_its_families() -> None:
    """`# EOF` last; families of counters go without `_total`; units are said."""
    body = render(Format.OPENMETRICS).decode()
    assert body.endswith("\n# EOF\n")
    assert "# TYPE proctree_syscalls counter\n" in body
    assert "\nproctree_syscalls_total{" in body
    assert "# UNIT proctree_syscall_duration_seconds seconds\n" in body


def test_gzip_is_the_same_text() -> None:
    """The compressed body is a gzip file of the other one."""
    exposition = Exposition(process=False)
    body = exposition.render(snapshot(), Format.TEXT, gzip=True)
    assert body[:2] == b"\x1f\x8b"
    assert zlib.decompress(body, 31) == render(Format.TEXT)

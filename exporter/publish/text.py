"""Prometheus' text format 0.0.4 and OpenMetrics 1.0.0: the same lines, headed differently.

Sources: https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md

Nothing is remembered per series: a histogram is one `%` of a template that all series of its
bounds share, and the labels are joined from values escaped once. That is as fast as templates kept
per series, which would hold 1.5 KiB for each and have to forget those that are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from exporter.publish.buckets import Bounds, Distribution
from exporter.publish.digest import Head
from exporter.publish.exemplars import of_classic, seconds
from exporter.publish.families import Family

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_CHUNK = 512  # points to the chunk: what is built as one string


class Escaped(dict[str, str]):
    """Label values as they stand between the quotes."""

    def __missing__(self, value: str) -> str:
        escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
        self[value] = escaped
        return escaped


def prometheus(families: Iterable[Family]) -> Iterator[bytes]:
    """The text format, piece by piece."""
    escaped = Escaped()
    for family in sorted(families, key=lambda family: family.metric.name):
        metric = family.metric
        # 0.0.4 escapes backslash and newline in a help text, OpenMetrics the quote as well.
        text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
        head = f"# HELP {metric.name} {text}\n# TYPE {metric.name} {metric.kind}\n"
        yield from _family(head, family, escaped, exemplars=False)


def openmetrics(families: Iterable[Family]) -> Iterator[bytes]:
    """OpenMetrics, piece by piece; no `_created` lines, which would double the series."""
    escaped = Escaped()
    for family in sorted(families, key=lambda family: family.metric.family):
        metric = family.metric
        name = metric.family
        head = f"# HELP {name} {escaped[metric.help]}\n# TYPE {name} {metric.kind}\n"
        if metric.unit:
            head += f"# UNIT {name} {metric.unit}\n"
        yield from _family(head, family, escaped, exemplars=True)
    yield b"# EOF\n"


def _family(head: str, family: Family, escaped: Escaped, *, exemplars: bool) -> Iterator[bytes]:
    """Head and lines; nothing at all where there are no points."""
    lines = [head]
    for line in _lines(family, escaped, exemplars):
        lines.append(line)
        if len(lines) == _CHUNK:
            yield "".join(lines).encode()
            lines.clear()
    if lines and lines != [head]:
        yield "".join(lines).encode()


def _lines(family: Family, escaped: Escaped, exemplars: bool) -> Iterator[str]:
    """A line, or for a histogram its lines, for each point."""
    name = family.metric.name
    heads: dict[Head, str] = {}
    pattern = ",".join(f'{label}="%s"' for label in family.own)
    for head, values, number, _ in family.points:
        labels = heads.get(head)
        if labels is None:
            pairs = zip(family.head, head, strict=True)
            labels = ",".join(f'{label}="{escaped[value]}"' for label, value in pairs)
            labels = heads[head] = labels + "," if labels and pattern else labels
        labels += pattern % tuple([escaped[value] for value in values])
        if isinstance(number, Distribution):
            lines = _histogram(name, labels, number)
            yield _with_exemplars(lines, number) if exemplars and number.exemplars else lines
        elif labels:
            yield f"{name}{{{labels}}} {number if isinstance(number, int) else _float(number)}\n"
        else:
            yield f"{name} {number if isinstance(number, int) else _float(number)}\n"


def _histogram(name: str, labels: str, value: Distribution) -> str:
    cumulative = value.cumulative
    fields: list[str | int] = [labels] * (2 * len(cumulative) + 4)
    fields[1 : 2 * len(cumulative) : 2] = cumulative
    fields[-3] = _float(value.sum_ns / 10**9)
    fields[-1] = cumulative[-1]
    return _template(name, value.bounds) % tuple(fields)


def _with_exemplars(histogram: str, value: Distribution) -> str:
    """A bucket's own behind its number. Their labels have 63 of the 128 characters allowed."""
    lines = histogram.split("\n")
    for place, exemplar in of_classic(value).items():
        labels = f'trace_id="{exemplar.trace_id.hex()}",span_id="{exemplar.span_id.hex()}"'
        whole, nanos = divmod(exemplar.time_ns, 10**9)
        lines[place] += f" # {{{labels}}} {_float(seconds(exemplar))} {whole}.{nanos:09}"
    return "\n".join(lines)


@lru_cache(maxsize=64)
def _template(name: str, bounds: Bounds) -> str:
    """All lines of a histogram with these bounds: labels and number by turns."""
    buckets = [f'{name}_bucket{{%s,le="{le}"}} %d\n' for le in (*bounds.les, "+Inf")]
    return "".join((*buckets, f"{name}_sum{{%s}} %s\n", f"{name}_count{{%s}} %d\n"))


def _float(value: float) -> str:
    """The shortest digits that are read back as this very number."""
    if value - value == 0:
        return repr(value)
    return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"

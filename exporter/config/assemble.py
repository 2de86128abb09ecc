"""The values of the file, put together: what concerns several of them at once is checked here."""

from __future__ import annotations

from typing import Any

from exporter.config.buckets import snap
from exporter.config.checks import check_count, check_doubles, warn_unreachable
from exporter.config.label_names import check_static_labels, pod_label_names
from exporter.config.model import Config, Histograms, KubernetesApi, Limits
from exporter.config.otlp import otlp_of
from exporter.config.pattern_checks import check_numbers, check_patterns
from exporter.config.report import Report
from exporter.config.section import Read
from exporter.config.selectors import word_set
from exporter.config.span_checks import check_span_targets, warn_of_what_is_not_sent
from exporter.config.targets import Inherited, read_targets


def assemble(
    values: dict[str, Any], cgroup_root: str, report: Report, *, here: bool
) -> Config | None:
    """The config, or None where there are mistakes. `values` are those of the top of the file.

    `here`: what is named must be there on this machine, where the file system tells.
    """
    # A section that is no mapping, or a value that is no such value, has been read as None.
    histograms: Read | None = values["histograms"]
    scale = histograms.values["scale"] if histograms else None
    buckets = histograms.values["buckets"] if histograms else None
    if histograms:
        _check_classic(histograms, report)
    if buckets is not None and scale is not None:
        buckets = snap("histograms.buckets", buckets, scale, report)
    static_labels = values["static_labels"] or {}
    inherited = Inherited(cgroup_root, scale, buckets, static_labels)
    listed = read_targets(values["targets"] or (), inherited, report)
    exclude = tuple(word_set("exclude", entry) for entry in values["exclude"] or ())

    pod_labels = values["pod_labels"] or {}
    pod_names = pod_label_names(pod_labels, report)
    for labels in (static_labels, *(item.static_labels for item in listed)):
        check_static_labels(labels, pod_names, report)
    limits: Read | None = values["limits"]
    if limits and limits.values["trees"] is not None:
        check_count(listed, limits.values["trees"], report)
    check_doubles(listed, report)
    otlp = otlp_of(values["otlp"], report, here=here) if values["otlp"] else None
    check_span_targets(listed, report)
    warn_of_what_is_not_sent(listed, values["otlp"], report)
    sets = [*exclude, *(words for item in listed for words in item.words)]
    check_numbers(listed, sets, report)
    if report.errors:
        return None
    warn_unreachable(listed, check_patterns(listed, sets, report), report)
    if report.errors:
        return None
    assert histograms and limits
    shape = histograms.values
    return Config(
        file=report.file,
        targets=tuple(item.target for item in listed),
        exclude=tuple(entry.words for entry in exclude),
        labels=None if values["labels"] is None else tuple(values["labels"]),
        pod_labels=tuple(pod_labels),
        keep_gone_ns=values["keep_gone"],
        metadata_timeout_ns=values["metadata_timeout"],
        kubernetes=KubernetesApi(**values["kubernetes"].values),
        histograms=Histograms(shape["by"], shape["classic"], shape["native"], shape["scale"]),
        limits=Limits(**limits.values),
        otlp=otlp,
        self_cost=values["self_cost"],
        warnings=tuple(sorted(report.warnings)),
    )


def _check_classic(histograms: Read, report: Report) -> None:
    by, classic = histograms.values["by"], histograms.values["classic"]
    if classic == "class" and by not in (None, "both"):
        _, at = histograms.given["classic"]
        report.error(
            at,
            f"histograms.classic: 'class' means classic buckets by class and none by call, found "
            f"'by: {by}'; write 'by: both', or 'classic: true'",
        )

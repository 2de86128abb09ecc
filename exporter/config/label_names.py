"""Names of labels: those a person gives to a target's series, and those of pods in Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exporter.config.kinds import MAX_NAME, Name
from exporter.config.nodes import At, Entries, Node, quote
from exporter.config.report import Report
from exporter.model.labels import TREE_LABELS, pod_label_name

#: Set by Prometheus for each scrape, or by the types of its metrics.
PROMETHEUS_LABELS = ("job", "instance", "le", "quantile")
#: Those of our metrics, `group_by` included; a test compares them with the catalog of metrics.
OUR_LABELS = (
    "target", "syscall", "errno", "class", "state", "outcome", "kind", "root", "reason", "map",
    "program", "comm", "exe", *TREE_LABELS,
)  # fmt: skip
#: https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

#: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_NAME = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_DNS_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_SUBDOMAIN = rf"(?=.{{1,253}}(/|$)){_DNS_LABEL}(\.{_DNS_LABEL})*"
POD_LABEL = rf"^({_SUBDOMAIN}/)?{_NAME}$"
POD_LABEL_VALUE = rf"^({_NAME})?$"
NODE_NAME = rf"^{_SUBDOMAIN}$"


@dataclass(frozen=True, slots=True)
class StaticLabels:
    """Labels and their values, in the order of the file, and where each stands."""

    def read(self, key: str, node: Node, report: Report) -> dict[str, tuple[str, At]] | None:
        if not isinstance(node, Entries):
            report.unexpected(key, node, "a mapping of labels to values, such as {team: payments}")
            return None
        read = {}
        for label, value in node.pairs:
            if wrong := _label_fault(label.text):
                report.error(label.at, f"{key}: {wrong}")
            elif (text := Name().read(f"{key}.{label.text}", value, report)) is not None:
                read[label.text] = (text, label.at)
        return read

    def schema(self) -> dict[str, Any]:
        taken = [*PROMETHEUS_LABELS, *OUR_LABELS]
        return {
            "type": "object",
            "propertyNames": {
                "pattern": f"^(?!__){_LABEL.pattern}$",
                "maxLength": MAX_NAME,
                "not": {"enum": taken},
            },
            "additionalProperties": Name().schema(),
        }


def _label_fault(name: str) -> str:
    found = quote(name)
    if not _LABEL.fullmatch(name):
        fit = re.sub(r"[^a-zA-Z0-9_]", "_", name).lstrip("_")
        mend = f"; write {quote(fit)}" if _LABEL.fullmatch(fit) else ""
        return f"expected a label of letters, digits and '_', found {found}{mend}"
    if len(name) > MAX_NAME:
        return f"expected at most {MAX_NAME} characters, found {len(name)}; shorten it"
    if name.startswith("__"):
        return f"{found} begins with '__', which Prometheus keeps for itself; choose another name"
    if name in PROMETHEUS_LABELS:
        return f"{found} is set by Prometheus; choose another name"
    if name in OUR_LABELS:
        return f"{found} is a label of our metrics already; choose another name"
    return ""


@dataclass(frozen=True, slots=True)
class Formed:
    """Text of a form that Kubernetes prescribes."""

    noun: str
    pattern: str

    def read(self, key: str, node: Node, report: Report) -> str | None:
        text = Name(MAX_NAME * 2).read(key, node, report)
        if text is None or re.fullmatch(self.pattern, text):
            return text
        report.unexpected(key, node, f"{self.noun} as Kubernetes allows it")
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": self.pattern}


POD_LABEL_KEY = Formed("the key of a pod label", POD_LABEL)


def pod_label_names(keys: Mapping[str, At], report: Report) -> dict[str, str]:
    """The labels that `pod_labels` become, each with its key; no two may be the same."""
    names: dict[str, str] = {}
    for key, at in keys.items():
        name = pod_label_name(key)
        if name in names:
            report.error(
                at,
                f"pod_labels: {quote(key)} becomes the label {quote(name)}, and so does "
                f"{quote(names[name])}; remove one of them",
            )
        names.setdefault(name, key)
    return names


def check_static_labels(
    static: Mapping[str, tuple[str, At]], pod: Mapping[str, str], report: Report
) -> None:
    """What a person named is no name that `pod_labels` take."""
    for name, (_, at) in static.items():
        if name in pod:
            report.error(
                at,
                f"static_labels: {quote(name)} is what pod_labels make of {quote(pod[name])}; "
                "choose another name",
            )

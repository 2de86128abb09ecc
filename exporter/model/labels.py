"""What tells series apart beside the metric's own labels: a tree's label set.

A label set is pairs (name, value) in the order in which they are shown, `target` first. An empty
value is the same to Prometheus as no label at all, so empty ones are left out here: equal series
have equal sets.
"""

from __future__ import annotations

import re

LabelSet = tuple[tuple[str, str], ...]

#: `labels:` may name these; all are told by a cgroup's path and the metadata of its container.
TREE_LABELS = (
    "cgroup", "namespace", "pod", "container", "workload", "workload_kind", "image",
)  # fmt: skip
#: Where `labels:` is not given, trees of patterns and selectors carry this one.
DEFAULT_LABEL = "cgroup"
#: In the place of each of a tree's labels, where there is no room for a label set of its own.
FOLDED = "other"


def pod_label_name(key: str) -> str:
    """The label of proctree_target_info for a label of pods, as kube-state-metrics names it."""
    return "label_" + re.sub(r"[^a-zA-Z0-9_]", "_", key)

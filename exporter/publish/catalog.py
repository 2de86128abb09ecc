"""Every metric there is: the one list that code, documentation, dashboards and tests agree on.

Names are those of the text format: counters end in `_total`, which OpenMetrics takes off for the
name of the family. The unit stands apart as well, because OpenMetrics wants it said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One family: what it is called, what it is, which labels tell its series apart.

    In the place of `target` its series have all labels of their label set; those that are
    `per_target`, of which there is one for each target, have its static labels only.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    per_target: bool = False

    @property
    def about_targets(self) -> bool:
        return "target" in self.labels

    @property
    def family(self) -> str:
        """Its name in OpenMetrics, where `_total` belongs to the sample."""
        return self.name.removesuffix("_total") if self.kind == "counter" else self.name


_CALL = ("target", "syscall")
_TARGET = ("target",)
_REASON = ("reason",)
_MAP = ("map",)
_PROGRAM = ("program",)

CATALOG: tuple[Metric, ...] = (
    Metric(
        "proctree_syscalls_total",
        "counter",
        "System calls made by the tree: counted when they end, or when they begin if they never"
        " return.",
        _CALL,
    ),
    Metric(
        "proctree_syscall_errors_total",
        "counter",
        "System calls that failed, by the name of the error.",
        (*_CALL, "errno"),
    ),
    Metric(
        "proctree_syscall_duration_seconds",
        "histogram",
        "Time from entry to exit of the system calls that have both.",
        _CALL,
        "seconds",
    ),
    Metric(
        "proctree_syscall_class_duration_seconds",
        "histogram",
        "Time from entry to exit of the system calls that have both, by class of call.",
        ("target", "class"),
        "seconds",
    ),
    Metric("proctree_syscalls_in_flight", "gauge", "System calls in the kernel now.", _CALL),
    Metric(
        "proctree_syscall_oldest_in_flight_seconds",
        "gauge",
        "Age of the oldest system call that is in the kernel now.",
        _CALL,
        "seconds",
    ),
    Metric("proctree_tree_processes", "gauge", "Processes of the tree alive now.", _TARGET),
    Metric(
        "proctree_tree_threads",
        "gauge",
        "Threads of the tree alive now, by what they are doing.",
        ("target", "state"),
    ),
    Metric(
        "proctree_tree_start_time_seconds",
        "gauge",
        "When the oldest process of the tree that is alive now began, in seconds since the epoch.",
        _TARGET,
        "seconds",
    ),
    Metric("proctree_process_forks_total", "counter", "Processes born in the tree.", _TARGET),
    Metric("proctree_process_execs_total", "counter", "Programs started in the tree.", _TARGET),
    Metric(
        "proctree_process_exits_total",
        "counter",
        "Processes of the tree that ended: with status 0 (ok), another (error), by a signal.",
        ("target", "outcome"),
    ),
    Metric(
        "proctree_target_up",
        "gauge",
        "1 while the target has a live process.",
        _TARGET,
        per_target=True,
    ),
    Metric(
        "proctree_target_trees",
        "gauge",
        "Process trees that the target has now.",
        _TARGET,
        per_target=True,
    ),
    Metric(
        "proctree_target_info",
        "gauge",
        "What the trees are: what was listed to find them, whose they are, chosen labels of their"
        " pods; empty where trees of one label set disagree.",
        ("target", "kind", "root"),
    ),
    Metric(
        "proctree_exporter_lost_calls_total",
        "counter",
        "System calls that were made and could not be counted.",
        _REASON,
    ),
    Metric(
        "proctree_exporter_lost_events_total",
        "counter",
        "Events of the kernel that could not be delivered.",
        _REASON,
    ),
    Metric(
        "proctree_exporter_dropped_spans_total",
        "counter",
        "Spans that were refused, or made and not sent.",
        _REASON,
    ),
    Metric(
        "proctree_exporter_export_failures_total",
        "counter",
        "Tries to export that the backend did not take, not in full, or with an answer that is"
        " none.",
        _REASON,
    ),
    Metric("proctree_exporter_series", "gauge", "Samples exposed about targets."),
    Metric("proctree_exporter_series_limit", "gauge", "Samples about targets that may be exposed."),
    Metric(
        "proctree_exporter_series_folded",
        "gauge",
        "Samples that did not fit under the limit and were folded into other.",
    ),
    Metric("proctree_exporter_trees", "gauge", "Process trees followed now."),
    Metric("proctree_exporter_trees_limit", "gauge", "Process trees that can be followed."),
    Metric(
        "proctree_exporter_trees_held_back",
        "gauge",
        "Process trees that are counted and not exposed yet: they wait for their metadata.",
    ),
    Metric(
        "proctree_exporter_trees_folded_total",
        "counter",
        "Process trees that found no room of their own and share one whose labels are other.",
        _REASON,
    ),
    Metric(
        "proctree_exporter_refused_total",
        "counter",
        "What was found and not followed, because it cannot be what was meant.",
        _REASON,
    ),
    Metric(
        "proctree_exporter_pod_metadata_age_seconds",
        "gauge",
        "Time since the API server last confirmed what is known of the node's pods.",
        (),
        "seconds",
    ),
    Metric(
        "proctree_exporter_pod_metadata_failures_total",
        "counter",
        "Requests for the node's pods that failed.",
        _REASON,
    ),
    Metric("proctree_exporter_pod_metadata_pods", "gauge", "Pods of the node that are known."),
    Metric("proctree_exporter_map_entries", "gauge", "Entries in a BPF map now.", _MAP),
    Metric("proctree_exporter_map_max_entries", "gauge", "Entries a BPF map can hold.", _MAP),
    Metric(
        "proctree_exporter_bpf_run_seconds_total",
        "counter",
        "Time spent in our BPF programs, by the kernel's own statistics.",
        _PROGRAM,
        "seconds",
    ),
    Metric(
        "proctree_exporter_bpf_runs_total",
        "counter",
        "Runs of our BPF programs, by the kernel's own statistics.",
        _PROGRAM,
    ),
    Metric(
        "proctree_exporter_config_last_reload_successful",
        "gauge",
        "Whether the last attempt to load the configuration succeeded.",
    ),
    Metric(
        "proctree_exporter_config_last_reload_success_timestamp_seconds",
        "gauge",
        "When the configuration was last loaded, in seconds since the epoch.",
        (),
        "seconds",
    ),
    Metric(
        "proctree_exporter_build_info",
        "gauge",
        "What is running, and on what; always 1. The labels are those the exporter could find out.",
    ),
)

BY_NAME = {metric.name: metric for metric in CATALOG}

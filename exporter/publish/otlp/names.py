"""Every metric as OpenTelemetry knows it, beside its name in Prometheus.

Units are UCUM's, counted things stand in braces; names and attributes follow the conventions
(https://opentelemetry.io/docs/specs/semconv/general/naming/) where these have any, and begin with
`proctree.` where not. What a metric is about, and its help, stand in `exporter.publish.catalog`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.publish.catalog import BY_NAME, Metric

#: A counter is a monotonic sum; an up-down counter is a sum that may fall, of which those of
#: several trees add up to something; a gauge is what does not add up.
Instrument = Literal["counter", "updowncounter", "gauge", "histogram"]

#: The conventions that names and attributes were taken from.
SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
SCOPE = "proctree-exporter"

#: By Prometheus' label. The others of label sets are told by the Resource.
ATTRIBUTES = {
    "target": "proctree.target",
    "comm": "process.executable.name",
    "exe": "process.executable.path",
    "syscall": "proctree.syscall",
    "class": "proctree.syscall.class",
    "errno": "error.type",
    "state": "proctree.thread.state",
    "outcome": "proctree.process.outcome",
    "reason": "proctree.reason",
    "map": "proctree.map",
    "program": "proctree.program",
}


@dataclass(frozen=True, slots=True)
class Twin:
    """One metric in both worlds."""

    prometheus: str
    name: str
    instrument: Instrument
    unit: str

    @property
    def metric(self) -> Metric:
        return BY_NAME[self.prometheus]

    @property
    def about_trees(self) -> bool:
        """Whether it goes out with the Resources of trees; else with the exporter's own."""
        return self.metric.about_targets and not self.metric.per_target


_T, _X = "proctree", "proctree.exporter"

# fmt: off
TWINS: tuple[Twin, ...] = (
    Twin("proctree_syscalls_total", f"{_T}.syscall.count", "counter", "{call}"),
    Twin("proctree_syscall_errors_total", f"{_T}.syscall.errors", "counter", "{call}"),
    Twin("proctree_syscall_duration_seconds", f"{_T}.syscall.duration", "histogram", "s"),
    Twin("proctree_syscall_class_duration_seconds",
         f"{_T}.syscall.class.duration", "histogram", "s"),
    Twin("proctree_syscalls_in_flight", f"{_T}.syscall.active", "updowncounter", "{call}"),
    Twin("proctree_syscall_oldest_in_flight_seconds", f"{_T}.syscall.oldest_active", "gauge", "s"),
    Twin("proctree_tree_processes", f"{_T}.tree.processes", "updowncounter", "{process}"),
    Twin("proctree_tree_threads", f"{_T}.tree.threads", "updowncounter", "{thread}"),
    Twin("proctree_tree_start_time_seconds", f"{_T}.tree.start_time", "gauge", "s"),
    Twin("proctree_process_forks_total", f"{_T}.process.forks", "counter", "{fork}"),
    Twin("proctree_process_execs_total", f"{_T}.process.execs", "counter", "{exec}"),
    Twin("proctree_process_exits_total", f"{_T}.process.exits", "counter", "{exit}"),
    Twin("proctree_target_up", f"{_T}.target.up", "gauge", "1"),
    Twin("proctree_target_trees", f"{_T}.target.trees", "updowncounter", "{tree}"),
    Twin("proctree_exporter_lost_calls_total", f"{_X}.lost_calls", "counter", "{call}"),
    Twin("proctree_exporter_lost_events_total", f"{_X}.lost_events", "counter", "{event}"),
    Twin("proctree_exporter_dropped_spans_total", f"{_X}.dropped_spans", "counter", "{span}"),
    Twin("proctree_exporter_export_failures_total",
         f"{_X}.export_failures", "counter", "{failure}"),
    Twin("proctree_exporter_series", f"{_X}.series", "updowncounter", "{sample}"),
    Twin("proctree_exporter_series_limit", f"{_X}.series_limit", "updowncounter", "{sample}"),
    Twin("proctree_exporter_series_folded", f"{_X}.series_folded", "updowncounter", "{sample}"),
    Twin("proctree_exporter_trees", f"{_X}.trees", "updowncounter", "{tree}"),
    Twin("proctree_exporter_trees_limit", f"{_X}.trees_limit", "updowncounter", "{tree}"),
    Twin("proctree_exporter_trees_held_back", f"{_X}.trees_held_back", "updowncounter", "{tree}"),
    Twin("proctree_exporter_trees_folded_total", f"{_X}.trees_folded", "counter", "{tree}"),
    Twin("proctree_exporter_refused_total", f"{_X}.refused", "counter", "{refusal}"),
    Twin("proctree_exporter_pod_metadata_age_seconds", f"{_X}.pod_metadata_age", "gauge", "s"),
    Twin("proctree_exporter_pod_metadata_failures_total",
         f"{_X}.pod_metadata_failures", "counter", "{failure}"),
    Twin("proctree_exporter_pod_metadata_pods",
         f"{_X}.pod_metadata_pods", "updowncounter", "{pod}"),
    Twin("proctree_exporter_map_entries", f"{_X}.map_entries", "updowncounter", "{entry}"),
    Twin("proctree_exporter_map_max_entries", f"{_X}.map_max_entries", "updowncounter", "{entry}"),
    Twin("proctree_exporter_bpf_run_seconds_total", f"{_X}.bpf_run_time", "counter", "s"),
    Twin("proctree_exporter_bpf_runs_total", f"{_X}.bpf_runs", "counter", "{run}"),
    Twin("proctree_exporter_config_last_reload_successful",
         f"{_X}.config_last_reload_successful", "gauge", "1"),
    Twin("proctree_exporter_config_last_reload_success_timestamp_seconds",
         f"{_X}.config_last_reload_success_timestamp", "gauge", "s"),
)
# fmt: on

#: Their labels are told by Resources.
WITHOUT_TWIN = ("proctree_target_info", "proctree_exporter_build_info")

BY_PROMETHEUS = {twin.prometheus: twin for twin in TWINS}

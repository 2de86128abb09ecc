"""What stands around the panels: variables, annotations, links between the dashboards."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardCursorSync,
    DashboardLinkType,
    VariableHide,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
    VariableType,
)

from dashboards.parts import DATASOURCE
from dashboards.queries import EXPORTER, TREE, WAITING, lived
from dashboards.rules.generate import names_of
from exporter.model.classes import CLASSES

TAG = "proctree"
UIDS = {"overview": "proctree-overview", "tree": "proctree-tree", "exporter": "proctree-exporter"}
_CALLS = "proctree_syscalls_total"
#: Of each variable, the series whose label it lists. Where a label is nowhere, the list is empty
#: and "All" fits series without it: the same dashboards do for machines and for clusters.
_LISTS = {
    "job": "proctree_exporter_build_info",
    "instance": 'proctree_exporter_build_info{job=~"$job"}',
    "namespace": f"proctree_target_info{{{EXPORTER}}}",
    "pod": f'proctree_target_info{{{EXPORTER},namespace=~"$namespace"}}',
    "target": f"proctree_target_up{{{EXPORTER}}}",
    "call": f"{_CALLS}{{{TREE}}}",
}
_LABELS = {"call": "syscall"}
_ALL = VariableOption(selected=True, text="All", value="$__all")


class Annotation(AnnotationQuery):
    """Events that a Prometheus query tells; the SDK has no keys of a data source's own."""

    def __init__(self, name: str, color: str, expr: str, *, title: str, text: str = "",
                 tags: str = "", value_is_time: bool = False,
                 enable: bool = True) -> None:  # fmt: skip
        super().__init__(
            name=name, datasource=DATASOURCE, icon_color=color, expr=expr, enable=enable
        )
        self._more = {
            "step": "60s",
            "target": {"expr": expr, "interval": "60s", "range": True, "refId": "Anno"},
            "tagKeys": tags,
            "textFormat": text,
            "titleFormat": title,
            "useValueForTime": value_is_time,
        }

    def build(self) -> AnnotationQuery:
        return self

    def to_json(self) -> dict[str, object]:
        return super().to_json() | self._more


def query_variable(name: str) -> dashboard.QueryVariable:
    label = _LABELS.get(name, name)
    made = dashboard.QueryVariable(name).label(name.title()).datasource(DATASOURCE)
    made = made.query(f"label_values({_LISTS[name]}, {label})").multi(True).include_all(True)
    # job and instance are on every series; any of the others may be on none.
    made = made.all_value(".+" if name in ("job", "instance") else ".*").current(_ALL)
    made = made.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    return made.sort(VariableSort.NATURAL_ASC)


def _unrecorded() -> dashboard.QueryVariable:
    """Jobs whose trees the recording rules have not summed: mostly none."""
    raw = 'count by (job) (proctree_exporter_build_info{job=~"$job"}'
    expr = f'{raw}) unless on (job) count by (job) (tree:proctree_syscalls:rate5m{{job=~"$job"}})'
    made = dashboard.QueryVariable("unrecorded").hide(VariableHide.HIDE_VARIABLE)
    made = made.datasource(DATASOURCE).query(f"query_result({expr})").regex('/job="([^"]*)"/')
    made = made.multi(True).include_all(True).current(_ALL)
    return made.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


class _Constant:
    """A hidden one: what would make queries unreadable."""

    def __init__(self, name: str, value: str) -> None:
        self._made = VariableModel(
            type_val=VariableType.CONSTANT, name=name, query=value, skip_url_sync=True,
            hide=VariableHide.HIDE_VARIABLE, allow_custom_value=None, multi=None, include_all=None,
            current=VariableOption(selected=True, text=value, value=value),
        )  # fmt: skip

    def build(self) -> VariableModel:
        return self._made


def _recent() -> dashboard.CustomVariable:
    """What now is, where it is compared with before."""
    made = dashboard.CustomVariable("recent").label("Recent").values("5m,15m,1h")
    now = VariableOption(selected=True, text="15m", value="15m")
    return made.current(now).description("What `now` is, where it is compared with before")


def begin(
    kind: str, title: str, description: str, names: tuple[str, ...], *, classes: bool = False,
    recent: bool = False, unrecorded: bool = False,
) -> dashboard.Dashboard:  # fmt: skip
    """An empty dashboard with these variables, and links to the others that keep what is chosen."""
    made = dashboard.Dashboard(title).uid(UIDS[kind]).description(description).tags([TAG])
    made = made.time("now-1h", "now").refresh("1m").timezone("browser").editable()
    made = made.tooltip(DashboardCursorSync.CROSSHAIR)
    link = dashboard.DashboardLink("proctree").type(DashboardLinkType.DASHBOARDS).tags([TAG])
    made = made.link(link.include_vars(True).keep_time(True))
    source = dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    made = made.with_variable(source)
    for name in names:
        made = made.with_variable(query_variable(name))
    if recent:
        made = made.with_variable(_recent())
    if unrecorded:
        made = made.with_variable(_unrecorded())
    if classes:
        made = made.with_variable(_Constant("waiting", WAITING))
        for class_ in CLASSES:
            made = made.with_variable(_Constant(f"class_{class_}", names_of(class_)))
    return made


def tree_url(chosen: tuple[str, ...]) -> str:
    """The dashboard of a row's tree, with what is chosen of it. All must be columns: an empty value
    would choose something else."""
    fields = "".join(
        f'&var-{name}=${{__data.fields["{_LABELS.get(name, name)}"]:percentencode}}'
        for name in chosen
    )
    shared = "${datasource:queryparam}&${job:queryparam}"
    return f"/d/{UIDS['tree']}?{shared}{fields}&${{__url_time_range}}"


def exporter_events() -> list[Any]:
    """What makes all numbers of a node begin anew, or changes what is followed."""
    ours = f"and on (job, instance) proctree_exporter_build_info{{{EXPORTER}}}"
    started = f"process_start_time_seconds{{{EXPORTER}}}\n{ours}"
    loaded = f"proctree_exporter_config_last_reload_success_timestamp_seconds{{{EXPORTER}}}"
    return [
        Annotation(
            "Exporter started",
            "purple",
            f"({started}) * 1000",
            value_is_time=True,
            title="Exporter started",
            text="{{instance}}: all counters begin anew",
            tags="instance",
        ),
        Annotation(
            "Config loaded",
            "semi-dark-blue",
            f"{loaded} * 1000",
            value_is_time=True,
            title="Config loaded",
            text="{{instance}}",
            tags="instance",
        ),
    ]


def tree_events(selector: str, by: str, *, kills: bool = True) -> list[Any]:
    """Deploys: trees that had not lived in the hour before. Restarts: trees that had, and of whose
    processes none is older than a point of this query; but not those that were like that at the
    point before, as a compiler's. Kills: processes that a signal ended, which are told of where
    they are few. All compare a point with the one before, however far apart Grafana has them:
    a fixed window would leave gaps."""
    alive = f"proctree_tree_processes{{{selector}}} > 0"
    began = f"proctree_tree_start_time_seconds{{{selector}}}"
    before = f"last_over_time({began}[1h] offset $__interval)"
    exits = f'proctree_process_exits_total{{{selector},outcome="signal"}}'
    return [
        Annotation(
            "Deploys",
            "green",
            _named(
                f"topk(20, count by ({by}) ({alive}\n"
                f"unless {lived(selector, '[1h] offset $__interval')}))"
            ),
            title="Deployed",
            text="new: {{tree}}",
            tags="target",
        ),
        Annotation(
            "Restarts",
            "orange",
            _named(
                f"topk(20, max by ({by}) ({began} > time() - 60 - $__interval_ms / 1000\n"
                f"and {began} > {before} + 1\n"
                f"unless {before} > time() - 60 - 2 * $__interval_ms / 1000)) * 1000"
            ),
            value_is_time=True,
            title="Restarted",
            text="{{tree}}",
            tags="target",
        ),
        Annotation(
            "Kills",
            "red",
            _named(f"topk(20, sum by ({by}) ({exits} - {exits} offset $__interval > 0))"),
            title="Killed by a signal",
            text="{{tree}}",
            tags="target",
            enable=kills,
        ),
    ]


def _named(events: str) -> str:
    """With what tells a tree in one label: of one that is missing Grafana would show the name."""
    return f'label_join({events}, "tree", " ", "target", "namespace", "workload", "pod")'

"""The panels as we draw them: one look, few colours, names of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus
from grafana_foundation_sdk.builders import stat as stat_
from grafana_foundation_sdk.builders import table as table_
from grafana_foundation_sdk.builders import timeseries as timeseries_
from grafana_foundation_sdk.models import common as model
from grafana_foundation_sdk.models import heatmap as heatmaps
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
#: Points of a graph at most: what is beyond is not seen, and costs.
POINTS = 300
#: A tree, whatever labels it has; spaces of those that are missing collapse in a browser.
TREE_NAME = "{{target}} {{namespace}} {{pod}} {{container}} {{cgroup}} {{comm}}{{exe}} {{instance}}"
#: Names longer than a legend keep their head and their tail.
_SHORTER = {"regex": "^(.{40}).{21,}(.{40})$", "renamePattern": "$1…$2"}
#: Columns that only a machine wants.
_HIDDEN = ("Time", "job", "node", "exporter_pod")


def query(
    expr: str, legend: str = "", *, ref: str = "A", instant: bool = False, exemplar: bool = False,
    heatmap: bool = False,
) -> prometheus.Dataquery:  # fmt: skip
    """One query of a panel; an instant one makes a table."""
    made = prometheus.Dataquery().expr(expr).ref_id(ref).legend_format(legend)
    made = made.datasource(DATASOURCE).exemplar(exemplar)
    made = made.instant() if instant else made.range()
    kind = PromQueryFormat.TABLE if instant else PromQueryFormat.TIME_SERIES
    return made.format(PromQueryFormat.HEATMAP if heatmap else kind)


def _begin(
    panel: Any, title: str, description: str, unit: str, empty: str, width: int, height: int
) -> Any:
    panel = panel.title(title).description(description).datasource(DATASOURCE).unit(unit)
    return panel.no_value(empty).span(width).height(height).max_data_points(POINTS)


def _steps(warning: float | None, critical: float | None) -> dashboard.ThresholdsConfig:
    steps = [Threshold(color="text", value=None)]
    if warning is not None:
        steps.append(Threshold(color="orange", value=warning))
    if critical is not None:
        steps.append(Threshold(color="red", value=critical))
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def timeseries(
    title: str, description: str, *queries: prometheus.Dataquery, unit: str, empty: str,
    width: int = 12, height: int = 9, stacked: bool = False, percent: bool = False,
) -> timeseries_.Panel:  # fmt: skip
    """Lines over time, the names of all in a table below, those that lead first.

    `percent` stacks to 100 %.
    """
    legend = common.VizLegendOptions().display_mode(model.LegendDisplayMode.TABLE)
    legend = legend.placement(model.LegendPlacement.BOTTOM).show_legend(True)
    legend = legend.calcs(["mean", "max", "lastNotNull"]).sort_by("Mean").sort_desc(True)
    tooltip = common.VizTooltipOptions().mode(model.TooltipDisplayMode.MULTI)
    tooltip = tooltip.sort(model.SortOrder.DESCENDING)
    panel = _begin(timeseries_.Panel(), title, description, unit, empty, width, height)
    panel = panel.legend(legend).tooltip(tooltip).line_width(1).fill_opacity(60 if stacked else 0)
    panel = panel.show_points(model.VisibilityMode.AUTO).targets(list(queries))
    if not percent:
        panel = panel.min(0)
    if stacked:
        mode = model.StackingMode.PERCENT if percent else model.StackingMode.NORMAL
        panel = panel.stacking(common.StackingConfig().mode(mode).group("A"))
    return panel.with_transformation(DataTransformerConfig("renameByRegex", options=_SHORTER))


def stat(
    title: str, description: str, expr: str, *, unit: str, empty: str, width: int = 4,
    warning: float | None = None, critical: float | None = None,
    words: Mapping[str, tuple[str, str]] | None = None,
) -> stat_.Panel:  # fmt: skip
    """One number, and how it went. `words` are texts and colours for values."""
    panel = _begin(stat_.Panel(), title, description, unit, empty, width, 5)
    panel = panel.color_mode(model.BigValueColorMode.VALUE).thresholds(_steps(warning, critical))
    panel = panel.graph_mode(model.BigValueGraphMode.AREA)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if words:
        options = {
            value: ValueMappingResult(text=text, color=color)
            for value, (text, color) in words.items()
        }
        panel = panel.mappings([ValueMap(options=options)])
    return panel.with_target(query(expr))


def bars(
    title: str, description: str, expr: str, legend: str, *, unit: str, empty: str, width: int = 12,
    height: int = 9, warning: float, critical: float,
) -> bargauge.Panel:  # fmt: skip
    """How full each is, from 0 to 1."""
    panel = _begin(bargauge.Panel(), title, description, unit, empty, width, height)
    panel = panel.orientation(model.VizOrientation.HORIZONTAL).min(0).max(1)
    panel = panel.display_mode(model.BarGaugeDisplayMode.BASIC)
    panel = panel.thresholds(_steps(warning, critical))
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel = panel.with_target(query(expr, legend))
    return panel.with_transformation(DataTransformerConfig("renameByRegex", options=_SHORTER))


def spread(title: str, description: str, expr: str, *, classic: bool, empty: str) -> heatmap.Panel:
    """Durations over time, with the calls of traces as points."""
    panel = _begin(heatmap.Panel(), title, description, "s", empty, 12, 10)
    color = heatmap.HeatmapColorOptions().mode(heatmaps.HeatmapColorMode.SCHEME).scheme("Oranges")
    color = color.scale(heatmaps.HeatmapColorScale.EXPONENTIAL).exponent(0.5).steps(64)
    panel = panel.color(color.fill("dark-orange")).calculate(False).cell_gap(1)
    panel = panel.y_axis(heatmap.YAxisConfig().unit("s").axis_placement(model.AxisPlacement.LEFT))
    panel = panel.cell_values(heatmap.CellValues().unit("cps"))
    panel = panel.filter_values(heatmap.FilterValueRange().le(1e-9)).exemplars_color(
        "rgba(0,90,200,0.9)"
    )
    if classic:
        rows = heatmap.RowsHeatmapOptions().layout(model.HeatmapCellLayout.LE)
        panel = panel.rows_frame(rows)
    return panel.with_target(query(expr, "{{le}}", exemplar=True, heatmap=True))


def table(
    title: str, description: str, queries: Sequence[prometheus.Dataquery],
    columns: Mapping[str, tuple[str, str]], *, unit: str, empty: str, width: int = 24,
    height: int = 9, sort: str = "", hide: Sequence[str] = (),
    links: Sequence[tuple[str, str]] = (),
) -> table_.Panel:  # fmt: skip
    """Rows of now. `columns`: by the field's name, how it is called, and its unit. A click on any
    cell offers `links`: (title, URL)."""
    panel = _begin(table_.Panel(), title, description, unit, empty, width, height)
    panel = panel.targets(list(queries)).filterable(True).inspect(True).min_width(60)
    panel = panel.cell_height(model.TableCellHeight.SM)
    panel = panel.data_links(
        [
            dashboard.DashboardLink(name).type(DashboardLinkType.LINK).url(url).target_blank(True)
            for name, url in links
        ]
    )
    # Else Grafana writes `empty` into each empty cell, and into the links of its row.
    panel = panel.override_by_regexp(".*", [DynamicConfigValue("noValue", "")])
    for name, its_unit in columns.values():
        if its_unit:
            panel = panel.override_by_name(name, [DynamicConfigValue("unit", its_unit)])
    if sort:
        by = common.TableSortByFieldState().display_name(sort).desc(True)
        panel = panel.sort_by([by])
    hidden = dict.fromkeys((*_HIDDEN, *hide), True)
    names = {field: name for field, (name, _) in columns.items()}
    # Rows with different names of metrics would not be merged.
    unnamed = {"exclude": {"names": ["__name__"]}}
    panel = panel.with_transformation(DataTransformerConfig("filterFieldsByName", options=unnamed))
    panel = panel.with_transformation(DataTransformerConfig("merge", options={}))
    options = {"excludeByName": hidden, "indexByName": {}, "renameByName": names}
    return panel.with_transformation(DataTransformerConfig("organize", options=options))


class Row(NamedTuple):
    """Panels under one headline."""

    title: str
    panels: tuple[Any, ...]


def row(title: str, *panels: Any) -> Row:
    return Row(title, panels)


def fill(board: dashboard.Dashboard, *rows: Row) -> dashboard.Dashboard:
    """Puts the panels beside and below each other."""
    for title, panels in rows:
        board = board.with_row(dashboard.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    return board

"""The exporter itself: what watching costs, whether anything is lost, how full it is."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards import frame
from dashboards.parts import Row, bars, fill, query, row, stat, table, timeseries
from dashboards.queries import EXPORTER, RANGE, RATE, of, top

OURS = f"and on (job, instance) proctree_exporter_build_info{{{EXPORTER}}}"
NONE = "No exporter: is it scraped?"
UNMEASURED = "Not measured: self_cost is off"
RUN, RUNS = "proctree_exporter_bpf_run_seconds_total", "proctree_exporter_bpf_runs_total"


def _one(name: str) -> str:
    return f"proctree_exporter_{name}{{{EXPORTER}}}"


def _mean(series: str) -> str:
    """One number for all of what is shown, to rank by."""
    return f"avg_over_time({series}{RANGE})"


def _by_instance(counter: str, window: str = RATE) -> str:
    return f"sum by (instance) ({of(counter, EXPORTER, window)})"


def _sum(name: str, by: str = "reason") -> str:
    """What came in the time between two points: a loss is a number, not a rate."""
    return f"sum by ({by}) (increase({_one(name)}[$__rate_interval])) > 0"


def _overall() -> Row:
    loaded = _one("config_last_reload_successful")
    lost = f"increase({_one('lost_calls_total')}[$__range])"
    return row(
        "Can the numbers be trusted?",
        stat(
            "How many exporters are down?",
            "Those that Prometheus cannot scrape.",
            f"count(up{{{EXPORTER}}} == 0) or vector(0)",
            unit="short",
            empty=NONE,
            critical=1,
        ),
        stat(
            "Are calls lost?",
            "Calls that were made and not counted, in the time that is shown.",
            f"sum({lost})",
            unit="short",
            empty=NONE,
            critical=1,
        ),
        stat(
            "Was the last config taken?",
            "Of the exporter that fares worst.",
            f"min({loaded})",
            unit="bool_yes_no",
            empty=NONE,
            words={"0": ("No", "red"), "1": ("Yes", "text")},
        ),
        stat(
            "How full is the fullest map?",
            "Of the kernel's, of the exporter that fares worst.",
            f"max({_one('map_entries')} / {_one('map_max_entries')})",
            unit="percentunit",
            empty=NONE,
            warning=0.8,
            critical=0.95,
        ),
        stat(
            "How old is what is known of pods?",
            "Since the API server last confirmed it; minutes are usual in a cluster at rest.",
            f"max({_one('pod_metadata_age_seconds')})",
            unit="s",
            empty="No API server is asked",
            width=8,
            warning=600,
        ),
    )


def _price() -> Row:
    cpu = "process_cpu_seconds_total"
    memory = f"process_resident_memory_bytes{{{EXPORTER}}}"
    scrape = f"scrape_duration_seconds{{{EXPORTER}}}"
    probes, most = _by_instance(RUN), _by_instance(RUN, RANGE)
    both = of(RUN, f'{EXPORTER},program=~"on_sys_enter|on_sys_exit"')
    calls = of(RUNS, f'{EXPORTER},program="on_sys_enter"')
    added = f"sum by (instance) ({both})\n/ sum by (instance) ({calls})"
    run = f"sum by (program) ({of(RUN, EXPORTER)})\n/ sum by (program) ({of(RUNS, EXPORTER)})"
    return row(
        "What does watching cost?",
        timeseries(
            "How much CPU do the exporters take?",
            "100 % is one core. The ten that take most.",
            query(
                top(10, f"{of(cpu, EXPORTER)}\n{OURS}", f"{of(cpu, EXPORTER, RANGE)} {OURS}"),
                "{{instance}}",
            ),
            unit="percentunit",
            empty=NONE,
        ),
        timeseries(
            "How much CPU do the probes take?",
            "In whatever process makes a call; 100 % is one core. Known with `self_cost: true`"
            " only, which costs some itself.",
            query(top(10, probes, most), "{{instance}}"),
            unit="percentunit",
            empty=UNMEASURED,
        ),
        timeseries(
            "How much does watching add to a call?",
            "Both probes of a call, on average over all calls of the node, followed or not.",
            query(top(10, added, most), "{{instance}}"),
            unit="s",
            empty=UNMEASURED,
        ),
        timeseries(
            "How long does a run of each program take?",
            "By program, on all nodes chosen.",
            query(run, "{{program}}"),
            unit="s",
            empty=UNMEASURED,
        ),
        timeseries(
            "How much memory do the exporters hold?",
            "Resident; the kernel's maps come on top.",
            query(top(10, f"{memory}\n{OURS}", f"{_mean(memory)} {OURS}"), "{{instance}}"),
            unit="bytes",
            empty=NONE,
        ),
        timeseries(
            "How long does a scrape take?",
            "From Prometheus' end. The ten that take longest.",
            query(top(10, scrape, _mean(scrape)), "{{instance}}"),
            unit="s",
            empty=NONE,
        ),
    )


def _losses() -> Row:
    return row(
        "What is lost?",
        timeseries(
            "Which calls are lost, and why?",
            "Calls that were made and not counted, for each point.",
            query(_sum("lost_calls_total"), "{{reason}}"),
            unit="short",
            empty="None",
        ),
        timeseries(
            "Which events and spans are lost, and why?",
            "Events that the kernel could not deliver; spans that were refused or made and not"
            " sent.",
            query(_sum("lost_events_total"), "events: {{reason}}"),
            query(_sum("dropped_spans_total"), "spans: {{reason}}", ref="B"),
            unit="short",
            empty="None",
        ),
        timeseries(
            "Does the OpenTelemetry backend take what is sent?",
            "Tries that failed, by reason.",
            query(_sum("export_failures_total"), "{{reason}}"),
            unit="short",
            empty="Yes, or nothing is sent",
        ),
        timeseries(
            "What was found and not followed?",
            "Pidfiles with rubbish, trees that share `other` for want of room, requests for pods"
            " that failed.",
            query(_sum("refused_total"), "refused: {{reason}}"),
            query(_sum("trees_folded_total"), "folded: {{reason}}", ref="B"),
            query(_sum("pod_metadata_failures_total"), "pods: {{reason}}", ref="C"),
            unit="short",
            empty="Nothing",
        ),
    )


def _room() -> Row:
    filled = f"topk(20, max by (map) ({_one('map_entries')} / {_one('map_max_entries')}))"
    loaded = _one("config_last_reload_success_timestamp_seconds")
    return row(
        "How full is it?",
        bars(
            "How full are the kernel's maps?",
            "Of each map, on the node where it is fullest.",
            filled,
            "{{map}}",
            unit="percentunit",
            empty=NONE,
            warning=0.8,
            critical=0.95,
        ),
        timeseries(
            "How near to its limits is it?",
            "Samples and trees over what `limits` allows; the ten that are nearest.",
            query(f"topk(10, {_one('series')} / {_one('series_limit')})", "series {{instance}}"),
            query(
                f"topk(10, {_one('trees')} / {_one('trees_limit')})", "trees {{instance}}", ref="B"
            ),
            unit="percentunit",
            empty=NONE,
        ),
        timeseries(
            "What does not show under its own name?",
            "Samples folded into `other`, and trees that wait for their metadata.",
            query(f"sum by (instance) ({_one('series_folded')}) > 0", "folded {{instance}}"),
            query(
                f"sum by (instance) ({_one('trees_held_back')}) > 0",
                "held back {{instance}}",
                ref="B",
            ),
            unit="short",
            empty="All does",
            width=24,
        ),
        table(
            "What runs where?",
            "Version and kernel of each exporter, when it loaded its config, and its samples.",
            [
                query(f"proctree_exporter_build_info{{{EXPORTER}}}", ref="A", instant=True),
                query(f"{loaded} * 1000", ref="B", instant=True),
                query(f"scrape_samples_scraped{{{EXPORTER}}}\n{OURS}", ref="C", instant=True),
                query(_one("pod_metadata_pods"), ref="D", instant=True),
            ],
            {
                "Value #B": ("Config loaded", "dateTimeAsIso"),
                "Value #C": ("Samples", "short"),
                "Value #D": ("Pods known", "short"),
            },
            unit="none",
            empty=NONE,
            hide=("Value #A",),
            sort="Samples",
        ),
    )


def build() -> Dashboard:
    board = frame.begin(
        "exporter",
        "proctree: Exporter",
        "What watching costs, what is lost, and how full it is.",
        ("job", "instance"),
    )
    board = board.annotations(frame.exporter_events())
    return fill(board, _overall(), _price(), _losses(), _room())

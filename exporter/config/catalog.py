"""Every key of the config, one entry each. The loader, the JSON Schema and the tests read it here.

To add a key: give it an entry in `KEYS`, and a field of the same name in model.py (a test compares
the two).
"""

from __future__ import annotations

from dataclasses import dataclass

from exporter.config.buckets import BoundList
from exporter.config.calls import CallName, ErrorName, Part
from exporter.config.cgroup_path import CgroupPath
from exporter.config.duration import Duration
from exporter.config.endpoint import Endpoint, Headers, SpokenProtocol
from exporter.config.kinds import (
    Always,
    Choice,
    Flag,
    FlagOr,
    Kind,
    Name,
    Section,
    Sections,
    TargetList,
    Whole,
)
from exporter.config.label_names import NODE_NAME, POD_LABEL_KEY, Formed, StaticLabels
from exporter.config.lists import Distinct, OneOf, OneOrMore
from exporter.config.paths import FilePath, ServerUrl, UnitName
from exporter.config.words import COMM, EXE, PatternText, PodLabels, User
from exporter.model import target
from exporter.model.histogram import MAX_SCALE
from exporter.model.labels import TREE_LABELS
from exporter.model.otlp import COMPRESSIONS
from exporter.model.target import SpanWords

#: PID_MAX_LIMIT, include/linux/threads.h.
PID_MAX = 4 * 1024 * 1024

#: The names of the sections: the file itself, a target, and what stands under a key of these.
TOP, TARGET, WORDS, CONTAINER, PODS, API = "config", "target", "match", "container", "pods", "api"
SPANS, OTLP = "spans", "otlp"

#: Where a section is, for who looks for one of its keys.
PLACES = {
    TOP: "at the top of the file",
    TARGET: "into a target",
    "histograms": "under 'histograms'",
    "limits": "under 'limits'",
    WORDS: "under 'match' or 'exclude'",
    CONTAINER: "under 'container'",
    PODS: "under the 'kubernetes' of a target",
    API: "under 'kubernetes' at the top of the file",
    SPANS: "under the 'spans' of a target",
    OTLP: "under 'otlp'",
}

#: The keys that say what a target is; each has exactly one of them.
TARGET_KINDS: tuple[target.Kind, ...] = (
    "pid", "pidfile", "cgroup", "systemd", "container", "kubernetes", "match", "all",
)  # fmt: skip

#: Of these, those whose targets must be given a name: there is no short text to take it from.
NAMELESS: tuple[target.Kind, ...] = ("container", "kubernetes", "match")

#: Sections that say nothing without a key.
NOT_EMPTY = (WORDS, CONTAINER)

#: Keys of `otlp` that are nothing without each other.
CLIENT_PAIR = ("client_certificate", "client_key")


@dataclass(frozen=True, slots=True)
class Key:
    """One key: where it may stand, what it may hold, what holds without it, what it means."""

    section: str
    name: str
    kind: Kind
    default: bool | int | str | None  # as it would be written
    doc: str

    @property
    def path(self) -> str:
        return self.name if self.section in (TOP, TARGET) else f"{self.section}.{self.name}"


_GLOBS = OneOrMore(PatternText())
_REGEXES = OneOrMore(PatternText(regex=True))

# fmt: off
KEYS = (
    Key(TOP, "targets", TargetList(), None,
        "What to follow: PIDs, cgroups, or mappings that say more."),
    Key(TOP, "exclude", Sections(WORDS), None,
        "Processes, with their descendants, that no target may hold: words as in `match`, or a"
        " list of such mappings, any of which will do."),
    Key(TOP, "labels", Distinct(Choice(TREE_LABELS)), None,
        "Labels of series, told by the tree's cgroup and the metadata of its container; trees"
        " with equal ones are summed. By default trees of patterns and containers carry `cgroup`."),
    Key(TOP, "static_labels", StaticLabels(), None,
        "Labels with fixed values for all targets; what a target says itself goes first."),
    Key(TOP, "pod_labels", Distinct(POD_LABEL_KEY), None,
        "Labels of pods to show on proctree_target_info, as label_app for `app`."),
    Key(TOP, "keep_gone", Duration("24h"), "5m",
        "How long series stay when the last tree of their label set is gone."),
    Key(TOP, "metadata_timeout", Duration("10m"), "10s",
        "How long series of a new container are held back for its metadata."),
    Key(TOP, "kubernetes", Section(API), None,
        "How to reach the Kubernetes API; by default as any pod does."),
    Key(TOP, "histograms", Section("histograms"), None,
        "What is kept of the durations, and how it goes out."),
    Key(TOP, "limits", Section("limits"), None,
        "Ceilings. Reaching one is a metric, not a crash."),
    Key(TOP, "otlp", Section(OTLP, optional=True), None,
        "Send metrics and spans to an OpenTelemetry backend. What is left out is as the variables"
        " OTEL_EXPORTER_OTLP_* say."),
    Key(TOP, "self_cost", Flag(), False,
        "Publish the kernel's own statistics of our BPF programs."),
    Key(TARGET, "name", Name(), None,
        "The label `target`; by default pid:4711, cgroup:/a/path, systemd:nginx.service or all."),
    Key(TARGET, "pid", Whole(1, PID_MAX, "a PID"), None,
        "A root PID; looked up once, when the config is read."),
    Key(TARGET, "pidfile", FilePath(), None,
        "A file with the root PID; read again, so that a restart of the service is followed."),
    Key(TARGET, "cgroup", CgroupPath(), None,
        "A cgroup and all below it: relative to the cgroup root, or absolute beneath it. With *, ?"
        " or [ ] a pattern: each cgroup that matches is a tree of its own; ** goes over slashes."),
    Key(TARGET, "systemd", UnitName(), None,
        "A unit by name: a service, scope or slice."),
    Key(TARGET, "container", Section(CONTAINER, optional=True), None,
        "Containers by name or image, whatever runs them; each is a tree of its own."),
    Key(TARGET, "kubernetes", Section(PODS, optional=True), None,
        "Containers of pods on this node, {} for all; each is a tree of its own."),
    Key(TARGET, "match", Section(WORDS, optional=True), None,
        "Processes by program, name, command line and user, with their descendants; looked at when"
        " a program starts. Each key that is given must hold, by one of its values."),
    Key(TARGET, "all", Always(), None,
        "Every process that no other target holds."),
    Key(TARGET, "exclude", Sections(WORDS), None,
        "Processes, with their descendants, that this target may not hold: words as in `match`, or"
        " a list of such mappings, any of which will do."),
    Key(TARGET, "follow_forks", Flag(), True,
        "With `pid`, `pidfile` and `match`: follow descendants, too."),
    Key(TARGET, "group_by", OneOf(("comm", "exe")), None,
        "Split the target's series by program: by its name (`comm`) or its path (`exe`)."),
    Key(TARGET, "static_labels", StaticLabels(), None,
        "Labels with fixed values for the target's series."),
    Key(TARGET, "buckets", BoundList(), None,
        "Classic `le` bounds in seconds, each one of the kernel's; by default histograms.buckets."),
    Key(TARGET, "spans", Section(SPANS, optional=True), None,
        "What of the target is sent as spans; `otlp.traces` sends them."),
    Key(WORDS, "exe", OneOrMore(EXE), None,
        "Path of the program, as /proc/PID/exe names it: globs; * stops at a slash, ** does not."),
    Key(WORDS, "exe_re", OneOrMore(PatternText(regex=True, path=True)), None,
        "The same by regular expressions of the whole path."),
    Key(WORDS, "comm", OneOrMore(COMM), None,
        "Name of the process: globs; the kernel keeps 15 bytes of it."),
    Key(WORDS, "comm_re", _REGEXES, None,
        "The same by regular expressions of the whole name."),
    Key(WORDS, "cmdline", _GLOBS, None,
        "Command line, with blanks between the arguments: globs."),
    Key(WORDS, "cmdline_re", _REGEXES, None,
        "The same by regular expressions of the whole command line."),
    Key(WORDS, "user", OneOrMore(User()), None,
        "Effective user: names or UIDs."),
    Key(CONTAINER, "name", _GLOBS, None,
        "Name of the container: globs."),
    Key(CONTAINER, "name_re", _REGEXES, None,
        "The same by regular expressions of the whole name."),
    Key(CONTAINER, "image", _GLOBS, None,
        "Image of the container: globs."),
    Key(CONTAINER, "image_re", _REGEXES, None,
        "The same by regular expressions of the whole image."),
    Key(PODS, "namespace", _GLOBS, None,
        "Namespace of the pod: globs."),
    Key(PODS, "namespace_re", _REGEXES, None,
        "The same by regular expressions of the whole name."),
    Key(PODS, "pod", _GLOBS, None,
        "Name of the pod: globs."),
    Key(PODS, "pod_re", _REGEXES, None,
        "The same by regular expressions of the whole name."),
    Key(PODS, "container", _GLOBS, None,
        "Name of the container in the pod: globs."),
    Key(PODS, "container_re", _REGEXES, None,
        "The same by regular expressions of the whole name."),
    Key(PODS, "labels", PodLabels(), None,
        "Labels of the pod: all of these keys, each with one of its values, which are globs."),
    Key(API, "server", ServerUrl(), None,
        "URL of the API server; by default that of the cluster this pod is in."),
    Key(API, "token_file", FilePath(), None,
        "File with the bearer token; by default the service account's."),
    Key(API, "ca_file", FilePath(), None,
        "File with the certificates to trust; by default the service account's."),
    Key(API, "node", Formed("the name of a node", NODE_NAME), None,
        "Name of this node; by default that in the environment's NODE_NAME."),
    Key(SPANS, "intervals", Flag(), False,
        "A span for each interval of `otlp.interval`: counts, errors and durations of all calls."),
    Key(SPANS, "processes", Flag(), False,
        "A span for each process, from fork to exit."),
    Key(SPANS, "slower_than", Duration("1h", fine=True), None,
        "A span for each call that took so long, or longer."),
    Key(SPANS, "errors", OneOrMore(ErrorName(), "leave out what is common"), None,
        "A span for each call that failed with one of these errors."),
    Key(SPANS, "syscalls", OneOrMore(CallName(), "leave out what is fast"), None,
        "Spans of these calls only; of each one of them, where nothing else chooses."),
    Key(SPANS, "sample", Part(), None,
        "Spans of this part of the calls, whichever: 0.001 is one of a thousand."),
    Key(SPANS, "max_per_second", Whole(1, 1_000_000), SpanWords().max_per_second,
        "Spans of calls per second, at most; what is over is counted."),
    Key(SPANS, "command_args", Flag(), False,
        "Command lines on the spans of processes; what looks like a secret is taken out."),
    Key(SPANS, "traceparent", Flag(), False,
        "Join the trace that a process has in its environment as TRACEPARENT."),
    Key("histograms", "by", Choice(("syscall", "class", "both")), "syscall",
        "One histogram per call, per class of calls, or both."),
    Key("histograms", "classic", FlagOr("class"), True,
        "Publish classic buckets (`le`); with `class`, only of the histograms by class."),
    Key("histograms", "native", Flag(), True,
        "Publish native histograms to those who ask for protobuf."),
    Key("histograms", "scale", Whole(0, MAX_SCALE), 2,
        "The kernel keeps 2^scale buckets to the octave."),
    Key("histograms", "buckets", BoundList(), None,
        "Classic `le` bounds of targets without their own; by default 2^-20 to 2^4 by 4."),
    Key("limits", "series", Whole(1_000, 10_000_000), 20_000,
        "Exposed samples, buckets included."),
    Key("limits", "trees", Whole(1, 4_096), 64,
        "Trees followed at once."),
    Key("limits", "processes", Whole(16, PID_MAX), 32_768,
        "Processes followed at once."),
    Key("limits", "comms", Whole(1, 1_024), 32,
        "Programs that `group_by` tells apart in a tree; more are counted as `other`."),
    Key(OTLP, "metrics", Flag(), False,
        "Send the metrics."),
    Key(OTLP, "traces", Flag(), False,
        "Send the spans that targets ask for."),
    Key(OTLP, "endpoint", Endpoint(), None,
        "Base URL of the backend; by default port 4318 of this machine, 4317 with gRPC. By HTTP"
        " /v1/metrics and /v1/traces are added."),
    Key(OTLP, "protocol", SpokenProtocol(), None,
        "http/protobuf, the default, or grpc, which needs the extra `grpc` of the package."),
    Key(OTLP, "headers", Headers(), None,
        "Headers to send along; secrets are better kept in OTEL_EXPORTER_OTLP_HEADERS."),
    Key(OTLP, "compression", Choice(COMPRESSIONS), None,
        "none, the default, or gzip."),
    Key(OTLP, "timeout", Duration("10m", least="1ms"), None,
        "For one request; by default 10s."),
    Key(OTLP, "certificate", FilePath(), None,
        "File with the certificates to trust; by default the system's."),
    Key(OTLP, "client_certificate", FilePath(), None,
        "File with the certificate to show."),
    Key(OTLP, "client_key", FilePath(), None,
        "File with its private key, without a passphrase."),
    Key(OTLP, "interval", Duration("24h", least="100ms"), None,
        "From one export of metrics, and spans of intervals, to the next; by default 30s."),
    Key(OTLP, "shutdown_timeout", Duration("5m"), None,
        "How long the end waits for what is still to be sent; by default 1s."),
)
# fmt: on

#: The sections there are, in the order of the file.
SECTIONS = tuple(dict.fromkeys(key.section for key in KEYS))


def keys_of(section: str) -> dict[str, Key]:
    """The keys of one section by name, in the order of the docs."""
    return {key.name: key for key in KEYS if key.section == section}

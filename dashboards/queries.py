"""PromQL that the dashboards share: what is selected, how time is summed, what is ranked.

Histograms come as native ones, as classic ones, or as both: each query asks for the native one
first, and takes the classic one where that is missing. What is missing costs nothing. In the same
way what the recording rules made is asked for first; `$unrecorded` names the jobs without rules.
"""

from __future__ import annotations

from collections.abc import Iterable

from dashboards.rules.generate import names_of
from exporter.model.classes import CLASSES

EXPORTER = 'job=~"$job",instance=~"$instance"'
TREE = f'{EXPORTER},namespace=~"$namespace",pod=~"$pod",target=~"$target"'
CALL = f'{TREE},syscall=~"$call"'
#: Of calls that should come back by themselves; see exporter/model/classes.py.
WAITING = "|".join(names_of(class_) for class_ in ("wait", "futex", "sleep"))
NOT_WAITING = 'syscall!~"$waiting"'
#: What tells trees apart, wherever one of them is there; static labels follow from `target`.
IDENTITY = "job, instance, target, cgroup, namespace, pod, container, comm, exe"

RATE = "[$__rate_interval]"
#: One number for all of what is shown, for ranks that do not change on the way.
RANGE = "[$__range] @ end()"
#: The hour before what is shown.
EARLIER = "[1h] offset $__range"
RULE = "[5m]"  # as the recording rules have it

DURATION = "proctree_syscall_duration_seconds"
CLASS_DURATION = "proctree_syscall_class_duration_seconds"
CLASS_RULE = "tree_class:proctree_syscall_duration_seconds:rate5m"
_WORK = 'class!~"wait|futex|sleep"'
_WORKING = tuple(class_ for class_ in CLASSES if class_ not in ("wait", "futex", "sleep"))


def of(metric: str, selector: str, window: str = RATE) -> str:
    """How fast a counter grows, in each series."""
    return f"rate({metric}{{{selector}}}{window})"


def seconds(selector: str, window: str = RATE, metric: str = DURATION) -> str:
    """Seconds that calls took, for each second, in each series."""
    native = f"histogram_sum({of(metric, selector, window)})"
    return f"({native} or {of(metric + '_sum', selector, window)})"


def timed(selector: str, window: str = RATE, metric: str = DURATION) -> str:
    """Calls that have a duration, for each second, in each series."""
    native = f"histogram_count({of(metric, selector, window)})"
    return f"({native} or {of(metric + '_count', selector, window)})"


def quantile(part: float, by: str, selector: str) -> str:
    """Of the durations, by a label."""
    native = f"sum by ({by}) ({of(DURATION, selector)})"
    classic = f"sum by (le, {by}) ({of(DURATION + '_bucket', selector)})"
    return f"histogram_quantile({part}, {native})\nor histogram_quantile({part}, {classic})"


def by_class(selector: str, window: str = RATE, classes: Iterable[str] = CLASSES) -> str:
    """Seconds in calls, for each second, of each class and tree: by class or, where there is no
    such histogram, from those by call. The hidden variables `class_*` name the calls."""
    these = f'{selector},class=~"{"|".join(classes)}"'
    found = [seconds(these, window, CLASS_DURATION)]
    for class_ in classes:
        calls = seconds(f'{selector},syscall=~"$class_{class_}"', window)
        found.append(f'label_replace(sum without (syscall) ({calls}), "class", "{class_}", "", "")')
    return "(\n" + "\nor ".join(found) + "\n)"


def working(selector: str, window: str = RATE) -> str:
    """Seconds in calls that do not wait, for each second and tree."""
    calls = f"sum without (syscall) ({seconds(f'{selector},{NOT_WAITING}', window)})"
    classes = seconds(f"{selector},{_WORK}", window, CLASS_DURATION)
    return f"({calls}\nor sum without (class) ({classes}))"


def unrecorded(selector: str) -> str:
    """The same, of jobs whose trees no recording rule has summed; mostly there is none."""
    return f'{selector},job=~"$unrecorded"'


def calls_of(selector: str) -> tuple[str, str]:
    """Calls a second of each tree; and one number for all of what is shown, to rank by."""
    metric = "proctree_syscalls_total"
    return _either("tree:proctree_syscalls:rate5m", metric, "syscall", selector)


def errors_of(selector: str) -> tuple[str, str]:
    """Failures a second of each tree, and their rank."""
    rule, metric = "tree:proctree_syscall_errors:rate5m", "proctree_syscall_errors_total"
    return _either(rule, metric, "syscall, errno", selector)


def _either(rule: str, metric: str, without: str, selector: str) -> tuple[str, str]:
    def raw(window: str) -> str:
        return f"sum without ({without}) ({of(metric, unrecorded(selector), window)})"

    mean = f"avg_over_time({rule}{{{selector}}}{RANGE})"
    return f"({rule}{{{selector}}}\nor {raw(RULE)})", f"({mean}\nor {raw(RANGE)})"


def work_of(selector: str) -> tuple[str, str]:
    """Seconds in calls that do not wait, for each second and tree, and their rank."""
    found = f"{CLASS_RULE}{{{selector},{_WORK}}}"
    now = f"sum without (class) ({found})\nor {working(unrecorded(selector), RULE)}"
    mean = f"sum without (class) (avg_over_time({found}{RANGE}))"
    return f"({now})", f"({mean}\nor {working(unrecorded(selector), RANGE)})"


def time_by_class(selector: str) -> str:
    """Seconds in calls, for each second, of each class and tree."""
    return f"({CLASS_RULE}{{{selector}}}\nor {by_class(unrecorded(selector), RULE)})"


def top(number: int, series: str, rank: str) -> str:
    """The series that lead in `rank`, which is one number for all of what is shown; the same ones
    from the first to the last point."""
    return f"{series}\nand\ntopk({number}, {rank})"


def top_calls(by: str, metric: str) -> str:
    """The ten that lead among the calls chosen, by some labels of a counter."""
    now, rank = of(metric, CALL), of(metric, CALL, RANGE)
    return top(10, f"sum by ({by}) ({now})", f"sum by ({by}) ({rank})")


def slower(selector: str) -> tuple[str, str]:
    """Time that calls took beyond what as many would have taken before, for each second; and how
    many times as long one took. `$recent` is how long now is, and before, which ends where what is
    shown begins. Of a call that its tree did not make before all is beyond."""
    selector = f"{selector},{NOT_WAITING}"
    recent, earlier = "[$recent]", "[$recent] offset $__range"
    spent, number = seconds(selector, recent), timed(selector, recent)
    then = timed(selector, earlier)
    # No calls are 0 / 0, which is not 0 or more.
    before = f"({seconds(selector, earlier)}\n/ {then} >= 0)"
    new = f"{spent} * 0\nand ignoring (syscall) {then}"
    extra = f"topk(20, ({spent}\n- ({before}\n* {number}\nor {new})) > 0)"
    return extra, f"({spent}\n/ {number}\n/ {before})\nand\n{extra}"


def slowed(selector: str) -> tuple[str, str, str]:
    """Seconds that trees spend in calls of a class, for each second, beyond those before what is
    shown, of a class that is new to a tree all; how many times as many they are; and how many times
    as many calls the tree makes. What is recorded is read twice, so this is cheap for any number of
    trees; which call it is, is not."""

    def at(offset: str) -> tuple[str, str]:
        raw = by_class(unrecorded(selector), RULE + offset, _WORKING)
        calls = of("proctree_syscalls_total", unrecorded(selector), RULE + offset)
        time_ = f"({CLASS_RULE}{{{selector},{_WORK}}}{offset}\nor {raw})"
        rule = f"tree:proctree_syscalls:rate5m{{{selector}}}{offset}"
        return time_, f"({rule}\nor sum without (syscall) ({calls}))"

    (now, calls), (then, calls_then) = at(""), at(" offset $__range")
    new = f"{now} * 0\nand ignoring (class) {calls_then}"
    more = f"topk(20, ({now}\n- ({then}\nor {new})) > 0)"
    grown = f"{calls}\n/ {calls_then}"
    return (
        more,
        f"({now}\n/ {then})\nand\n{more}",
        f"{more} * 0\n+ ignoring (class) group_left ()\n({grown})",
    )


def new_errnos(selector: str) -> str:
    """Failures whose series were not there before what is shown, of trees that lived."""
    metric = f"proctree_syscall_errors_total{{{selector}}}"
    return (
        f"topk(50, {metric}\nunless last_over_time({metric}{EARLIER})\n"
        f"and on ({IDENTITY}) {lived(TREE, EARLIER)})"
    )


def lived(selector: str, window: str) -> str:
    """Trees that had a process: a target that is not there is a tree as well, without any."""
    return f"(max_over_time(proctree_tree_processes{{{selector}}}{window}) > 0)"


def stuck(selector: str) -> tuple[str, str, str]:
    """Age in seconds, begin in milliseconds since the epoch, and number of calls in flight for 10
    seconds or longer."""
    oldest = f"proctree_syscall_oldest_in_flight_seconds{{{selector},{NOT_WAITING}}}"
    longest = f"topk(20, {oldest} > 10)"
    flying = f"proctree_syscalls_in_flight{{{selector},{NOT_WAITING}}}"
    return longest, f"(time() - {longest}) * 1000", f"{flying}\nand\n{longest}"


def changes(selector: str) -> tuple[str, str]:
    """Trees that came while we look, and those that went."""
    now = f"proctree_tree_processes{{{selector}}} > 0"
    came = f"topk(50, {now}\nunless {lived(selector, EARLIER)})"
    went = f"topk(50, {lived(selector, '[$__range]')}\nunless {now})"
    return _word(came, "came"), _word(went, "went")


def _word(series: str, word: str) -> str:
    return f'label_replace({series}, "change", "{word}", "", "")'

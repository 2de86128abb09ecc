"""Labels that a person chooses: which there are, what is refused, and which goes first."""

from __future__ import annotations

import pytest

from exporter.config.label_names import OUR_LABELS
from exporter.config.load import parse
from exporter.config.model import Config
from exporter.errors import ConfigError
from exporter.model.labels import TREE_LABELS, pod_label_name
from exporter.publish.catalog import CATALOG


def config(text: str) -> Config:
    return parse(f"targets: [1]\n{text}", "c.yaml")


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config(text)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def test_labels_of_trees() -> None:
    """Those that are named, in that order; none at all is not the same as not given."""
    assert config("labels: [pod, namespace]").labels == ("pod", "namespace")
    assert config(f"labels: [{', '.join(TREE_LABELS)}]").labels == TREE_LABELS
    assert config("labels: []").labels == ()
    assert config("").labels is None


@pytest.mark.parametrize("name", ["job", "instance", "le", "__name__", "target", "node"])
def test_other_labels_of_trees_are_refused(name: str) -> None:
    """The message lists those there are."""
    assert problems(f"labels: [pod, {name}]") == [
        "2:15: labels: expected one of cgroup, namespace, pod, container, workload, "
        f"workload_kind, image, found the text '{name}'"
    ]


def test_labels_are_a_list_without_doubles() -> None:
    """A bare word gets brackets."""
    assert problems("labels: [pod, image, pod]") == [
        "2:22: labels: 'pod' is listed twice; remove one of them"
    ]
    assert problems("labels: pod") == [
        "2:9: labels: expected a list, found the text 'pod'; put it into brackets: [ ]"
    ]
    assert problems("labels: {pod: 1}") == ["2:9: labels: expected a list, found a mapping"]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("app", "label_app"),
        ("app.kubernetes.io/name", "label_app_kubernetes_io_name"),
        ("A-b_9", "label_A_b_9"),
    ],
)
def test_pod_labels(key: str, name: str) -> None:
    """Keys stay as they are; the label is named as kube-state-metrics names it."""
    assert config(f"pod_labels: [{key}, other]").pod_labels == (key, "other")
    assert pod_label_name(key) == name


def test_pod_labels_are_keys_that_kubernetes_allows() -> None:
    """A prefix is a domain, a name has at most 63 characters."""
    good = f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}/{'e' * 63}"
    assert config(f"pod_labels: [{good}]").pod_labels == (good,)
    for bad in (f"{'e' * 64}", f"x{good}", "a/b/c", "/a", "a/", "-a", "a.", "ä", "A.b/c"):
        (problem,) = problems(f"pod_labels: ['{bad}']")
        expected = "2:14: pod_labels: expected the key of a pod label as Kubernetes allows it"
        assert problem.startswith(expected)


def test_pod_labels_that_become_one() -> None:
    """Two keys, one label: the second is refused, and a static label of that name, too."""
    assert problems("pod_labels: [a.b, x, a-b]\nstatic_labels: {label_x: y}") == [
        "2:22: pod_labels: 'a-b' becomes the label 'label_a_b', and so does 'a.b'; "
        "remove one of them",
        "3:17: static_labels: 'label_x' is what pod_labels make of 'x'; choose another name",
    ]
    text = "targets: [{pid: 1, static_labels: {label_x: y}}]\npod_labels: [x]"
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    assert [(p.line, p.column) for p in caught.value.problems] == [(1, 36)]


def test_static_labels() -> None:
    """In the order of the file; a target's own go first, and in the place of the file's."""
    text = """\
targets:
  - {pid: 1, static_labels: {z: own, b: '2', team: ä}}
  - 2
static_labels: {c: c, z: common, a: a}
"""
    assert [target.static_labels for target in parse(text, "c.yaml").targets] == [
        (("z", "own"), ("b", "2"), ("team", "ä"), ("c", "c"), ("a", "a")),
        (("c", "c"), ("z", "common"), ("a", "a")),
    ]


LABEL = "expected a label of letters, digits and '_', found"
OURS = "is a label of our metrics already; choose another name"
MISTAKES = {
    "{job: x}": "16: static_labels: 'job' is set by Prometheus; choose another name",
    "{quantile: x}": "16: static_labels: 'quantile' is set by Prometheus; choose another name",
    "{__x: y}": (
        "16: static_labels: '__x' begins with '__', which Prometheus keeps for itself; "
        "choose another name"
    ),
    "{syscall: x}": f"16: static_labels: 'syscall' {OURS}",
    "{namespace: x}": f"16: static_labels: 'namespace' {OURS}",
    "{cost-centre: x}": f"16: static_labels: {LABEL} 'cost-centre'; write 'cost_centre'",
    "{9: x}": f"16: static_labels: {LABEL} '9'",
    "{größe: x}": f"16: static_labels: {LABEL} 'größe'; write 'gr__e'",
    f"{{{'x' * 201}: y}}": "16: static_labels: expected at most 200 characters, found 201; "
    "shorten it",
    "{team: 5}": "22: static_labels.team: expected text, found the number 5; quote it: '5'",
    "{team: ''}": (
        "22: static_labels.team: expected text that is not blank, found the text ''; "
        "leave the key out"
    ),
    "{team: [a]}": "22: static_labels.team: expected text, found a list",
    "[team]": (
        "15: static_labels: expected a mapping of labels to values, such as {team: payments}, "
        "found a list"
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.items(), ids=[m[:30] for m in MISTAKES])
def test_static_labels_that_are_refused(text: str, message: str) -> None:
    """At the label, or at its value, of the file as of a target."""
    column, rest = message.split(":", 1)
    shift = int(column) - 15
    assert problems(f"static_labels: {text}") == [f"2:{16 + shift}:{rest}"]
    with pytest.raises(ConfigError) as caught:
        parse(f"- {{pid: 1, static_labels: {text}}}", "c.yaml")
    assert [(p.column, p.message) for p in caught.value.problems] == [(27 + shift, rest[1:])]


def test_no_label_of_our_metrics_can_be_chosen() -> None:
    """The list of them holds all that the catalog of metrics has."""
    assert {label for metric in CATALOG for label in metric.labels} <= set(OUR_LABELS)
    assert set(TREE_LABELS) <= set(OUR_LABELS)

"""A Resource says whose a label set's numbers are: what its labels tell, and no more."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.model.host import Host
from exporter.model.labels import LabelSet
from exporter.model.metadata import Facts
from exporter.model.resource import INSTANCE, Place, Resource, identity, resource_of, set_apart
from exporter.model.target import Pattern, PodWords, Target, Words

ID, OTHER_ID = "0123456789abcdef" * 4, "fedcba9876543210" * 4
UID = "8c7d1a52-3b4e-4f6a-9c1d-2e3f4a5b6c7d"
SLICE = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice"
PATH = f"{SLICE}/cri-containerd-{ID}.scope"
POD = Target("pods", "kubernetes", kubernetes=PodWords(), static_labels=(("team", "a"),))
KNOWN = Facts("shop", "web-1", "app", "web", "Deployment", "reg:5000/nginx:1.25", {"tier": "api"})
PLACE = Place.of(Host("node-7", "f" * 32, "node7.example"), {})
MACHINE = {"host.id": "f" * 32, "host.name": "node-7"}
WHOLE = {
    **MACHINE,
    "container.id": ID,
    "container.image.name": "reg:5000/nginx",
    "container.image.tags": ("1.25",),
    "k8s.container.name": "app",
    "k8s.deployment.name": "web",
    "k8s.namespace.name": "shop",
    "k8s.node.name": "node7.example",
    "k8s.pod.name": "web-1",
    "k8s.pod.uid": UID,
    "service.instance.id": ID,
    "service.name": "web",
    "service.namespace": "shop",
    "team": "a",
}


def of(
    labels: LabelSet, target: Target = POD, path: str = PATH, facts: Facts | None = KNOWN,
    place: Place = PLACE,
) -> dict[str, object]:  # fmt: skip
    """Sorted, and with nothing empty in it, whatever it is of."""
    made = resource_of(target, labels, path, facts, place)
    keys = [key for key, _ in made]
    assert keys == sorted(set(keys))
    assert all(value not in ("", ()) for _, value in made)
    return dict(made)


def labels(*names: str, target: str = "pods", **others: str) -> LabelSet:
    values = {
        "namespace": "shop", "pod": "web-1", "container": "app", "workload": "web",
        "workload_kind": "Deployment", "image": "reg:5000/nginx:1.25", "cgroup": PATH,
    }  # fmt: skip
    shown = [(name, values[name]) for name in names]
    return (("target", target), *shown, *others.items())


def test_a_container_by_its_cgroup() -> None:
    """All that is known of it; its id is the instance."""
    assert of(labels("cgroup", team="a")) == {**WHOLE, "proctree.cgroup": PATH}


def test_a_container_by_its_pod_and_name() -> None:
    """The label set goes on when it restarts, and so does this."""
    assert of(labels("namespace", "pod", "container", team="a")) == WHOLE


def test_a_pod() -> None:
    """Nothing of one container, where all of them are one series."""
    instance = f"{'f' * 32}:pods,namespace=shop,pod=web-1"
    gone = ("container.id", "container.image.name", "container.image.tags", "k8s.container.name")
    expected = {key: value for key, value in WHOLE.items() if key not in gone}
    expected[INSTANCE] = f"{instance},team=a"
    assert of(labels("namespace", "pod", team="a")) == expected


def test_a_workload() -> None:
    """Only what labels name: there may be several pods."""
    found = of(labels("namespace", "workload", "workload_kind", "image", team="a"))
    assert found == {
        **MACHINE,
        "container.image.name": "reg:5000/nginx",
        "container.image.tags": ("1.25",),
        "k8s.deployment.name": "web",
        "k8s.namespace.name": "shop",
        "k8s.node.name": "node7.example",
        "service.instance.id": f"{'f' * 32}:pods,namespace=shop,workload=web,"
        "workload_kind=Deployment,image=reg:5000/nginx:1.25,team=a",
        "service.name": "web",
        "service.namespace": "shop",
        "team": "a",
    }


def test_all_pods_as_one() -> None:
    """Without labels nothing is said of any pod; the service is the target."""
    assert of(labels(team="a")) == {
        **MACHINE,
        "k8s.node.name": "node7.example",
        "service.instance.id": f"{'f' * 32}:pods,team=a",
        "service.name": "pods",
        "team": "a",
    }


def test_a_container_of_which_nothing_is_known() -> None:
    """What the path tells: its id, its pod's UID; no name is made up."""
    unknown: LabelSet = (("target", "pods"), ("pod", UID), ("container", ID[:12]))
    assert of(unknown, facts=None) == {
        **MACHINE,
        "container.id": ID,
        "k8s.node.name": "node7.example",
        "k8s.pod.uid": UID,
        "service.instance.id": ID,
        "service.name": "pods",
        "team": "a",
    }


def test_a_container_without_kubernetes() -> None:
    """The engine's name, and no `k8s.`; a Compose project has no kind of its own there."""
    target = Target("cache", "container")
    path = f"/docker/{ID}"
    facts = Facts(
        container="redis-1", image="redis", workload="shop/redis", workload_kind="compose"
    )
    assert of(labels("cgroup", target="cache"), target, path, facts) == {
        **MACHINE,
        "container.id": ID,
        "container.image.name": "redis",
        "container.name": "redis-1",
        "proctree.cgroup": path,
        "service.instance.id": ID,
        "service.name": "shop/redis",
    }


def test_cgroups_inside_a_container_are_not_the_container() -> None:
    """There may be several in one: it is named, and the instance is the label set."""
    target = Target("parts", "cgroup", cgroup="/docker/*/*", pattern=True)
    path = f"/docker/{ID}/init.scope"
    label: LabelSet = (("target", "parts"), ("cgroup", path))
    found = of(label, target, path, None)
    assert (found["container.id"], found[INSTANCE]) == (ID, f"{'f' * 32}:parts,cgroup={path}")


def test_a_pods_own_cgroup() -> None:
    """A pod without a container: by a pattern that matches its slice."""
    target = Target("slices", "cgroup", cgroup="/kubepods.slice/*", pattern=True)
    label: LabelSet = (("target", "slices"), ("cgroup", SLICE))
    found = of(label, target, SLICE, Facts("shop", "web-1", complete=False))
    assert (found["k8s.pod.uid"], found["k8s.pod.name"]) == (UID, "web-1")
    assert "container.id" not in found
    assert found[INSTANCE] == f"{'f' * 32}:slices,cgroup={SLICE}"


def test_a_sandbox_is_no_container_of_that_name() -> None:
    """`POD` is what cAdvisor calls it, and nobody's name."""
    target = Target("scopes", "cgroup", cgroup="/**/*.scope", pattern=True)
    found = of(labels("cgroup", target="scopes"), target, facts=Facts("shop", "web-1", "POD"))
    assert "k8s.container.name" not in found
    assert found["container.id"] == ID


@pytest.mark.parametrize(
    ("target", "more"),
    [
        (Target("ci", "pid", pid=4711), {"process.pid": 4711}),
        (Target("ci", "pidfile", pidfile="/run/x.pid"), {}),
        (Target("ci", "match", match=Words(comm=(Pattern("make"),))), {}),
        (Target("ci", "all"), {}),
    ],
)
def test_a_target_that_is_no_cgroup(target: Target, more: dict[str, object]) -> None:
    """The service is the target; a PID is told where it is meant for good."""
    assert of((("target", "ci"),), target, "", None) == {
        **MACHINE, **more, "service.instance.id": f"{'f' * 32}:ci", "service.name": "ci",
    }  # fmt: skip


def test_a_target_that_is_a_containers_cgroup() -> None:
    """Though no label says so: there is no other tree of that target."""
    target = Target("one", "cgroup", cgroup=PATH)
    expected = {key: value for key, value in WHOLE.items() if key != "team"}
    assert of((("target", "one"),), target) == {**expected, "proctree.cgroup": PATH}


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("nginx", {"name": "nginx"}),
        ("nginx:1", {"name": "nginx", "tags": ("1",)}),
        ("reg:5000/a/b", {"name": "reg:5000/a/b"}),
        ("reg:5000/b:x@sha256:12", {"name": "reg:5000/b", "tags": ("x",),
                                    "repo_digests": ("reg:5000/b@sha256:12",)}),
        ("b@sha256:12", {"name": "b", "repo_digests": ("b@sha256:12",)}),
        ("sha256:12", {"id": "sha256:12"}),
        (":", {}), ("@", {}), ("/", {}), ("", {}),
    ],
)  # fmt: skip
def test_the_parts_of_an_image(image: str, parts: dict[str, object]) -> None:
    """A port is no tag, and a digest no name."""
    found = of(labels("cgroup"), facts=Facts(image=image))
    prefix = "container.image."
    images = {key.removeprefix(prefix): v for key, v in found.items() if key.startswith(prefix)}
    assert images == parts


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_workloads_by_kind(kind: str) -> None:
    """By the conventions' names for them."""
    found = of(labels("cgroup"), facts=Facts("shop", workload="w", workload_kind=kind))
    assert found[f"k8s.{kind.lower()}.name"] == "w"


@pytest.mark.parametrize("kind", ["Pod", "Rollout", "compose", "evil.name", ""])
def test_other_kinds_have_no_attribute(kind: str) -> None:
    """What the conventions do not have is not made up."""
    found = of(labels("cgroup"), facts=Facts("shop", workload="w", workload_kind=kind))
    named = {key for key in found if key.startswith("k8s.") and key.endswith(".name")}
    assert named == {"k8s.namespace.name", "k8s.node.name"}
    assert found["service.name"] == "w"


def test_what_the_deployment_says() -> None:
    """Of the machine and of all it stands beneath; of the exporter itself it says nothing here."""
    place = Place.of(
        Host("node-7", "f" * 32, "n7"),
        {
            "deployment.environment.name": "prod", "team": "platform", "host.id": "i-0abc",
            "k8s.cluster.name": "eu", "k8s.node.name": "n8", "service.name": "proctree-exporter",
            "service.namespace": "monitoring", "service.version": "1", "k8s.pod.name": "exporter-x",
            "k8s.namespace.name": "monitoring", "container.id": "e" * 64, "process.pid": "1",
            "telemetry.sdk.name": "x",
        },
    )  # fmt: skip
    assert of((("target", "ci"),), Target("ci", "pid", pid=7), "", None, place) == {
        "deployment.environment.name": "prod", "host.id": "i-0abc", "host.name": "node-7",
        "k8s.cluster.name": "eu", "k8s.node.name": "n8", "process.pid": 7,
        "service.instance.id": "i-0abc:ci", "service.name": "ci", "team": "platform",
    }  # fmt: skip
    assert of(labels("cgroup"), place=place)["team"] == "a"


HOSTILE = st.text("ab,=:%/ \n\udc80ü", max_size=4)


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=2, max_size=2, unique=True))
@example([("a,cgroup=b", "c"), ("a", "b,cgroup=c")])
@example([("a", "\udc80"), ("a", "\udc81")])
def test_other_labels_are_another_identity(values: list[tuple[str, str]]) -> None:
    """However they hurt; and it is text that any encoder takes."""
    target = Target("t", "cgroup", cgroup="/*", pattern=True)
    made = [
        resource_of(target, (("target", name), ("cgroup", path)), path, None, PLACE)
        for name, path in values
    ]
    assert identity(made[0]) != identity(made[1])
    assert all(str(identity(one)[2]).isascii() for one in made)


def test_set_apart() -> None:
    """The same container, exposed by two label sets, is two instances."""
    sets = [labels("cgroup", target=name) for name in ("old", "new")]
    made: list[Resource] = [resource_of(POD, one, PATH, KNOWN, PLACE) for one in sets]
    assert identity(made[0]) == identity(made[1])
    apart = [set_apart(one, of_set) for one, of_set in zip(made, sets, strict=True)]
    for one, other in permutations([*apart, made[0]], 2):
        assert identity(one) != identity(other)
    assert dict(apart[0]) | {INSTANCE: ID} == dict(made[0])

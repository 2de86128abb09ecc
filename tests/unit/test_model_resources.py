"""Each label set that is exposed has one Resource, as long as it is exposed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from exporter.kernel.source import Reading, Source
from exporter.model import resources
from exporter.model.host import Host
from exporter.model.labeller import Labeller
from exporter.model.labels import LabelSet
from exporter.model.metadata import ContainerRef, Facts
from exporter.model.monitor import Monitor
from exporter.model.resource import INSTANCE, Place, Resource
from exporter.model.resources import Resources
from exporter.model.target import Pattern, PodWords, Target, Words
from exporter.model.tracker import Tracker
from exporter.model.trees import Tree
from tests.unit.account_samples import accounts, reading

PLACE = Place.of(Host("node-7", "f" * 32, ""), {})
POD = Target("pods", "kubernetes", kubernetes=PodWords())
MAKE = Target("make", "match", match=Words(comm=(Pattern("make"),)), group_by="comm")
CI = Target("ci", "pid", pid=41)
UIDS = [f"8c7d1a52-3b4e-4f6a-9c1d-2e3f4a5b6c7{n}" for n in range(10)]


def path_of(number: int, pod: int) -> str:
    return f"/kubepods/pod{UIDS[pod]}/{number:064x}"


class Known:
    """Metadata: what is known of each pod, by its UID."""

    def __init__(self) -> None:
        self.pods = {uid: Facts("shop", f"web-{n}", "app", "web") for n, uid in enumerate(UIDS)}

    def facts(self, ref: ContainerRef) -> Facts | None:
        return self.pods.get(ref.pod_uid)

    def version(self) -> int:
        return 0


class Trees:
    """The part of a tracker and of a kernel that a monitor asks for trees and slots."""

    def __init__(self, labeller: Labeller) -> None:
        self.labeller = labeller
        self.there: list[Tree] = []
        self.free: dict[int, Tree] = {}
        self.slots = SimpleNamespace(used=0, spare=0)

    def trees(self) -> Iterator[Tree]:
        yield from self.there

    def freeze_labels(self) -> None:
        for tree in self.there:
            waits = self.labeller.waits(tree.path, tree.since_ns, tree.since_ns)
            if tree.target and tree.labels is None and not waits and not tree.shared:
                tree.labels = self.labeller.labels(tree.target, tree.path)

    def reap(self) -> tuple[dict[int, Tree], Reading | None]:
        free, self.free = self.free, {}
        return free, reading()

    def read(self, slots: list[int]) -> Reading:
        return reading()

    def count(self, name: str) -> int:
        return 0

    def held_back(self) -> int:
        return 0

    def folded(self) -> Mapping[str, int]:
        return {}

    refused = folded


class Followed:
    """A monitor, and trees that come and go."""

    def __init__(self, names: tuple[str, ...] | None, limit: int = 10**6, **settings: Any) -> None:
        self.known = Known()
        labeller = Labeller(names, 10, self.known, needs_facts=True)
        self.trees = Trees(labeller)
        source = cast(Any, self.trees)
        made = accounts(limit, POD, MAKE, CI, tree_labels=names, **settings)
        self.monitor = Monitor(
            cast(Source, source), cast(Tracker, source), made, labeller, 2, False, {},
            resources=Resources(PLACE, labeller.facts),
        )  # fmt: skip

    def come(self, slot: int, target: Target, path: str = "", **fields: Any) -> Tree:
        tree = Tree(target, slot, 1, path, **fields)
        self.trees.there.append(tree)
        self.monitor.tend()
        return tree

    def go(self, tree: Tree) -> None:
        self.trees.there.remove(tree)
        self.trees.free = dict.fromkeys(tree.slots, tree)
        self.monitor.tend()

    def of(self, slot: int) -> Resource | None:
        return self.monitor.resource_of(slot)

    def shown(self) -> Mapping[LabelSet, Resource]:
        """Of all label sets of a snapshot, and of no others."""
        snapshot = self.monitor.snapshot()
        assert set(snapshot.resources) == {tree.labels for tree in snapshot.trees}
        return snapshot.resources


def instance(resource: Resource | None) -> object:
    return dict(resource or ())[INSTANCE]


@pytest.mark.parametrize("names", [None, ("pod", "container")])
def test_two_pods_are_two_resources(names: tuple[str, ...] | None) -> None:
    """Of one workload: the service is the same, and the instance is not."""
    subject = Followed(names)
    for number in (1, 2):
        subject.come(number, POD, path_of(number, pod=number))
    found = [dict(one) for one in subject.shown().values()]
    assert [one["service.name"] for one in found] == ["web", "web"]
    assert [one["k8s.pod.name"] for one in found] == ["web-1", "web-2"]
    assert [one[INSTANCE] for one in found] == [f"{1:064x}", f"{2:064x}"]


def test_a_container_that_restarts_keeps_its_resource() -> None:
    """Its label set goes on, whatever its id is, and whatever is known of it by now."""
    subject = Followed(("pod", "container"), keep_gone_ns=10**18)
    tree = subject.come(1, POD, path_of(1, pod=1))
    before = subject.of(1)
    subject.known.pods[UIDS[1]] = Facts("shop", "web-1", "app", "web", image="new")
    subject.come(2, POD, path_of(2, pod=1))
    subject.go(tree)
    subject.come(3, POD, path_of(3, pod=1))
    assert before
    assert [subject.of(slot) for slot in (1, 2, 3)] == [before] * 3
    assert list(subject.shown().values()) == [before]


def test_a_label_set_that_comes_again_is_another() -> None:
    """Once it has expired, all is decided anew."""
    subject = Followed(("pod", "container"), keep_gone_ns=0)
    subject.go(subject.come(1, POD, path_of(1, pod=1)))
    assert subject.shown() == {}
    subject.known.pods[UIDS[1]] = Facts("shop", "web-1", "app", "web", image="new")
    subject.come(2, POD, path_of(1, pod=1))
    (resource,) = subject.shown().values()
    assert (instance(resource), dict(resource)["container.image.name"]) == (f"{1:064x}", "new")


def test_a_tree_has_no_resource_before_it_has_a_name() -> None:
    """Metadata is waited for, though no label is made of it."""
    subject = Followed(None)
    facts = subject.known.pods.pop(UIDS[1])
    subject.come(1, POD, path_of(1, pod=1))
    assert subject.of(1) is None
    subject.known.pods[UIDS[1]] = facts
    subject.monitor.tend()
    assert dict(subject.of(1) or ())["k8s.pod.name"] == "web-1"


def test_programs_share_the_resource_of_their_tree() -> None:
    """Those that come later, too, while one of them is exposed."""
    subject = Followed(None, keep_gone_ns=0)
    tree = subject.come(1, MAKE, programs={2: "cc", 3: "ld"})
    tree.programs[4] = "as"
    assert len(subject.shown()) == 4
    assert subject.of(1) == subject.of(2) == subject.of(3) == subject.of(4)
    assert instance(subject.of(1)) == f"{'f' * 32}:make"
    subject.go(tree)
    assert subject.shown() == {}


def test_what_finds_no_room_is_the_targets() -> None:
    """Its numbers go out with all others without room; its spans are still its own."""
    subject = Followed(("pod",), limit=110)
    for number in range(1, 6):
        subject.come(number, POD, path_of(number, pod=number))
    other = (("target", "pods"), ("pod", "other"))
    shown = subject.shown()
    assert other in shown
    assert len(shown) < 6
    assert instance(shown[other]) == f"{'f' * 32}:pods,pod=other"
    assert "k8s.pod.name" not in dict(shown[other])
    assert dict(subject.of(5) or ())["k8s.pod.name"] == "web-5"


def test_a_target_may_be_a_containers_cgroup() -> None:
    """Whatever labels there are: its tree has no path of its own."""
    one = Target("one", "cgroup", cgroup=path_of(1, pod=1))
    subject = Followed(("pod", "container"))
    subject.monitor._accounts.configure([POD, one], 1)
    subject.come(1, one)
    assert instance(subject.of(1)) == f"{1:064x}"
    assert dict(subject.of(1) or ())["k8s.pod.name"] == "web-1"


def test_trees_without_a_slot_of_their_own_are_the_targets() -> None:
    """Whichever of them was first: nothing of it is told."""
    subject = Followed(None)
    subject.come(1, POD, path_of(1, pod=1), shared=True, used=True)
    assert instance(subject.of(1)) == f"{'f' * 32}:pods,cgroup=other"
    assert not [key for key, _ in subject.of(1) or () if key.startswith(("k8s.", "container."))]


def test_two_targets_in_turn_with_one_container() -> None:
    """While the series of both are exposed, each has an identity of its own."""
    subject = Followed(None, keep_gone_ns=10**18)
    tree = subject.come(1, POD, path_of(1, pod=1))
    renamed = Target("renamed", "kubernetes", kubernetes=PodWords())
    subject.monitor._accounts.configure([POD, renamed, CI], 1)
    subject.go(tree)
    subject.come(2, renamed, path_of(1, pod=1))
    first, second = subject.shown().values()
    assert instance(first) == f"{1:064x}"
    assert str(instance(second)).startswith(f"{1:064x}:renamed,cgroup=")


def test_spans_that_come_late_find_whose_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last trees that are gone are remembered, and not all that ever were."""
    monkeypatch.setattr(resources, "_MOST_GONE", 2)
    subject = Followed(None, keep_gone_ns=0)
    for slot in (1, 2, 3):
        subject.go(subject.come(slot, POD, path_of(slot, pod=slot)))
    assert [slot for slot in (1, 2, 3) if subject.of(slot)] == [2, 3]
    assert instance(subject.of(3)) == f"{3:064x}"


def test_without_otlp_there_are_none() -> None:
    """Nothing is made, and nothing is remembered."""
    subject = Followed(None)
    subject.monitor._resources = None
    subject.come(1, CI)
    assert subject.of(1) is None
    assert subject.monitor.snapshot().resources == {}

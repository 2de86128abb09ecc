"""What is answered about pods, for how long, and how many of them fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.metadata.kubernetes.pod import Container, Pod
from exporter.metadata.kubernetes.store import Pods
from exporter.model.metadata import SANDBOX, ContainerRef, Facts, Metadata

WEB = Pod(
    uid="u1", config_hash="", namespace="shop", name="web-1", labels={"app": "web"},
    workload="web", workload_kind="Deployment", ended=False,
    containers={"aa": Container("main", "web:1")},
)  # fmt: skip
FACTS = Facts("shop", "web-1", "main", "web", "Deployment", "web:1", {"app": "web"})
STATIC = replace(WEB, uid="u2", config_hash="c0ffee", containers={"cc": Container("etcd", "e:3")})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def by_id(id_: str, uid: str = "") -> ContainerRef:
    return ContainerRef("containerd", id_, uid)


def by_uid(uid: str) -> ContainerRef:
    return ContainerRef("", "", uid)


def test_facts() -> None:
    pods = Pods()
    metadata: Metadata = pods  # the protocol, for mypy
    assert metadata.facts(by_id("aa", "u1")) is None
    assert pods.put(WEB)
    assert pods.facts(by_id("aa", "u1")) == FACTS
    assert pods.facts(by_id("aa")) == FACTS
    # A pod's own cgroup: nothing more is to come. One of its containers: it may still.
    assert pods.facts(by_uid("u1")) == replace(FACTS, container="", image="")
    unknown = replace(FACTS, container="", image="", complete=False)
    assert pods.facts(by_id("bb", "u1")) == unknown
    assert pods.facts(by_id("bb")) is None
    assert pods.facts(by_uid("u9")) is None
    assert pods.facts(by_id("")) is None


def test_sandbox() -> None:
    """Where all containers of a pod are known, another is its sandbox, or too new to be known."""
    pods = Pods()
    assert pods.put(replace(WEB, settled=True))
    guess = replace(FACTS, container=SANDBOX, image="", complete=False)
    assert pods.facts(by_id("bb", "u1")) == guess
    assert pods.facts(by_uid("u1")) == replace(FACTS, container="", image="")
    assert pods.put(replace(WEB, settled=True, ended=True))
    assert pods.facts(by_id("bb", "u1")) == replace(guess, complete=True)
    both = WEB.containers | {"bb": Container("main", "web:1")}
    assert pods.put(replace(WEB, settled=True, containers=both))
    assert pods.facts(by_id("bb", "u1")) == FACTS


def test_static() -> None:
    """A static pod is found by the hash in its cgroup's path, and by its UID."""
    pods = Pods()
    pods.put(STATIC)
    found = pods.facts(by_uid("c0ffee"))
    assert found == pods.facts(by_uid("u2"))
    assert found and found.pod == "web-1"
    assert pods.facts(by_uid("")) is None


def test_made_anew(clock: Clock) -> None:
    """A mirror pod that was deleted and made again has the old hash: the old one takes nothing."""
    pods = Pods(keep_s=10, clock=clock)
    pods.put(STATIC)
    pods.put(replace(STATIC, uid="u3", name="web-2"))
    pods.retire(["u2"])
    clock.now = 10
    pods.tidy()
    assert pods.facts(by_uid("u2")) is None
    for ref in (by_uid("c0ffee"), by_id("cc")):
        found = pods.facts(ref)
        assert found and found.pod == "web-2"
    pods.put(replace(STATIC, uid="u3", containers={}))
    pods.put(STATIC)
    pods.put(replace(STATIC, uid="u3", containers={}))
    pods.retire(["u2", "u3"])
    clock.now = 20
    pods.tidy()
    assert [pods.facts(ref) for ref in (by_uid("c0ffee"), by_id("cc"), by_uid("u3"))] == [None] * 3


def test_version() -> None:
    """It changes when an answer may have, and only then: a kubelet writes status all the time."""
    pods = Pods()
    seen = [pods.version()]

    def changed() -> bool:
        seen.append(pods.version())
        return seen[-1] != seen[-2]

    pods.put(WEB)
    assert changed()
    pods.put(replace(WEB))
    assert not changed()
    pods.put(replace(WEB, labels={"app": "shop"}))
    assert changed()
    pods.retire(["u1"])
    assert changed()
    pods.retire(["u1", "u9"])
    assert not changed()
    pods.put(replace(WEB, labels={"app": "shop"}))
    assert changed()
    pods.retire_others({"u1"})
    assert not changed()
    pods.retire_others(set())
    assert changed()


def test_gone(clock: Clock) -> None:
    """A deleted pod stays known for a while; no container of it is to come any more."""
    pods = Pods(keep_s=300, clock=clock)
    pods.put(WEB)
    pods.retire(["u1"])
    assert len(pods) == 0
    assert pods.facts(by_id("aa", "u1")) == FACTS
    late = pods.facts(by_id("bb", "u1"))
    assert late and late.complete
    clock.now = 299
    pods.tidy()
    assert pods.facts(by_id("aa")) == FACTS
    before = pods.version()
    clock.now = 300
    pods.tidy()
    assert pods.facts(by_id("aa", "u1")) is None
    assert pods.version() != before


def test_ended() -> None:
    pods = Pods()
    pods.put(replace(WEB, ended=True))
    found = pods.facts(by_id("bb", "u1"))
    assert found and found.complete


def test_comes_back(clock: Clock) -> None:
    pods = Pods(keep_s=300, clock=clock)
    pods.put(WEB)
    pods.retire(["u1"])
    pods.put(WEB)
    clock.now = 1000
    pods.tidy()
    assert pods.facts(by_id("aa")) == FACTS
    assert len(pods) == 1


def test_restarted_container(clock: Clock) -> None:
    """The container before stays known for a while, under the pod's newest labels."""
    pods = Pods(keep_s=300, clock=clock)
    pods.put(WEB)
    again = {"bb": Container("main", "web:2")}
    pods.put(replace(WEB, containers=again))
    assert pods.facts(by_id("aa")) == FACTS
    pods.put(replace(WEB, containers=again, labels={"app": "new"}))
    assert pods.facts(by_id("aa")) == replace(FACTS, pod_labels={"app": "new"})
    before = pods.version()
    clock.now = 300
    pods.tidy()
    assert pods.version() != before
    assert pods.facts(by_id("aa")) is None
    found = pods.facts(by_id("bb"))
    assert found == replace(FACTS, pod_labels={"app": "new"}, image="web:2")


def test_container_comes_back(clock: Clock) -> None:
    pods = Pods(keep_s=300, clock=clock)
    for containers in (WEB.containers, {}, WEB.containers):
        pods.put(replace(WEB, containers=containers))
    clock.now = 300
    pods.tidy()
    assert pods.facts(by_id("aa")) == FACTS


def test_room() -> None:
    """The most is the most: what is gone makes room, what is there does not."""
    pods = Pods(most=2)
    first, second, third = (replace(WEB, uid=uid, containers={}) for uid in ("1", "2", "3"))
    assert [pods.put(pod) for pod in (first, second, third)] == [True, True, False]
    assert pods.put(replace(first, name="web-2"))
    assert pods.facts(by_uid("3")) is None
    pods.retire(["2"])
    assert pods.put(third)
    known = [pods.facts(by_uid(uid)) is not None for uid in ("1", "2", "3")]
    assert known == [True, False, True]
    assert len(pods) == 2


def test_containers_bounded() -> None:
    """A container that crashes all the time leaves no more ids than there may be pods."""
    pods = Pods(most=3)
    for number in range(10):
        pods.put(replace(WEB, containers={str(number): Container("main", "web:1")}))
    known = [pods.facts(by_id(str(number))) is not None for number in range(10)]
    assert known == [False] * 6 + [True] * 4


def test_turnover(clock: Clock) -> None:
    """After 5,000 short-lived pods nothing is left of them."""
    pods = Pods(keep_s=60, clock=clock)
    empty = {name: len(it) for name, it in vars(pods).items() if isinstance(it, dict)}
    for number in range(5000):
        clock.now += 1
        pod = replace(STATIC, uid=f"u{number}", config_hash=f"h{number}")
        pods.put(replace(pod, containers={f"a{number}": Container("main", "")}))
        pods.put(replace(pod, containers={f"b{number}": Container("main", "")}))
        pods.retire([pod.uid])
        pods.tidy()
    assert len(pods) == 0
    clock.now += 60
    pods.tidy()
    left = {name: len(it) for name, it in vars(pods).items() if isinstance(it, dict)}
    assert left == empty


def test_too_large() -> None:
    """Whoever may make pods cannot fill the node's memory with labels."""
    pods = Pods()
    assert not pods.put(replace(WEB, labels={f"{n:040}": "x" * 60 for n in range(1000)}))
    assert pods.facts(by_uid("u1")) is None
    assert pods.put(replace(WEB, labels={f"{n:040}": "x" * 60 for n in range(500)}))

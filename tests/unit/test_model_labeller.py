"""How trees are called, and how long that is waited for."""

from __future__ import annotations

import pytest

from exporter.model.account import TreeInfo
from exporter.model.labeller import Labeller
from exporter.model.metadata import ContainerRef, Facts
from exporter.model.target import Target

ID = "0123456789abcdef" * 4
UID = "8c7d1a52-3b4e-4f6a-9c1d-2e3f4a5b6c7d"
PATH = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{ID}.scope"
POD = Target("pods", "kubernetes", static_labels=(("team", "a"),))
TREE = Target("slices", "cgroup", cgroup="/x/*", pattern=True)
KNOWN = Facts("shop", "web-1", "app", "web", "Deployment", "nginx:1", {"tier": "api"})
ALL = ("namespace", "pod", "container", "workload", "workload_kind", "image", "cgroup")
TIMEOUT_NS = 10 * 10**9


class Known:
    """Metadata of one container."""

    def __init__(self, facts: Facts | None) -> None:
        self.answer = facts

    def facts(self, ref: ContainerRef) -> Facts | None:
        return self.answer if ref.id == ID else None

    def version(self) -> int:
        return 0


def labeller(names: tuple[str, ...] | None, facts: Facts | None = KNOWN) -> Labeller:
    return Labeller(names, TIMEOUT_NS, Known(facts))


def test_without_labels_in_the_config() -> None:
    """Trees of which a target has many carry `cgroup`; static labels come last."""
    assert labeller(None).labels(TREE, "/x/1") == (("target", "slices"), ("cgroup", "/x/1"))
    assert labeller(None).labels(POD, PATH) == (("target", "pods"), ("cgroup", PATH), ("team", "a"))
    assert labeller(None).labels(Target("one", "pid", pid=1), "") == (("target", "one"),)


def test_labels_are_in_the_order_of_the_config() -> None:
    """All that there are; `cgroup` only where it is asked for."""
    assert labeller(ALL).labels(POD, PATH) == (
        ("target", "pods"), ("namespace", "shop"), ("pod", "web-1"), ("container", "app"),
        ("workload", "web"), ("workload_kind", "Deployment"), ("image", "nginx:1"),
        ("cgroup", PATH), ("team", "a"),
    )  # fmt: skip
    assert labeller(("pod", "namespace")).labels(POD, PATH) == (
        ("target", "pods"), ("pod", "web-1"), ("namespace", "shop"), ("team", "a"),
    )  # fmt: skip


def test_what_is_not_known_is_told_by_the_path_or_left_out() -> None:
    """A pod's UID, the first digits of a container's id; nothing for what is no container."""
    assert labeller(ALL, None).labels(POD, PATH) == (
        ("target", "pods"), ("pod", UID), ("container", ID[:12]), ("cgroup", PATH), ("team", "a"),
    )  # fmt: skip
    assert labeller(("namespace", "pod")).labels(TREE, "/x/1") == (("target", "slices"),)


def test_a_container_of_which_only_the_pod_is_known() -> None:
    """Two of one pod are two series: by their ids."""
    labels = labeller(("pod", "container"), Facts("shop", "web-1")).labels(POD, PATH)
    assert labels == (
        ("target", "pods"), ("pod", "web-1"), ("container", ID[:12]), ("team", "a"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "path", "facts", "waits"),
    [
        (("pod",), PATH, None, True),
        (("pod",), PATH, Facts("shop", complete=False), True),
        (("pod",), PATH, KNOWN, False),
        (("pod",), "/x/1", None, False),
        (("cgroup",), PATH, None, False),
        (None, PATH, None, False),
        ((), PATH, None, False),
    ],
)
def test_what_is_waited_for(
    names: tuple[str, ...] | None, path: str, facts: Facts | None, waits: bool
) -> None:
    """Only for labels that metadata tells, of containers, until all is known or it is late."""
    one = labeller(names, facts)
    assert one.waits(path, 5, 5) is waits
    assert one.waits(path, 5, 4 + TIMEOUT_NS) is waits
    assert one.waits(path, 5, 5 + TIMEOUT_NS) is False
    assert [one.late(5, at + TIMEOUT_NS) for at in (4, 5, 6)] == [False, True, True]


def test_what_the_info_metric_says() -> None:
    """The workload and all labels of the pod; nothing where nothing is known."""
    assert labeller(None).info(PATH) == TreeInfo("web", {"tier": "api"})
    assert labeller(None, None).info(PATH) == labeller(None).info("/x") == TreeInfo()

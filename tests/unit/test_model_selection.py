"""Which containers a selector means, as far as is known of them."""

from __future__ import annotations

import pytest

from exporter.model.metadata import SANDBOX, ContainerRef, Facts
from exporter.model.selection import container_of, selects
from exporter.model.target import ContainerWords, Pattern, PodWords, Target

ID = "0123456789abcdef" * 4
UID = "8c7d1a52-3b4e-4f6a-9c1d-2e3f4a5b6c7d"
SLICE = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice"
POD_PATH = f"{SLICE}/cri-containerd-{ID}.scope"
DOCKER_PATH = f"/system.slice/docker-{ID}.scope"
KNOWN = Facts("shop", "web-1", "app", "web", "Deployment", "nginx:1", {"tier": "api"})


def words(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text) for text in texts)


def pods(**given: tuple[Pattern, ...]) -> Target:
    return Target("it", "kubernetes", kubernetes=PodWords(**given))  # type: ignore[arg-type]


def labelled(key: str, *texts: str) -> Target:
    return Target("it", "kubernetes", kubernetes=PodWords(labels=((key, words(*texts)),)))


def containers(**given: tuple[Pattern, ...]) -> Target:
    return Target("it", "container", container=ContainerWords(**given))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (POD_PATH, ContainerRef("containerd", ID, UID)),
        (f"{POD_PATH}/init.scope/deep", ContainerRef("containerd", ID, UID)),
        (SLICE, ContainerRef("", "", UID)),
        (f"{SLICE}/something", ContainerRef("", "", UID)),
        (DOCKER_PATH, ContainerRef("docker", ID, "")),
        ("/system.slice/nginx.service", None),
        ("/", None),
        ("", None),
    ],
)
def test_the_container_that_a_cgroup_is_in(path: str, found: ContainerRef | None) -> None:
    """The nearest one above it; else its pod."""
    assert container_of(path) == found


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (pods(), True),
        (pods(namespace=words("shop")), True),
        (pods(namespace=words("bank", "sh*")), True),
        (pods(namespace=words("bank")), False),
        (pods(pod=words("web-*"), container=words("app")), True),
        (pods(pod=words("web-*"), container=words("sidecar")), False),
        (labelled("tier", "api", "worker"), True),
        (labelled("tier", "front"), False),
        (labelled("team", "*"), False),
        (containers(name=words("app")), True),
        (containers(image=words("nginx:*")), True),
        (containers(name=words("app"), image=words("redis*")), False),
        (Target("it", "cgroup", cgroup="/**", pattern=True), True),
    ],
)
def test_what_is_known(target: Target, verdict: bool) -> None:
    """All words must hold, each by one of its patterns; late or not makes no difference."""
    for late in (False, True):
        assert selects(target, POD_PATH, KNOWN, late) is verdict


@pytest.mark.parametrize(
    ("target", "facts", "early", "late"),
    [
        (pods(), None, None, True),
        (pods(namespace=words("shop")), None, None, None),
        (containers(name=words("app")), None, None, None),
        (pods(container=words("app")), Facts("shop", "web-1", complete=False), None, None),
        (pods(namespace=words("shop")), Facts("shop", "web-1", complete=False), None, True),
        (pods(namespace=words("bank")), Facts("shop", "web-1", complete=False), False, False),
        (labelled("tier", "api"), Facts(container="app", complete=False), None, None),
    ],
)
def test_what_is_not_known_yet(
    target: Target, facts: Facts | None, early: bool | None, late: bool | None
) -> None:
    """None while it may still be told; what nobody asks for is not waited for for ever."""
    assert selects(target, POD_PATH, facts, late=False) is early
    assert selects(target, POD_PATH, facts, late=True) is late


@pytest.mark.parametrize("target", [pods(), containers()])
def test_sandboxes_are_nobodys(target: Target) -> None:
    """Known to be one, or taken for one for long enough."""
    guess = Facts("shop", "web-1", SANDBOX, complete=False)
    assert selects(target, POD_PATH, Facts("shop", "web-1", SANDBOX), late=False) is False
    assert selects(target, POD_PATH, guess, late=False) is None
    assert selects(target, POD_PATH, guess, late=True) is False


def test_what_is_no_container() -> None:
    """A pod's own cgroup, a container without a pod, a folder in a container."""
    assert selects(pods(), SLICE, KNOWN, late=True) is False
    assert selects(pods(), DOCKER_PATH, KNOWN, late=True) is False
    assert selects(containers(), DOCKER_PATH, KNOWN, late=False) is True
    assert selects(containers(), f"{DOCKER_PATH}/init.scope", KNOWN, late=True) is False

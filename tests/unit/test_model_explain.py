"""Why a process is where it is: over trees made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from exporter.kernel.procfs import Texts
from exporter.kernel.records import (
    PROCESS_ALIVE,
    PROCESS_KERNEL,
    SLOT_EXCLUDED,
    CgroupKey,
    Membership,
    Process,
    ProcessKey,
    TreeSettings,
)
from exporter.model.explain import Explainer, Following, in_words
from exporter.model.metadata import Facts
from exporter.model.ranking import Ranking
from exporter.model.rivals import rivals, unmeant
from exporter.model.rulebook import Rulebook
from exporter.model.target import ContainerWords, Pattern, PodWords, Target, Words
from exporter.model.trees import Tree

GROUP = CgroupKey(0, 77)
ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
BASH, NGINX = Words(comm=(Pattern("bash"),)), Words(exe=(Pattern("/usr/sbin/nginx*"),))


def key(pid: int) -> ProcessKey:
    return ProcessKey(pid, pid)


def of(target: Target, slot: int, root: int = 0, cgroups: Sequence[CgroupKey] = ()) -> Tree:
    return Tree(target, slot, 0, cgroups=set(cgroups), root=key(root) if root else None)


def following(
    *trees: Tree, parents: Mapping[int, int] | None = None, comms: Mapping[int, str] | None = None,
    exclude: Sequence[Words] = (), settings: Mapping[int, TreeSettings] | None = None,
    flags: int = PROCESS_ALIVE,
) -> Following:  # fmt: skip
    """`parents` of PIDs, `comms` of PIDs: their programs are /usr/sbin/COMM, of user 33."""
    parents, comms = parents or {}, comms or {}
    targets = [tree.target for tree in trees if tree.target]

    def texts(pid: int) -> Texts | None:
        comm = comms.get(pid, "").encode()
        return Texts(comm, b"/usr/sbin/" + comm, comm, 33) if comm else None

    return Following(
        trees, Rulebook(targets, exclude), exclude, Ranking(settings or {}),
        [Process(key(pid), key(above), Membership(), flags) for pid, above in parents.items()],
        {"www": 33}.get, texts,
    )  # fmt: skip


def why(found: Following, pid: int, member: Membership) -> str:
    return Explainer(found).why(key(pid), member)


def test_roots() -> None:
    """The PID itself, what is below it, and what once was."""
    found = following(
        of(Target("a", "pid", pid=2), 1, 2),
        of(Target("b", "pidfile", pidfile="/run/b.pid"), 2, 5),
        of(Target("c", "pid", pid=3, follow_forks=False), 3, 3),
        parents={4: 3, 3: 2, 2: 1, 6: 5, 5: 1, 9: 1},
    )
    assert why(found, 2, Membership(tree=1)) == "it is the listed PID 2"
    assert why(found, 4, Membership(tree=1)) == "it descends from the listed PID 2"
    assert why(found, 3, Membership(own=3, tree=1)) == "it is the listed PID 3"
    adopted = "it was born a descendant of the listed PID 2, and adopted since"
    assert why(found, 9, Membership(tree=1)) == adopted
    assert why(found, 5, Membership(tree=2)) == "/run/b.pid names it"
    assert why(found, 6, Membership(tree=2)) == "it descends from PID 5, which /run/b.pid names"
    earlier = "it descends from a process that /run/b.pid named"
    assert why(found, 9, Membership(tree=2)) == earlier


@pytest.mark.parametrize(
    ("target", "path", "clause"),
    [
        (Target("x", "cgroup", cgroup="/a"), "", "its cgroup /a is listed"),
        (Target("x", "cgroup", cgroup="/a/*", pattern=True), "/a/b", "its cgroup /a/b fits /a/*"),
        (Target("x", "systemd", systemd="a.service"), "",
         "its cgroup is the unit a.service, or in it"),
        (Target("x", "container", container=ContainerWords()), "/docker/1",
         "its cgroup /docker/1 is a container that 'container' means"),
        (Target("x", "kubernetes", kubernetes=PodWords()), "/docker/1",
         "its cgroup /docker/1 is a container that 'kubernetes' means"),
        (None, "/docker/1",
         "its cgroup /docker/1 is a container, of which too little is known yet"),
    ],
)  # fmt: skip
def test_cgroups(target: Target | None, path: str, clause: str) -> None:
    """By path, pattern, unit and container; and while that is open."""
    found = following(Tree(target, 1, 0, path))
    assert why(found, 2, Membership(cgroup=1)) == clause


def test_a_cgroup_without_a_place_of_its_own() -> None:
    """Its slot is all such cgroups', and so is the answer."""
    target = Target("x", "cgroup", cgroup="/a/*", pattern=True)
    found = following(Tree(target, 9, 0, shared=True), Tree(target, 9, 0, "/a/b", shared=True))
    clause = "its cgroup is one of those that found no place (limits.trees) and share one"
    assert why(found, 2, Membership(cgroup=9)) == clause


def test_match_names_the_nearest_for_whom_it_holds() -> None:
    """Itself, an ancestor, or nobody any more; never a kernel thread."""
    target = Target("m", "match", match=NGINX)
    parents, comms = {4: 3, 3: 2, 2: 1}, {3: "nginx-worker", 2: "nginx"}
    found = following(of(target, 1), parents=parents, comms=comms)
    member = Membership(match=1)
    assert why(found, 2, member) == "match exe=/usr/sbin/nginx* holds for it"
    assert why(found, 4, member) == "match exe=/usr/sbin/nginx* holds for its ancestor 3"
    gone = (
        "match exe=/usr/sbin/nginx* held for it or an ancestor, which has ended or runs another"
        " program now"
    )
    assert why(found, 9, member) == gone
    kernel = following(of(target, 1), parents=parents, comms=comms, flags=PROCESS_KERNEL)
    assert why(kernel, 2, member) == gone


def test_users_are_found_by_name_and_the_unknown_are_nobody() -> None:
    """As the tracker finds them."""
    for user, holds in (("www", True), (33, True), ("nobody-here", False), (34, False)):
        words = Words(user=(user,))
        found = following(comms={2: "sh"}, parents={2: 1})
        assert Explainer(found).holds(words, key(2)) is holds


def test_who_is_kept_out_and_by_what() -> None:
    """An exclude of the target, or of all, names for whom it holds; the next in rank has it."""
    first = of(Target("a", "pid", pid=2, exclude=(BASH,)), 1, 2)
    second = of(Target("b", "all"), 2)
    settings = {1: TreeSettings(excluded_by=1)}
    parents, comms = {3: 2, 2: 1}, {3: "sh", 2: "bash"}
    member = Membership(tree=1, node=2, excluded=1)
    found = following(first, second, parents=parents, comms=comms, settings=settings)
    assert why(found, 3, member) == "'all: true' takes what no other target does"
    alone = following(first, parents=parents, comms=comms, settings=settings)
    clause = "it descends from the listed PID 2, but exclude comm=bash holds for its ancestor 2"
    assert why(alone, 3, member._replace(node=0)) == clause
    everywhere = following(
        of(Target("a", "pid", pid=2), 1, 2), parents=parents, comms=comms, settings=settings,
        exclude=(BASH,),
    )  # fmt: skip
    assert why(everywhere, 3, member._replace(node=0)) == clause
    gone = following(first, parents=parents, settings=settings)
    assert why(gone, 3, member._replace(node=0)).endswith(
        "but an exclude held for it or an ancestor, which has ended or runs another program now"
    )


def test_a_match_that_its_own_exclude_keeps_from_marking() -> None:
    """The kernel notes no match of a target that does not take the process: words say it."""
    found = following(
        of(Target("m", "match", match=NGINX, exclude=(BASH,)), 1),
        of(Target("o", "match", match=BASH), 2),
        parents={3: 2, 2: 1}, comms={3: "nginx", 2: "bash"},
        settings={1: TreeSettings(excluded_by=1)},
    )  # fmt: skip
    assert why(found, 3, Membership(excluded=1)) == (
        "match exe=/usr/sbin/nginx* holds for it, but exclude comm=bash holds for its ancestor 2"
    )


def test_nobody_and_the_exporters_own() -> None:
    """Who is in no target."""
    found = following(of(Target("a", "pid", pid=2), 1, 2))
    nobody = "no listed PID is at or above it, no listed cgroup holds it, no 'match' does"
    assert why(found, 9, Membership()) == nobody
    assert why(found, 9, Membership(tree=SLOT_EXCLUDED)) == "it is the exporter's own"


def test_rivals_are_told_what_goes_before_them() -> None:
    """One of each kind holds it; the first in rank has it, and each other says why not."""
    trees = [
        of(Target("node", "all"), 1),
        of(Target("init", "pid", pid=1), 2, 1),
        of(Target("late", "match", match=NGINX), 3),
        of(Target("early", "match", match=Words(comm=(Pattern("nginx"),))), 4),
        of(Target("alone", "match", match=BASH, follow_forks=False), 5),
        of(Target("group", "cgroup", cgroup="/a"), 6, 0, [GROUP]),
        of(Target("far", "pid", pid=2), 7, 2),
        of(Target("near", "pid", pid=3), 8, 3),
        of(Target("only", "pid", pid=2, follow_forks=False), 9, 2),
        of(Target("out", "cgroup", cgroup="/b", exclude=(BASH,)), 10, 0, [GROUP]),
    ]
    found = following(
        *trees, parents={4: 3, 3: 2, 2: 1, 1: 0}, comms={4: "nginx", 3: "bash"},
        settings={10: TreeSettings(excluded_by=1)},
    )  # fmt: skip
    member = Membership(tree=8, cgroup=6, match=4, node=2, excluded=1)
    lines = list(rivals(Explainer(found), found, key(4), member, [(GROUP, "/a")]))
    assert lines == [
        "node: 'all: true' takes what no other target does, but a listed PID goes before 'all' or"
        " PID 1",
        "init: it descends from the listed PID 1, but a listed PID goes before 'all' or PID 1",
        "late: match exe=/usr/sbin/nginx* holds for it, but a listed PID goes before a match",
        "early: match comm=nginx holds for it, but a listed PID goes before a match",
        "group: its cgroup /a is listed, but a listed PID goes before a cgroup",
        "far: it descends from the listed PID 2, but that target's listed PID is nearer",
        "out: its cgroup /b is listed, but exclude comm=bash holds for its ancestor 3",
    ]


def test_rivals_of_the_same_rank() -> None:
    """Deeper, earlier, and PID 1 before `all`."""
    match = Target("m", "match", match=NGINX)
    found = following(
        of(Target("a", "cgroup", cgroup="/a/b"), 1, 0, [GROUP]),
        of(Target("b", "cgroup", cgroup="/a"), 2, 0, [GROUP]),
        parents={4: 1}, comms={4: "nginx"},
    )  # fmt: skip
    said = list(rivals(Explainer(found), found, key(4), Membership(cgroup=1), [(GROUP, "/a/b")]))
    assert said == ["b: its cgroup /a is listed, but that target's cgroup is deeper"]
    found = following(
        of(match, 1), of(Target("n", "match", match=NGINX), 2), parents={4: 1}, comms={4: "nginx"},
        settings={2: TreeSettings(order=1)},
    )  # fmt: skip
    said = list(rivals(Explainer(found), found, key(4), Membership(match=1), []))
    assert said == [
        "n: match exe=/usr/sbin/nginx* holds for it, but that target's match is earlier in the list"
    ]
    init, node = of(Target("init", "pid", pid=1), 1, 1), of(Target("node", "all"), 2)
    found = following(init, node, parents={4: 1, 1: 0})
    said = list(rivals(Explainer(found), found, key(4), Membership(node=1), []))
    assert said == [
        "node: 'all: true' takes what no other target does, but PID 1 goes before 'all'"
    ]


def test_containers_that_are_not_meant_or_not_known() -> None:
    """What the engine's files tell is said; what only the API knows is left to the exporter."""
    found = following(
        of(Target("c", "container", container=ContainerWords(name=(Pattern("db"),))), 1),
        of(Target("k", "kubernetes", kubernetes=PodWords(labels=(("app", (Pattern("x"),)),))), 2),
        of(Target("any", "kubernetes", kubernetes=PodWords()), 3),
    )
    uid = "6b0b2a4c-0a3f-4b4d-9a3d-1c2e3f4a5b6c"
    path = f"/kubepods/pod{uid}/{ID}"
    web = Facts(namespace="shop", pod="web-1", container="web", image="nginx", complete=False)
    said = f"its cgroup {path} is a container (namespace=shop pod=web-1 container=web image=nginx)"
    assert list(unmeant(found, [(GROUP, path)], lambda path: web)) == [
        f"c: {said} that 'container' does not mean",
        f"k: perhaps: {said}; the running exporter may know more",
    ]
    unknown = f"its cgroup {path} is a container (no engine has told its name)"
    assert list(unmeant(found, [(GROUP, path)], lambda path: None)) == [
        f"c: perhaps: {unknown}; the running exporter may know more",
        f"k: perhaps: {unknown}; the running exporter may know more",
    ]
    assert list(unmeant(found, [(GROUP, "/system.slice/x.service")], lambda path: None)) == []


def test_words_as_they_are_written() -> None:
    """Globs, regular expressions and users; several are joined."""
    words = Words(
        exe=(Pattern("/a"), Pattern("/b*")), comm=(Pattern("x|y", regex=True), Pattern("z")),
        user=("www", 33),
    )  # fmt: skip
    assert in_words(words) == "exe=/a|/b* comm=z comm_re=x|y user=www|33"

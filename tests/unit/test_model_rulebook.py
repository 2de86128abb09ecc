"""The words of all targets as rules: which bits hold for a process, what the kernel is given."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from exporter.errors import KernelError
from exporter.kernel.procfs import Texts
from exporter.kernel.rules import CGROUP, CONTAINER, CgroupRule, ProcessRule
from exporter.model.rulebook import Rulebook
from exporter.model.target import ContainerWords, Pattern, PodWords, Target, Words

PROCESS = Texts(b"web", b"/usr/bin/web", b"web --port 80", 33)
USERS = {"www-data": 33, "root": 0}


def target(name: str, *exclude: Words, **words: object) -> Target:
    return Target(name, "match", match=Words(**words), exclude=exclude)  # type: ignore[arg-type]


def globs(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text) for text in texts)


EVERY = Words(
    exe=globs("/usr/bin/*"),
    comm=globs("web"),
    cmdline=(Pattern(".* --port [0-9]+", regex=True),),
    user=("www-data", 7),
)


def test_each_of_the_words_must_hold() -> None:
    """By one of its entries; what is not said does not matter."""
    book = Rulebook([Target("it", "match", match=EVERY)], find_user=USERS.get)
    assert book.holds(PROCESS) == 1
    assert book.holds(replace(PROCESS, uid=7)) == 1
    for other in (
        {"comm": b"webb"},
        {"exe": b"/usr/bin/a/web"},
        {"cmdline": b"web --port x"},
        {"uid": 0},
    ):
        assert book.holds(replace(PROCESS, **other)) == 0
    for field in ("exe", "comm", "cmdline", "user"):
        alone = Words(**{field: getattr(EVERY, field)})
        only = Rulebook([Target("it", "match", match=alone)], find_user=USERS.get)
        assert only.holds(PROCESS) == 1
        assert only.holds(Texts(b"", b"", b"", 1)) == 0


def test_a_text_ends_where_the_kernel_ends_it() -> None:
    """With the byte that is in no UTF-8."""
    book = Rulebook([target("it", comm=globs("web"))])
    assert book.holds(replace(PROCESS, comm=b"web\xffy")) == 1
    assert book.holds(replace(PROCESS, comm=b"we\xffb")) == 0


def test_bits_in_the_order_of_the_list() -> None:
    """Matches first, then what is excluded, each once however often it is listed."""
    out, gone = Words(comm=globs("out")), Words(user=(7,))
    targets = [
        target("a", out, comm=globs("w*")),
        Target("pid", "pid", pid=1, exclude=(gone, out)),
        Target("b", "match", match=Words(exe=globs("/usr/**")), follow_forks=False),
    ]
    book = Rulebook(targets, [gone])
    slots = {"a": 11, "b": 12}
    rules = book.process_rules(lambda t: slots[t.name])
    bits = {words: rule.excluded for words, rule in zip((gone, out), rules[2:], strict=True)}
    assert rules[:2] == (ProcessRule(11), ProcessRule(12, alone=True))
    assert sorted(bits.values()) == [1, 2]
    assert book.holds(PROCESS) == 0b0011
    assert book.holds(Texts(b"out", b"/usr/x", b"", 7)) == 0b1110
    assert book.excluded_by(targets[0]) == bits[gone] | bits[out]
    assert book.excluded_by(targets[1]) == bits[gone] | bits[out]
    assert book.excluded_by(targets[2]) == bits[gone]


def test_bits_of_exclude_outlive_a_reload() -> None:
    """What stays keeps its bit; what is new gets one that was not in use just before."""
    words = [Words(comm=globs(name)) for name in "abcd"]

    def bits(book: Rulebook) -> list[int]:
        return [rule.excluded for rule in book.process_rules(lambda t: 1)]

    first = Rulebook([], words[:2])
    second = Rulebook([], [words[2], words[1]], before=first)
    third = Rulebook([], [words[3], words[1]], before=second)
    a, b = bits(first)
    c, still_b = bits(second)
    d, again_b = bits(third)
    assert b == still_b == again_b
    assert c not in (a, b)
    assert d not in (b, c)
    full = Rulebook([], [Words(comm=globs(str(n))) for n in range(32)], before=third)
    assert len(set(bits(full))) == 32
    assert not set(bits(full)) & {b, d}


def test_more_new_excludes_than_bits_are_free() -> None:
    """No bit is given to another at once: that is refused, and can be done in two reloads."""
    before = Rulebook([], [Words(user=(n,)) for n in range(40)])
    new = [Words(user=(n,)) for n in range(40, 80)]
    with pytest.raises(KernelError, match="40 sets of words are new, and 24 is all"):
        Rulebook([], new, before=before)
    half = Rulebook([], new[:20], before=before)
    assert len(set(Rulebook([], new, before=half).process_rules(lambda t: 1))) == 40


def test_who_is_not_known(caplog: pytest.LogCaptureFixture) -> None:
    """A user without a number matches nobody, is told of, and takes nothing from others."""
    with caplog.at_level(logging.WARNING):
        book = Rulebook([target("it", user=("ghost", "root"))], find_user=USERS.get)
    assert "user ghost is not known" in caplog.text
    assert book.holds(replace(PROCESS, uid=0)) == 1
    assert book.holds(PROCESS) == 0
    assert Rulebook([target("it", user=("ghost",))], find_user=USERS.get).holds(PROCESS) == 0


POD = "/kubepods.slice/kubepods-pod2f1d.slice/cri-containerd-" + "a" * 64 + ".scope"


def test_rules_of_cgroups() -> None:
    """Patterns in the hierarchies where they are, units in any slice, containers anywhere: those
    with many trees have a shared slot, the others theirs."""
    targets = [
        Target("pattern", "cgroup", cgroup="/a/*", pattern=True),
        Target("path", "cgroup", cgroup="/a/b"),
        Target("unit", "systemd", systemd="my.app@1.service"),
        Target("container", "container", container=ContainerWords(name=globs("x"))),
        Target("pods", "kubernetes", kubernetes=PodWords()),
    ]
    places = {"pattern": [(4, "/a/*"), (5, "/b/a/*")]}
    book = Rulebook(targets, places=lambda t: places[t.name])

    def found(path: str, hierarchy: int = 4) -> list[str]:
        return [t.name for t in book.cgroup_targets(path.encode(), hierarchy)]

    assert (found("/a/b"), found("/a/b", 5), found("/b/a/c", 5)) == (["pattern"], [], ["pattern"])
    assert (found("/a/b/c"), found("/a")) == ([], [])
    assert found("/a/x\xff".encode("latin-1").decode("latin-1")) == ["pattern"]
    assert found("/my.app@1.service") == found("/a.slice/b.slice/my.app@1.service") == ["unit"]
    assert found("/myxapp@1.service") == found("/a.slice/my.app@1.service/x") == []
    assert found(POD, 9) == ["container", "pods"]
    rules = book.rule_set(lambda t: 7, lambda t: 8)
    assert list(rules.cgroups) == [
        CgroupRule(0, 8, 4),
        CgroupRule(0, 8, 5),
        CgroupRule(7, 0, None),
        CgroupRule(0, 8, None),
        CgroupRule(0, 8, None),
    ]
    assert {name for name, rows in rules.automata.items() if rows} == {CGROUP, CONTAINER}


def test_what_the_kernel_is_given() -> None:
    """The same automata, bits by field for who says nothing, and users by number."""
    targets = [
        target("a", comm=globs("a"), user=(5, "root")),
        target("b", exe=globs("/b"), user=(5,)),
    ]
    rules = Rulebook(targets, [Words(cmdline=globs("c"))], find_user=USERS.get).rule_set(
        lambda t: {"a": 1, "b": 2}[t.name], lambda t: 0
    )
    assert [rule.slot for rule in rules.processes] == [1, 2, 0]
    assert rules.unasked == {"comm": 0b110, "exe": 0b101, "cmdline": 0b011, "user": 0b100}
    assert rules.users == {5: 0b011, 0: 0b001}

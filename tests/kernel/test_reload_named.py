"""A new config for targets by name: what stays loses nothing; what cannot be changes nothing."""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.caller import Caller, caller, until
from tests.harness import Exporter, Scrape, exporter
from tests.kernel.cgroup_tree import cgroup, move, version_2
from tests.kernel.test_explain import called
from tests.kernel.trees import is_up, reconfigure

SUCCESSFUL = "proctree_exporter_config_last_reload_successful"
HELD_BACK = "proctree_exporter_trees_held_back"
LIFECYCLE = "--web.enable-lifecycle"
ID = "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
OTHER_ID = ID[::-1]
POD = "pod6b0b2a4c-0a3f-4b4d-9a3d-1c2e3f4a5b6c"


def counted(scrape: Scrape, target: str) -> float:
    """Of all trees of a target."""
    return sum(scrape.all("proctree_syscalls_total", target=target, syscall="getppid").values())


def refused(running: Exporter, config: str) -> str:
    """Why a reload is refused."""
    with pytest.raises(urllib.error.HTTPError) as refusal:
        reconfigure(running, config)
    text = refusal.value.read().decode()
    assert running.scrape().value(SUCCESSFUL) == 0
    return text


@contextmanager
def calling(callers: Mapping[str, Caller]) -> Iterator[dict[str, int]]:
    """All call all the time; how often each did is there at the end."""
    made = dict.fromkeys(callers, 0)
    stop = threading.Event()

    def go_on(name: str, it: Caller) -> None:
        while not stop.is_set():
            it.call(1009)
            made[name] += 1009

    threads = [threading.Thread(target=go_on, args=one) for one in callers.items()]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_targets_of_every_kind_lose_no_call_in_reloads(tmp_path: Path) -> None:
    """6 reloads that add, remove and reorder others, while every target's process calls."""
    top = version_2() / f"proctree-named-{os.getpid()}.slice"
    places = {
        "cgroup": "one", "pattern": "many/a", "container": f"docker/{ID}", "systemd": "it.service",
        "kubernetes": f"kubepods/{POD}/{OTHER_ID}",
    }  # fmt: skip
    engine = tmp_path / f"var/lib/docker/containers/{ID}/config.v2.json"
    engine.parent.mkdir(parents=True)
    engine.write_text(json.dumps({"Name": "/web", "Config": {"Image": "nginx"}}))
    path = f"/{top.name}"
    kinds = ("pid", "pidfile", "match", *places)
    with ExitStack() as stack:
        stack.enter_context(cgroup(top))
        callers = {kind: stack.enter_context(called(f"{kind}ing", tmp_path)) for kind in kinds}
        for kind, place in places.items():
            (top / place).mkdir(parents=True)
            move(callers[kind].pid, top / place)
        (tmp_path / "it.pid").write_text(f"{callers['pidfile'].pid}\n")
        targets = [
            f"{{name: pid, pid: {callers['pid'].pid}}}",
            "{name: pidfile, pidfile: /it.pid}",
            f"{{name: cgroup, cgroup: {path}/one}}",
            f"{{name: pattern, cgroup: '{path}/many/*'}}",
            "{name: container, container: {name: web}}",
            "{name: kubernetes, kubernetes: {}}",
            "{name: systemd, systemd: it.service}",
            "{name: match, match: {comm: matching}}",
        ]
        others = [
            f"{{name: other, cgroup: '{path}/x*'}}",
            "{name: sleeps, match: {comm: sleep}, exclude: {user: nobody}}",
            "{name: docker, container: {image: redis}}",
            f"{{name: nothing, cgroup: {path}/nothing}}",
        ]

        def config(turn: int) -> str:
            more = [other for bit, other in enumerate(others) if turn >> bit & 1]
            return "targets:\n" + "".join(f"- {one}\n" for one in [*more, *targets])

        flags = (LIFECYCLE, f"--path.rootfs={tmp_path}")
        with exporter(config(0), *flags) as running:
            with calling(callers) as made:
                for turn in (1, 2, 4, 8, 15, 0):
                    reconfigure(running, config(turn))
            # pods wait for their metadata, which nobody has
            until(lambda: not running.scrape().value(HELD_BACK), "all trees are named")
            scrape = running.scrape()
            assert {kind: counted(scrape, kind) for kind in kinds} == made
            assert all(is_up(scrape, kind) for kind in kinds)
            assert scrape.lost() == 0
            assert scrape.value(SUCCESSFUL) == 1


def test_a_pod_that_another_target_may_mean_stays_where_it_is(tmp_path: Path) -> None:
    """A container target is put before its own: no call is lost or held back while nobody knows its
    image, and none when that becomes known and it is the other's."""
    top = version_2() / f"proctree-doubt-{os.getpid()}.slice"
    engine = tmp_path / f"var/lib/docker/containers/{OTHER_ID}/config.v2.json"
    engine.parent.mkdir(parents=True)
    head = "metadata_timeout: 1s\ntargets:\n"
    pods, redis = "- {name: pods, kubernetes: {}}\n", "- {name: redis, container: {image: redis}}\n"
    with cgroup(top), called("calling", tmp_path) as it:
        place = top / f"kubepods/{POD}/{OTHER_ID}"
        place.mkdir(parents=True)
        move(it.pid, place)
        flags = (LIFECYCLE, f"--path.rootfs={tmp_path}")
        with exporter(head + pods, *flags) as running:
            until(lambda: is_up(running.scrape(), "pods"), "the pod is nobody's but theirs")
            with calling({"it": it}) as made:
                for turn in range(4):
                    reconfigure(running, head + redis * (turn % 2) + pods)
            it.call(1009)
            made["it"] += 1009
            assert counted(running.scrape(), "pods") == made["it"]
            with calling({"it": it}) as more:
                engine.write_text(json.dumps({"Name": "/db", "Config": {"Image": "redis"}}))
                until(lambda: is_up(running.scrape(), "redis"), "it is the other's")
            it.call(1013)
            scrape = running.scrape()
            assert counted(scrape, "redis") > 1013
            assert counted(scrape, "pods") + counted(scrape, "redis") == (
                made["it"] + more["it"] + 1013
            )
            assert scrape.lost() == 0


def test_places_of_targets_taken_off_come_back() -> None:
    """12 reloads between two lists of 40 where there is room for 44, and one target stays."""
    with caller() as it:
        stays = f"limits: {{trees: 44}}\ntargets:\n- {{name: it, pid: {it.pid}}}\n"
        lists = [
            stays + "".join(f"- {{name: {name}{n}, cgroup: /{name}{n}}}\n" for n in range(40))
            for name in "ab"
        ]
        with exporter(lists[0], LIFECYCLE) as running:
            for turn in range(12):
                reconfigure(running, lists[turn % 2])
                it.call(101)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 12 * 101
            assert scrape.value("proctree_exporter_trees") == 41
            assert scrape.value(SUCCESSFUL) == 1
            assert scrape.lost() == 0


def test_what_would_not_fit_even_then_is_refused() -> None:
    """With what stays, there is no room for what is new: nothing is taken off for it."""
    with caller() as it:
        stays = f"limits: {{trees: 4}}\ntargets:\n- {{name: it, pid: {it.pid}}}\n"
        cgroups = [f"- {{name: c{n}, cgroup: /nothing{n}}}\n" for n in range(3)]
        with exporter(stays + "".join(cgroups), LIFECYCLE) as running:
            it.call(1009)
            reconfigure(running, stays + cgroups[0].replace("c0", "d0") + "".join(cgroups[1:]))
            assert "limits.trees" in refused(running, stays + "".join(cgroups) * 2)
            it.call(1013)
            assert running.scrape().calls("it", "getppid") == 2022


SMALL_TABLES = """
import sys
from exporter import cli
from exporter.kernel import rules
rules.MAX_STATES = 64
cli.main()
"""


def test_rules_that_the_kernel_has_no_room_for_change_nothing() -> None:
    """`check` lets none through; where it would, the old rules, trees and slots go on."""
    command = [sys.executable, "-c", SMALL_TABLES]
    it, long = "- {name: it, pid: %d}\n", "- {name: long, match: {comm: ['%s']}}\n"
    others = "- {name: sh, match: {comm: calling}}\n"
    with caller() as one, caller() as two:
        config = it % one.pid + others
        with exporter(config, LIFECYCLE, command=command) as running:
            one.call(1009)
            before = running.scrape().value("proctree_exporter_trees")
            for _ in range(3):
                words = "','".join(f"{letter}bcdefghijklmn" for letter in "qrstuvwxyz")
                text = refused(running, config.replace("it", "two") + long % words)
                assert "states" in text
                one.call(1013)
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == 1009 + 3 * 1013
            assert scrape.value("proctree_exporter_trees") == before
            reconfigure(running, config + f"- {{name: new, pid: {two.pid}}}\n")
            two.call(2003)
            scrape = running.scrape()
            assert scrape.calls("new", "getppid") == 2003
            assert scrape.calls("it", "getppid") == 1009 + 3 * 1013
            assert scrape.value(SUCCESSFUL) == 1
            assert scrape.lost() == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("labels: [pod]", "labels is fixed at start (now not given, found [pod])"),
        ("pod_labels: [app]", "pod_labels is fixed at start (now [], found [app])"),
        ("metadata_timeout: 1500ms", "metadata_timeout is fixed at start (now 10s, found 1.5s)"),
        ("kubernetes: {node: a}", "kubernetes.node is fixed at start (now not given, found a)"),
        ("limits: {comms: 7}", "limits.comms is fixed at start (now 32, found 7)"),
        ("limits: {series: 19999}", "limits.series is fixed at start (now 20000, found 19999)"),
        ("limits: {trees: 65}", "limits.trees is fixed at start (now 64, found 65)"),
        ("limits: {processes: 99}", "limits.processes is fixed at start (now 32768, found 99)"),
        ("histograms: {scale: 1}", "histograms.scale is fixed at start"),
        ("histograms: {by: both}", "histograms.by is fixed at start (now syscall, found both)"),
        ("histograms: {classic: false}", "histograms.classic is fixed at start (now true, found"),
        ("self_cost: true", "self_cost is fixed at start (now false, found true)"),
        ("targets: [{name: k, kubernetes: {}}]", "to follow its first target with 'kubernetes'"),
    ],
)
def test_what_is_fixed_at_start_is_refused_by_name(fixed: Exporter, change: str, said: str) -> None:
    """With what it is, what was found, and what to do."""
    targets = "" if "targets" in change else "targets: [1]\n"
    text = refused(fixed, f"{targets}{change}\n")
    assert said in text
    assert "restart the exporter" in text
    assert len(text.splitlines()) == 1


@pytest.fixture(scope="module")
def fixed() -> Iterator[Exporter]:
    with exporter("[1]", LIFECYCLE) as running:
        yield running


def test_keep_gone_may_change() -> None:
    """What is gone goes out for so long as the new config says."""
    with caller() as one, caller() as two:
        stays = f"targets: [{{name: one, pid: {one.pid}}}]\n"
        both = f"{stays.rstrip()[:-1]}, {{name: two, pid: {two.pid}}}]\n"
        with exporter(both, LIFECYCLE) as running:
            two.call(1009)
            reconfigure(running, stays)
            assert running.scrape().calls("two", "getppid") == 1009
            reconfigure(running, f"keep_gone: 0s\n{stays}")
            until(lambda: "two" not in running.scrape().text, "it is dropped")
            assert is_up(running.scrape(), "one") == 1

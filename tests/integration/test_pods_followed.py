"""Pods of a real API server in real containers: each call counts, once, under the names people use.

Each test has a node of its own; all share one control plane.
"""

from __future__ import annotations

import pytest

from tests.caller import until
from tests.harness import exporter
from tests.integration.following import calls, own, sees
from tests.integration.kube import pods as kube
from tests.integration.kube.cluster import MISSING
from tests.integration.kube.node import SANDBOX, Node
from tests.kernel.trees import reconfigure

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

ALL = "labels: [namespace, pod, container, workload]\npod_labels: [app]\n"
ANY = "targets: [{name: c, kubernetes: {}}]\n"


def test_all_of_a_node(here: Node) -> None:
    """Before and after the exporter's start, with the Deployment's name; labels that change."""
    hashed = {"app": "web", "pod-template-hash": "7c9d"}
    owner = kube.owned_by("ReplicaSet", "web-7c9d")
    web = here.pod("web-7c9d-x2x4z", hashed, containers=("main", "side"), **owner)
    main = web.run()
    with exporter(ALL + here.config() + ANY) as running:
        main.call(3, 7)
        web.run("side", 5, 11)
        alone = here.pod("alone", {"app": "db"})
        alone.run(children=2, calls=13)
        wanted = {
            "main,default,web-7c9d-x2x4z,web": 4 * 7.0,
            "side,default,web-7c9d-x2x4z,web": 6 * 11.0,
            "main,default,alone,alone": 3 * 13.0,
        }
        scrape = sees(running, wanted)
        assert scrape.value("proctree_target_trees", target="c") == 3
        assert own(scrape, "pod_metadata_pods") == 2
        of_main = {
            "target": "c", "namespace": "default", "pod": web.name, "container": "main",
            "workload": "web", "kind": "kubernetes", "root": "",
        }  # fmt: skip
        assert scrape.value("proctree_target_info", **of_main, label_app="web") == 1
        kube.relabel(here.cluster, web.name, app="shop")
        until(
            lambda: running.scrape().value("proctree_target_info", **of_main, label_app="shop"),
            "the new label is there",
        )
        main.call(0, 17)
        wanted["main,default,web-7c9d-x2x4z,web"] += 17
        sees(running, wanted)


WORDS = {
    "namespace: team-*": ("team-a/web-1/main", "team-b/web-2/main", "team-b/db/main"),
    "pod: web-*": ("default/web-0/main", "default/web-0/side", "team-a/web-1/main",
                   "team-b/web-2/main"),
    "labels: {app: web}": ("default/web-0/main", "default/web-0/side", "team-a/web-1/main"),
    "container: side": ("default/web-0/side",),
    "namespace: [default, team-b], pod: web-*, labels: {app: [web, api]}, container: m*": (
        "default/web-0/main", "team-b/web-2/main"),
}  # fmt: skip


def test_selected(here: Node) -> None:
    """Only what each of the words means is counted; the slots of all others come back."""
    for name in ("team-a", "team-b"):
        here.cluster.namespace(name)
    config = "labels: [namespace, pod, container]\n" + here.config()
    pods = [
        here.pod("web-0", {"app": "web"}, containers=("main", "side")),
        here.pod("web-1", {"app": "web"}, "team-a"),
        here.pod("web-2", {"app": "api"}, "team-b"),
        here.pod("db", {}, "team-b"),
    ]
    first, *others = WORDS
    made = {}
    for pod in pods:
        for name in ("main", "side") if pod is pods[0] else ("main",):
            made[f"{pod.namespace}/{pod.name}/{name}"] = pod, name
    counts = dict(zip(made, (5.0, 7.0, 11.0, 13.0, 17.0), strict=True))

    def wanted(words: str) -> dict[str, float]:
        chosen = (path.split("/") for path in WORDS[words])
        return {f"{c},{n},{p}": counts[f"{n}/{p}/{c}"] for n, p, c in chosen}

    def of(words: str) -> str:
        return config + f"targets: [{{name: '{words}', kubernetes: {{{words}}}}}]\n"

    containers = {}
    with exporter(of(first), "--web.enable-lifecycle") as running:
        for path, (pod, name) in made.items():
            containers[path] = pod.run(name, calls=int(counts[path]))
        sees(running, wanted(first), first)
        until(lambda: own(running.scrape(), "trees") == len(WORDS[first]), "slots come back")
        assert own(running.scrape(), "trees_held_back") == 0
        for words in others:
            reconfigure(running, of(words))
            for path, container in containers.items():
                container.call(0, int(counts[path]))
            sees(running, wanted(words), words)
            trees = len(WORDS[words])
            until(lambda n=trees: own(running.scrape(), "trees") == n, "slots come back")


def test_restarts_and_sums(here: Node) -> None:
    """A container that comes again goes on in its series, whose labels are equal is summed."""
    short = "labels: [namespace]\n" + here.config() + ANY
    with exporter(ALL + here.config() + ANY) as running, exporter(short) as summing:
        web, db = here.pod("web"), here.pod("db")
        main = web.run(children=3, calls=7)
        db.run(calls=11)
        wanted = {"main,default,web,web": 4 * 7.0, "main,default,db,db": 11.0}
        sees(running, wanted)
        sees(summing, {"default": sum(wanted.values())})
        for _ in range(2):
            main.stop()
            main = web.run(children=2, calls=13)
            wanted["main,default,web,web"] += 3 * 13
            sees(running, wanted)
        web.delete()
        until(lambda: own(running.scrape(), "trees") == 1, "only one is left")
        db.containers["main"].call(0, 17)
        wanted["main,default,db,db"] += 17
        sees(running, wanted)
        sees(summing, {"default": sum(wanted.values())})


def test_sandboxes(here: Node) -> None:
    """What holds a pod's namespaces is no container: by the API alone, or by the engine's files."""
    config = f"metadata_timeout: 2s\n{ALL}{here.config()}"
    by_name = f"{config}targets: [{{name: c, container: {{name: '*'}}}}]\n"
    before, later = here.pod("before"), here.pod("later", containers=("main", "side"))
    before.start(SANDBOX, calls=3)
    before.run()
    with (
        exporter(config + ANY) as by_api,
        exporter(by_name, f"--path.rootfs={here.rootfs}") as by_files,
    ):
        before.containers["main"].call(0, 5)
        later.start(SANDBOX, calls=7)
        later.run("main", calls=11)
        later.run("side", calls=13)
        wanted = {
            "main,default,before,before": 5.0, "main,default,later,later": 11.0,
            "side,default,later,later": 13.0,
        }  # fmt: skip
        for running in (by_api, by_files):
            sees(running, wanted)
            until(lambda it=running: own(it.scrape(), "trees") == 3, "only containers are left")
            assert own(running.scrape(), "trees_held_back") == 0
            assert calls(running.scrape()) == wanted

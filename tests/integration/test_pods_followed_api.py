"""What the API says late, or not at all, loses no call of a container, and names none wrongly."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.caller import until
from tests.harness import Exporter, exporter, free_port
from tests.integration.following import calls, own, sees
from tests.integration.kube.cluster import MISSING
from tests.integration.kube.node import Node
from tests.integration.kube.proxy import proxy

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

LABELS = "labels: [namespace, pod, container, workload]\n"
ANY = "targets: [{name: c, kubernetes: {}}]\n"
CHOSEN = "targets: [{name: c, kubernetes: {pod: web-*, container: [main, side]}}]\n"
LATE_S = 5.0


def test_five_seconds_late(here: Node) -> None:
    """Nothing is exposed before there are names; then all is, of containers that are gone, too."""
    static = here.static_pod("web")
    patient = f"metadata_timeout: 120s\n{LABELS}{here.config()}"
    with exporter(patient + ANY) as running, exporter(patient + CHOSEN) as choosing:
        static.start("main", children=3, calls=7)
        static.start("side", children=5, calls=11).stop()
        for it in (running, choosing):
            until(lambda it=it: own(it.scrape(), "trees_held_back") > 0, "it is held back")
        until_s = time.monotonic() + LATE_S
        while time.monotonic() < until_s:
            assert calls(running.scrape()) == calls(choosing.scrape()) == {}
        here.mirror(static)
        wanted = {f"{name},default,{static.name},web": count
                  for name, count in (("main", 4 * 7.0), ("side", 6 * 11.0))}  # fmt: skip
        for it in (running, choosing):
            sees(it, wanted)
            until(lambda it=it: own(it.scrape(), "trees") == 1, "the slot comes back")
            assert own(it.scrape(), "trees_held_back") == 0


def test_api_away_for_good(here: Node) -> None:
    """After metadata_timeout series go out with what the path tells."""
    pod = here.pod("web")
    away = here.config(f"https://127.0.0.1:{free_port()}")
    with exporter(f"metadata_timeout: 3s\n{LABELS}{away}{ANY}") as running:
        main, side = pod.start(children=3, calls=7), pod.start("side", calls=11)
        uid = pod.slice.rpartition("-pod")[2].removesuffix(".slice").replace("_", "-")
        scrape = sees(running, {f"{main.id[:12]},{uid}": 4 * 7.0, f"{side.id[:12]},{uid}": 11.0})
        assert failures(running, "unreachable") > 0
        assert own(scrape, "pod_metadata_pods") == 0
        assert "proctree_exporter_pod_metadata_age_seconds " not in scrape.text


def test_restart_while_the_api_is_away(here: Node) -> None:
    """A pod's new container, of which the API cannot tell, is not taken for the pod's sandbox."""
    web = here.pod("web")
    main = web.run(calls=7)
    with proxy(here.cluster.port) as way:
        config = f"metadata_timeout: 3s\n{LABELS}{here.config(way.url)}{ANY}"
        with exporter(config) as running:
            main.call(0, 11)
            wanted = {"main,default,web,web": 11.0}
            sees(running, wanted)
            way.cut()
            until(lambda: failures(running, "unreachable") > 0, "the failure is counted")
            main.stop()
            again = web.run(children=3, calls=7)
            sees(running, wanted | {f"{again.id[:12]},default,web,web": 4 * 7.0})


def test_all_that_happens_to_an_api_server(here: Node, tmp_path: Path) -> None:
    """Cut off, killed, compacted, with a token that is no longer good: no call is lost."""
    token = tmp_path / "token"
    shutil.copy(here.cluster.folder / "token", token)
    with proxy(here.cluster.port) as way:
        config = f"metadata_timeout: 300s\n{LABELS}{here.config(way.url, token)}{ANY}"
        with exporter(config) as running:
            web = here.pod("web")
            main = web.run(children=3, calls=7)
            wanted = {"main,default,web,web": 4 * 7.0}
            sees(running, wanted)

            way.cut()
            until(lambda: failures(running, "unreachable") > 0, "the failure is counted")
            main.stop()
            main = web.run(children=2, calls=13)
            main.call(0, 5)
            until(lambda: own(running.scrape(), "trees_held_back") == 1, "it is held back")
            assert calls(running.scrape()) == wanted
            before = age(running)
            until(lambda: age(running) > before + 1, "what is known grows old")
            here.cluster.compact()
            here.cluster.kill_apiserver()
            here.cluster.start()
            way.mend()
            wanted["main,default,web,web"] += 3 * 13 + 5
            sees(running, wanted)
            assert failures(running, "gone") == 1
            until(lambda: age(running) < before + 1, "what is known is new")

            head, body, _ = token.read_text().split(".")
            token.write_text(f"{head}.{body}.c2lnbmF0dXJl")
            way.cut()
            way.mend()
            until(lambda: failures(running, "unauthorized") > 0, "the failure is counted")
            main.call(0, 17)
            wanted["main,default,web,web"] += 17
            sees(running, wanted)
            token.write_text(here.cluster.token("exporter"))
            here.pod("later").run(calls=19)
            sees(running, wanted | {"main,default,later,later": 19.0})
            assert own(running.scrape(), "pod_metadata_pods") == 2


def failures(running: Exporter, reason: str) -> float:
    return own(running.scrape(), "pod_metadata_failures_total", reason=reason)


def age(running: Exporter) -> float:
    return own(running.scrape(), "pod_metadata_age_seconds")

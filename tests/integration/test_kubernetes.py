"""Pods are known from a real API server, through all that happens to one.

Each test has a node of its own; all share one control plane, which some kill and start again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.metadata.kubernetes import health, reflector
from exporter.model.metadata import Facts
from tests.caller import until
from tests.integration.kube import pods as kube
from tests.integration.kube.certificates import authority
from tests.integration.kube.cluster import MISSING, Cluster
from tests.integration.kube.proxy import proxy
from tests.integration.kube.watching import watching

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

ID_A, ID_B = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks again soon, however often it was in vain."""
    monkeypatch.setattr(health, "LONGEST_DELAY_S", 1.0)


def test_facts(control_plane: Cluster) -> None:
    """Pods that are there before, and that come after; of this node, and of no other."""
    hashed = {"app": "web", "pod-template-hash": "7c9d"}
    owner = kube.owned_by("ReplicaSet", "web-7c9d")
    web = kube.create(control_plane, "web-7c9d-x2x4z", "facts", hashed, **owner)
    kube.run(control_plane, "web-7c9d-x2x4z", {"main": ID_A})
    other = kube.create(control_plane, "stranger", "another-node")
    with watching(control_plane, "facts") as it:
        it.until_known(web)
        expected = Facts(
            "default", "web-7c9d-x2x4z", "main", "web", "Deployment", "registry.test/main:1",
            hashed,
        )  # fmt: skip
        assert it.of(ID_A) == it.of(ID_A, web) == expected
        job = kube.create(
            control_plane, "backup-29344320-abcde", "facts",
            **kube.owned_by("Job", "backup-29344320", "batch/v1"),
        )  # fmt: skip
        it.until_known(job)
        early = it.of(ID_B, job)
        assert early and (early.workload, early.workload_kind) == ("backup", "CronJob")
        assert (early.container, early.complete) == ("", False)
        kube.run(control_plane, "backup-29344320-abcde", {"main": ID_B}, "cri-o")
        until(lambda: it.of(ID_B), "the container is known")
        late = it.of(ID_B)
        assert late and late.complete
        assert (late.pod, late.container) == ("backup-29344320-abcde", "main")
        assert it.name(other) == ""
        assert set(it.watch.failures().values()) == {0}


def test_static(control_plane: Cluster) -> None:
    """A mirror pod, as a kubelet makes it."""
    digest = "0123456789abcdef0123456789abcdef"
    uid = kube.create(
        control_plane, "etcd-static", "static",
        annotations={
            "kubernetes.io/config.mirror": digest, "kubernetes.io/config.hash": digest,
            "kubernetes.io/config.source": "file",
        },
        **kube.owned_by("Node", "static", "v1"),
    )  # fmt: skip
    with watching(control_plane, "static") as it:
        it.until_known(digest)
        found = it.of(uid=digest)
        assert found == it.of(uid=uid)
        assert found and (found.pod, found.workload, found.workload_kind) == (
            "etcd-static", "etcd", "Pod",
        )  # fmt: skip


def test_changes(control_plane: Cluster) -> None:
    """Labels that change; a pod that is deleted, and whose last numbers find its name."""
    uid = kube.create(control_plane, "changes", "changes", {"app": "old"})
    kube.run(control_plane, "changes", {"main": ID_A})
    with watching(control_plane, "changes") as it:
        it.until_known(uid)
        before = it.pods.version()
        kube.relabel(control_plane, "changes", app="new")

        def labels() -> dict[str, str]:
            facts = it.of(ID_A)
            return dict(facts.pod_labels) if facts else {}

        until(lambda: labels() == {"app": "new"}, "the new label is known")
        assert it.pods.version() != before
        kube.delete(control_plane, "changes")
        until(lambda: len(it.pods) == 0, "it is gone")
        assert it.name(uid) == "changes"
        assert labels() == {"app": "new"}
        late = it.of(ID_B, uid)
        assert late and late.complete


def test_restart(control_plane: Cluster) -> None:
    """A server that is killed and comes back: what was known is, all the time."""
    uid = kube.create(control_plane, "before", "restart")
    with watching(control_plane, "restart") as it:
        it.until_known(uid)
        control_plane.kill_apiserver()
        it.until_failed("unreachable")
        assert it.name(uid) == "before"
        control_plane.start()
        assert it.name(uid) == "before"
        it.until_known(kube.create(control_plane, "after", "restart"))
        assert len(it.pods) == 2
        age = it.watch.age_seconds()
        assert age is not None and age >= 0


def test_gone(control_plane: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away for so long that nobody remembers what happened since: a new list, page by page."""
    monkeypatch.setattr(reflector, "PAGE", 2)
    stays = [kube.create(control_plane, f"stays-{number}", "gone") for number in range(5)]
    goes = kube.create(control_plane, "goes", "gone")
    with proxy(control_plane.port) as way, watching(control_plane, "gone", way.url) as it:
        it.until_known(goes)
        known = it.pods.version()
        way.cut()
        it.until_failed("unreachable")
        kube.delete(control_plane, "goes")
        comes = kube.create(control_plane, "comes", "gone")
        control_plane.compact()
        control_plane.kill_apiserver()
        control_plane.start()
        assert (it.pods.version(), it.watch.failures()["gone"]) == (known, 0)
        way.mend()
        it.until_known(comes)
        until(lambda: len(it.pods) == 6, "what went is known to be gone")
        assert it.watch.failures()["gone"] == 1
        assert all(it.of(uid=uid) for uid in stays)
        # One came, one went, and none of the others was touched.
        assert it.pods.version() == known + 2
        it.until_known(kube.create(control_plane, "later", "gone"))


def test_rights(control_plane: Cluster, tmp_path: Path) -> None:
    """Without rights it says so; once they are given it goes on by itself."""
    uid = kube.create(control_plane, "rights", "rights")
    control_plane.account("newcomer")
    token = tmp_path / "token"
    token.write_text(control_plane.token("newcomer"))
    with watching(control_plane, "rights", token=token) as it:
        it.until_failed("forbidden")
        assert (it.name(uid), it.watch.age_seconds()) == ("", None)
        control_plane.allow("newcomer")
        it.until_known(uid)


def test_token(control_plane: Cluster, tmp_path: Path) -> None:
    """A token that is no longer good, and the one that takes its place."""
    token = tmp_path / "token"
    shutil.copy(control_plane.folder / "token", token)
    with (
        proxy(control_plane.port) as way,
        watching(control_plane, "token", way.url, token=token) as it,
    ):
        it.until_known(kube.create(control_plane, "first", "token"))
        head, body, _ = token.read_text().split(".")
        token.write_text(f"{head}.{body}.c2lnbmF0dXJl")
        way.cut()
        way.mend()
        it.until_failed("unauthorized")
        second = kube.create(control_plane, "second", "token")
        token.write_text(control_plane.token("exporter"))
        it.until_known(second)
        assert len(it.pods) == 2


def test_authority(control_plane: Cluster, tmp_path: Path) -> None:
    """A server that the CA did not sign is told nothing; the right CA may come later."""
    trusted = tmp_path / "ca.crt"
    shutil.copy(authority(tmp_path, "wrong").certificate, trusted)
    uid = kube.create(control_plane, "authority", "authority")
    with watching(control_plane, "authority", ca=trusted) as it:
        it.until_failed("tls")
        assert it.name(uid) == ""
        shutil.copy(control_plane.ca.certificate, trusted)
        it.until_known(uid)


def test_stop(control_plane: Cluster) -> None:
    """The end of a watch that is under way is no failure."""
    with watching(control_plane, "stop") as it:
        it.until_known(kube.create(control_plane, "stop", "stop"))
        it.watch.stop()
        until(lambda: not it.watch._thread.is_alive(), "its thread has ended")
        assert set(it.watch.failures().values()) == {0}
